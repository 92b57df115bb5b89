// elastic_quota_prefilter, preempt_cold, preempt_pruned, preempt_storm: elastic quotas and
// preemption.
#include <fmt/format.h>

#include <algorithm>

#include "bench/checks.h"
#include "bench/clusters/elastic_quota_cluster.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"

namespace headroom {

namespace {

// With and without the bound, and with every node's outcome: one answer.
void check_post_filter(Engine& engine, const Pod& pod, const PostFilter& answer) {
  for (const PostFilterOptions& options :
       {PostFilterOptions{.bound = false}, PostFilterOptions{.candidates = true}}) {
    const PostFilter other = value_of(engine.post_filter(pod, options));
    check(other.code == answer.code && other.nominated_node == answer.nominated_node &&
              other.victims.size() == answer.victims.size() &&
              std::equal(answer.victims.begin(), answer.victims.end(), other.victims.begin(),
                         [](const Victim& a, const Victim& b) { return a.uid == b.uid; }),
          "post_filter of " + pod.name + " with other options");
  }
}

}  // namespace

void elastic_quota_prefilter(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), quotas = options.size(1'000);
  const ElasticQuotaClusterSpec spec{
      .nodes = nodes, .quotas = quotas, .seed = options.seed, .nominated = 1'000};
  Engine engine = make_elastic_quota_engine(spec);
  check_done(engine.validate());
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 64; ++p) {
    pods.push_back(preemptor(p, p % quotas, 100, 4, 0));
  }
  Measurement measurement;
  std::size_t next = 0;
  const Times& times = measurement.add("elastic_quota_prefilter", 1, [&] {
    constexpr int kQuestions = 1000;
    const Stopwatch watch;
    for (int i = 0; i < kQuestions; ++i) {
      keep(value_of(engine.pre_filter(pods[next++ % pods.size()])).code);
    }
    return watch.seconds() / kQuestions;
  });
  measurement.run(options.repetitions(20));
  lines.push_back({.row = "elastic_quota_prefilter",
                   .what = fmt::format("{} quotas, {} nodes, 1000 nominated pods", quotas, nodes),
                   .measured = fmt::format("{:.2f} us", times.median() * 1e6),
                   .unit = "us",
                   .value = times.median() * 1e6,
                   .target = at_most(1),
                   .figures = {}});
}

namespace {

void preempt_cold_at(const BenchOptions& options, std::uint32_t nodes, bool reclaims, bool budgets,
                     double target_ms, Lines& lines) {
  const std::uint32_t quotas = 20;
  const ElasticQuotaClusterSpec spec{.nodes = nodes,
                                     .quotas = quotas,
                                     .seed = options.seed,
                                     .borrower_percent = reclaims ? 100u : 0u,
                                     .budgets = budgets,
                                     .threads = 2};
  Engine engine = make_elastic_quota_engine(spec);
  std::uint32_t variant = 0;
  PostFilter answer;
  const auto next_pod = [&] {
    ++variant;
    return preemptor(variant, reclaims ? 1 : variant % quotas, 5000, 6, variant);
  };
  const Pod first = next_pod();
  check_post_filter(engine, first, value_of(engine.post_filter(first)));
  Measurement measurement;
  const Times& times = measurement.add("preempt_cold", 1, [&] {
    const Pod pod = next_pod();
    keep(value_of(engine.evaluate(pod)).feasible);
    const Stopwatch watch;
    answer = value_of(engine.post_filter(pod));
    return watch.seconds();
  });
  measurement.run(options.repetitions(20));
  check(answer.code == Code::kSuccess,
        fmt::format("someone can be preempted: {}", fmt::join(answer.reasons, "; ")));
  lines.push_back(
      {.row = "preempt_cold",
       .what = fmt::format("post-filter of an unseen pod, {} nodes x 20 pods, {} quotas, two "
                           "threads; victims of {}{}",
                           nodes, quotas, reclaims ? "a borrower on every node" : "its own quota",
                           budgets ? "; half of the pods have budgets" : ""),
       .measured = fmt::format("{:.2f} ms ({} dry runs, {} nodes ruled out)", times.median() * 1e3,
                               answer.nodes_dry_run, answer.nodes_ruled_out),
       .unit = "ms",
       .value = times.median() * 1e3,
       .target = at_most(target_ms),
       .figures = {{"dry_runs", answer.nodes_dry_run}, {"ruled_out", answer.nodes_ruled_out}}});
}

}  // namespace

void preempt_cold(const BenchOptions& options, Lines& lines) {
  preempt_cold_at(options, options.size(50'000), false, false, 10, lines);
  preempt_cold_at(options, options.size(50'000), true, false, 10, lines);
  preempt_cold_at(options, options.size(50'000), true, true, 10, lines);
  preempt_cold_at(options, options.size(5'000), false, false, 1, lines);
  preempt_cold_at(options, options.size(5'000), true, false, 1, lines);
}

void preempt_pruned(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000);
  Engine engine = make_elastic_quota_engine(
      {.nodes = nodes, .seed = options.seed, .borrower_percent = 5, .threads = 2});
  Measurement measurement;
  std::uint32_t variant = 0;
  PostFilter answer;
  const auto timed = [&](bool bound) {
    return [&, bound] {
      ++variant;
      const Pod pod = preemptor(variant, 1, 0, 6, variant);
      keep(value_of(engine.evaluate(pod)).feasible);
      const Stopwatch watch;
      const PostFilter found = value_of(engine.post_filter(pod, {.bound = bound}));
      const double seconds = watch.seconds();
      if (bound) {
        answer = found;
      }
      return seconds;
    };
  };
  const Pod first = preemptor(0, 1, 0, 6, 0);
  check_post_filter(engine, first, value_of(engine.post_filter(first)));
  const Times& with = measurement.add("with", 1, timed(true));
  const Times& without = measurement.add("without", 1, timed(false));
  measurement.run(options.repetitions(20));
  const double share = static_cast<double>(answer.nodes_ruled_out) / nodes;
  lines.push_back(
      {.row = "preempt_pruned",
       .what = fmt::format("{} full nodes, one quota of 20 borrows, on 5 % of them; a "
                           "lender takes back",
                           nodes),
       .measured = fmt::format("{:.3f} of the nodes ruled out; {:.2f} ms, {:.2f} without the bound",
                               share, with.median() * 1e3, without.median() * 1e3),
       .unit = "share",
       .value = share,
       .target = at_least(0.9),
       .figures = {{"with_ms", with.median() * 1e3}, {"without_ms", without.median() * 1e3}}});
}

void preempt_storm(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(5'000), preemptors = options.size(10'000);
  double victims = 0, reclaimed = 0;
  Measurement measurement;
  const Times& times = measurement.add("preempt_storm", 1, [&] {
    Engine engine = make_elastic_quota_engine(
        {.nodes = nodes, .seed = options.seed, .borrower_percent = 50, .threads = 2});
    victims = reclaimed = 0;
    const Stopwatch watch;
    double checks = 0;
    for (std::uint32_t p = 0; p < preemptors; ++p) {
      // Every other one takes back what its quota lent; the others take from their own.
      const std::uint32_t quota = p % 2 == 0 ? 1 : 2 + p / 2 % 18;
      const Pod pod = preemptor(p, quota, 5000, p % 3 == 0 ? 6 : 4, 0);
      const PostFilter answer = value_of(engine.post_filter(pod));
      if (p % (preemptors / 4) == 0) {
        const Stopwatch pause;
        check_post_filter(engine, pod, answer);
        checks += pause.seconds();
      }
      if (answer.code != Code::kSuccess) {
        continue;
      }
      for (const Victim& victim : answer.victims) {
        engine.remove_pod(victim.namespace_name, victim.name);
        victims += 1;
        reclaimed += victim.namespace_name != pod.namespace_name;
      }
      check_done(engine.assume(pod, engine.node_name(answer.nominated_node)));
    }
    const double seconds = watch.seconds() - checks;
    check_done(engine.validate());
    return seconds;
  });
  measurement.run(options.repetitions(3));
  const double rate = preemptors / times.median();
  lines.push_back({.row = "preempt_storm",
                   .what = fmt::format("{} preemptors in a row on {} full nodes, two threads",
                                       preemptors, nodes),
                   .measured = fmt::format("{:.0f} a second ({:.0f} victims, {:.0f} of them of "
                                           "other quotas)",
                                           rate, victims, reclaimed),
                   .unit = "preemptors a second",
                   .value = rate,
                   .target = at_least(2'000),
                   .figures = {{"victims", victims}, {"reclaimed", reclaimed}}});
}

}  // namespace headroom
