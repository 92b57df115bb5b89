// capacity_quota_check, capacity_quota_check_batch, capacity_quota_event, capacity_quota_edit:
// capacity quotas.
#include <fmt/format.h>

#include <algorithm>

#include "bench/checks.h"
#include "bench/clusters/capacity_quota_cluster.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "objects/labels.h"

namespace headroom {

namespace {

constexpr std::int64_t kCount = 1'000'000;  // more than any quota allows

std::vector<Node> make_nodes(std::uint32_t count) {
  std::vector<Node> nodes;
  for (std::uint32_t n = 0; n < count; ++n) nodes.push_back(capacity_quota_node(n, n));
  return nodes;
}

}  // namespace

void capacity_quota_check(const BenchOptions& options, Lines& lines) {
  constexpr std::uint32_t kCapacityQuotas = 100;
  const std::uint32_t small_nodes = options.usual(50'000), large_nodes = options.usual(500'000);
  CapacityQuotas small = make_capacity_quota_cluster({small_nodes, kCapacityQuotas});
  CapacityQuotas large = make_capacity_quota_cluster({large_nodes, kCapacityQuotas});
  const std::vector<CapacityQuota> quotas = make_capacity_quotas(kCapacityQuotas);
  const std::vector<Node> nodes = make_nodes(small_nodes);
  std::vector<Node> templates;
  for (std::uint32_t t = 0; t < 64; ++t) {
    templates.push_back(capacity_quota_node(1'000'000 + t, t * 37));
  }
  CapacityCheck answer;
  std::size_t rows = 0;
  for (std::size_t t = 0; t < templates.size(); ++t) {
    check_done(small.check(templates[t], kCount, answer));
    rows += answer.rows.size();
    if (t >= 4) continue;  // Counting takes a while.
    check(answer.allowed == count_allowed(nodes, quotas, templates[t], kCount),
          "a check against the count over all nodes");
  }
  check_done(small.validate());
  Measurement measurement;
  std::size_t next = 0;
  const auto timed = [&](CapacityQuotas& cluster) {
    return [&] {
      constexpr int kQuestions = 1000;
      const Stopwatch watch;
      for (int i = 0; i < kQuestions; ++i) {
        check_done(cluster.check(templates[next++ % templates.size()], kCount, answer));
      }
      return watch.seconds() / kQuestions;
    };
  };
  const Times& at_small = measurement.add("small", 1, timed(small));
  const Times& at_large = measurement.add("large", 1, timed(large));
  const Times& counted = measurement.add("counted", 1, [&] {
    const Stopwatch watch;
    keep(count_allowed(nodes, quotas, templates[0], kCount));
    return watch.seconds();
  });
  measurement.run(options.repetitions(20));
  const double microseconds = at_small.median() * 1e6;
  lines.push_back(
      {.row = "capacity_quota_check",
       .what = fmt::format("{} quotas, {} nodes, one template, {:.0f} rows of answer",
                           kCapacityQuotas, small_nodes,
                           static_cast<double>(rows) / static_cast<double>(templates.size())),
       .measured = fmt::format("{:.2f} us ({:.0f} times faster than counting anew)", microseconds,
                               counted.median() / at_small.median()),
       .unit = "us",
       .value = microseconds,
       .target = at_most(1),
       .figures = {{"counting_us", counted.median() * 1e6}}});
  const double ratio = at_large.median() / at_small.median();
  lines.push_back(
      {.row = {},
       .what = fmt::format("the same at {} nodes", large_nodes),
       .measured = fmt::format("{:.2f} us, {:.2f} times", at_large.median() * 1e6, ratio),
       .unit = "times",
       .value = ratio,
       .target = at_most(1.5),
       .figures = {}});
}

void capacity_quota_check_batch(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), quotas = options.size(1'000), count = 200;
  CapacityQuotas cluster = make_capacity_quota_cluster({nodes, quotas});
  std::vector<Node> templates;
  for (std::uint32_t t = 0; t < count; ++t)
    templates.push_back(capacity_quota_node(1'000'000 + t, t * 37));
  std::vector<CapacityCheck> answers(count);
  const auto check_all = [&] {
    for (std::size_t t = 0; t < count; ++t) {
      check_done(cluster.check(templates[t], kCount, answers[t]));
    }
  };
  check_all();
  std::size_t rows = 0;
  for (std::size_t t = 0; t < count; ++t) {
    rows += answers[t].rows.size();
    check(answers[t].allowed == value_of(cluster.check(templates[t], kCount)).allowed,
          "a template into an answer that is used again and alone");
  }
  Measurement measurement;
  const Times& times = measurement.add("batch", 1, [&] {
    const Stopwatch watch;
    check_all();
    return watch.seconds();
  });
  measurement.run(options.repetitions(20));
  lines.push_back({.row = "capacity_quota_check_batch",
                   .what = fmt::format("{} templates x {} quotas, {:.0f} rows of answer each",
                                       count, quotas, static_cast<double>(rows) / count),
                   .measured = fmt::format("{:.2f} ms", times.median() * 1e3),
                   .unit = "ms",
                   .value = times.median() * 1e3,
                   .target = at_most(1),
                   .figures = {}});
}

void capacity_quota_event(const BenchOptions& options, Lines& lines) {
  constexpr std::uint32_t kCapacityQuotas = 100;
  // As many at a time as stay in the processor's cache: an event's object was just decoded.
  constexpr std::uint32_t kObjects = 256;
  const std::uint32_t nodes = options.size(50'000), rounds = options.size(100);
  CapacityQuotas cluster = make_capacity_quota_cluster({nodes, kCapacityQuotas});
  std::vector<Node> added, relabelled;
  for (std::uint32_t n = 0; n < kObjects; ++n) {
    added.push_back(capacity_quota_node(nodes + n, n));
    relabelled.push_back(capacity_quota_node(nodes + n, n * 3 + 1));
  }
  const std::uint64_t before = cluster.digest();
  double seconds[3] = {};
  Measurement measurement;
  const Times& times = measurement.add("events", 1, [&] {
    std::fill(std::begin(seconds), std::end(seconds), 0);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const Stopwatch watch;
      for (const Node& node : added) check_done(cluster.upsert(node));
      const double to_relabel = watch.seconds();
      for (const Node& node : relabelled) check_done(cluster.upsert(node));
      const double to_remove = watch.seconds();
      for (const Node& node : added) cluster.remove_node(node.name);
      seconds[0] += to_relabel;
      seconds[1] += to_remove - to_relabel;
      seconds[2] += watch.seconds() - to_remove;
    }
    return seconds[0] + seconds[1] + seconds[2];
  });
  measurement.run(options.repetitions(10));
  check(cluster.digest() == before, "nodes that came and went leave nothing");
  check_done(cluster.validate());
  const double events = kObjects * rounds;
  const double rate = 3 * events / times.median();
  lines.push_back({.row = "capacity_quota_event",
                   .what = fmt::format("node added, relabelled, removed; {} nodes, {} quotas",
                                       nodes, kCapacityQuotas),
                   .measured = fmt::format("{:.2f} million a second ({:.2f}, {:.2f}, {:.2f} us)",
                                           rate / 1e6, seconds[0] / events * 1e6,
                                           seconds[1] / events * 1e6, seconds[2] / events * 1e6),
                   .unit = "events a second",
                   .value = rate,
                   .target = at_least(1e6),
                   .figures = {}});
}

void capacity_quota_edit(const BenchOptions& options, Lines& lines) {
  constexpr std::uint32_t kCapacityQuotas = 100;
  const std::uint32_t nodes = options.size(50'000);
  CapacityQuotas cluster = make_capacity_quota_cluster({nodes, kCapacityQuotas});
  const CapacityQuota original = make_capacity_quotas(kCapacityQuotas)[0];
  const Node node_template = capacity_quota_node(1'000'000, 0);
  const std::vector<Node> all = make_nodes(nodes);
  const auto edited = [&](const char* key, const std::vector<std::string>& values) {
    CapacityQuota quota = original;
    quota.selector = {{key, "In", values}};
    return quota;
  };
  const auto edit = [&](const CapacityQuota& quota) {
    const Stopwatch watch;
    check_done(cluster.upsert(quota));
    keep(value_of(cluster.check(node_template, kCount)).allowed);
    return watch.seconds();
  };
  std::vector<CapacityQuota> quotas = make_capacity_quotas(kCapacityQuotas);
  quotas[0] = edited(kZoneLabel, {"zone-3", "zone-4"});
  check_done(cluster.upsert(quotas[0]));
  check(value_of(cluster.check(node_template, kCount)).allowed ==
            count_allowed(all, quotas, node_template, kCount),
        "an edited quota");
  check_done(cluster.validate());
  Measurement measurement;
  const Times& known = measurement.add("known", 1, [&] {
    check_done(cluster.upsert(original));
    return edit(quotas[0]);
  });
  measurement.run(options.repetitions(20));
  lines.push_back({.row = "capacity_quota_edit",
                   .what = fmt::format("a selector changed and checked, {} nodes in {} classes",
                                       nodes, cluster.stats().node_classes),
                   .measured = fmt::format("{:.2f} ms", known.median() * 1e3),
                   .unit = "ms",
                   .value = known.median() * 1e3,
                   .target = at_most(2),
                   .figures = {}});
  Measurement fresh;
  const Times& first = fresh.add("first", 1, [&] {
    cluster = make_capacity_quota_cluster({nodes, kCapacityQuotas});
    return edit(edited("node.kubernetes.io/instance-type", {"family-3-16", "family-4-16"}));
  });
  fresh.run(options.repetitions(10));
  lines.push_back({.row = {},
                   .what = "the same to a label key that no quota read before",
                   .measured = fmt::format("{:.2f} ms", first.median() * 1e3),
                   .unit = "ms",
                   .value = first.median() * 1e3,
                   .target = at_most(2),
                   .figures = {}});
}

}  // namespace headroom
