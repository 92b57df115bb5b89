// fork: trying placements on a large cluster and taking them back.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "workloads/cluster_generator.h"

namespace headroom {

namespace {

constexpr std::uint32_t kPlacements = 100;

Engine generated_engine(const ClusterGenerator& generator) {
  Engine engine = value_of(Engine::create(bench_profile(), kOneThread));
  check_done(engine.advance(kTraceStartUs));
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    check_done(engine.upsert(generator.node(n)));
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    check_done(engine.upsert(generator.pod(p)));
  }
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    if (generator.has_node_metric(n)) {
      check_done(engine.upsert(generator.node_metric(n)));
    }
  }
  return engine;
}

// As the cluster's own, under other names.
std::vector<Pod> pending_pods(const ClusterGenerator& generator) {
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 10 * kPlacements; ++p) {
    Pod& pod = pods.emplace_back(generator.pod(p));
    pod.name = pod.uid = fmt::format("tried-{}", p);
    pod.node_name.clear();
    pod.scheduled.reset();
    pod.initialized.reset();
    pod.start_us.reset();
  }
  return pods;
}

// Of the main thread, which alone allocates here.
std::int64_t allocated_bytes() { return static_cast<std::int64_t>(mallinfo2().uordblks); }

class ForkRun {
 public:
  explicit ForkRun(const ClusterGenerator& generator)
      : engine_(generated_engine(generator)), pods_(pending_pods(generator)) {
    choose_pods();
    nodes_ = placed_now();
    take_away();
    digest_ = engine_.digest();
    pod_count_ = engine_.pod_count();
  }

  void check_answers() {
    engine_.fork();
    check(placed_now() == nodes_, "placements inside a fork");
    check(engine_.digest() != digest_, "placements are facts");
    engine_.rollback();
    check(engine_.digest() == digest_, "the state after a rollback");
    check(placed_now() == nodes_, "placements after a rollback");
    take_away();
    for (std::size_t p = 0; p < pods_.size(); p += 25) {
      Decision decision;
      check_done(engine_.evaluate(pods_[p], kBest, decision));
      check_decision(engine_, pods_[p], kBest, decision);
    }
    check_done(engine_.validate());
  }

  double forked() {
    const Stopwatch watch;
    engine_.fork();
    const double opened = watch.seconds();
    place();
    const double placed = watch.seconds();
    engine_.rollback();
    const double seconds = watch.seconds();
    fork_seconds_ = opened;
    rollback_seconds_ = seconds - placed;
    check(engine_.pod_count() == pod_count_, "pods after a rollback");
    return seconds;
  }
  // The same placements to stay.
  double plain() {
    const Stopwatch watch;
    place();
    const double seconds = watch.seconds();
    take_away();
    return seconds;
  }

  // What the placements take with a fork beyond what they take without, and what stays of a fork.
  std::pair<std::int64_t, std::int64_t> journal_bytes() {
    std::int64_t before = allocated_bytes();
    place();
    const std::int64_t plain = allocated_bytes() - before;
    take_away();
    before = allocated_bytes();
    engine_.fork();
    place();
    const std::int64_t forked = allocated_bytes() - before;
    engine_.rollback();
    return {forked - plain, allocated_bytes() - before};
  }

  std::uint32_t pod_count() const { return pod_count_; }
  double fork_seconds() const { return fork_seconds_; }
  double rollback_seconds() const { return rollback_seconds_; }

 private:
  // The first of them that there is room for.
  void choose_pods() {
    const std::vector<Placement> placements = value_of(engine_.place(pods_, kBest));
    take_away();
    std::vector<Pod> chosen;
    for (std::size_t p = 0; p < pods_.size() && chosen.size() < kPlacements; ++p) {
      if (placements[p].node != kNoNode) {
        chosen.push_back(pods_[p]);
      }
    }
    pods_ = std::move(chosen);
    check(pods_.size() == kPlacements, "room for so many pods");
  }
  void place() { keep(value_of(engine_.place(pods_, kBest)).size()); }
  std::vector<NodeIndex> placed_now() {
    std::vector<NodeIndex> nodes;
    for (const Placement& placement : value_of(engine_.place(pods_, kBest))) {
      check(placement.node != kNoNode, "room for every pod");
      nodes.push_back(placement.node);
    }
    return nodes;
  }
  void take_away() {
    for (const Pod& pod : pods_) {
      engine_.remove_pod(pod.namespace_name, pod.name);
    }
  }

  Engine engine_;
  std::vector<Pod> pods_;
  std::vector<NodeIndex> nodes_;  // where they are placed
  std::uint64_t digest_ = 0;      // without them
  std::uint32_t pod_count_ = 0;
  double fork_seconds_ = 0, rollback_seconds_ = 0;  // of the last time
};

}  // namespace

void fork_rollback(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), pods = options.size(1'000'000);
  ForkRun run(ClusterGenerator({.nodes = nodes, .pods = pods, .seed = options.seed}));
  const auto [bytes, left] = run.journal_bytes();  // of the first fork: its memory is used again
  run.check_answers();
  Measurement measurement;
  const Times& forked =
      measurement.add("fork", options.iterations(100), [&] { return run.forked(); });
  const Times& plain =
      measurement.add("place", options.iterations(100), [&] { return run.plain(); });
  measurement.run(options.repetitions(9));
  run.check_answers();
  const double ms = forked.median() * 1e3;
  lines.push_back(
      {.row = "fork",
       .what = fmt::format("{} nodes, {} pods: fork, {} placements, rollback", nodes,
                           run.pod_count(), kPlacements),
       .measured = fmt::format(
           "{:.2f} ms ({:.0f} ns fork, {:.3f} ms rollback; the placements alone {:.2f} ms)", ms,
           run.fork_seconds() * 1e9, run.rollback_seconds() * 1e3, plain.median() * 1e3),
       .unit = "ms",
       .value = ms,
       .target = at_most(1),
       .figures = {{"fork_ns", run.fork_seconds() * 1e9},
                   {"rollback_ms", run.rollback_seconds() * 1e3},
                   {"plain_ms", plain.median() * 1e3},
                   {"left_bytes", static_cast<double>(left)}}});
  lines.push_back({.row = "",
                   .what = "what the fork remembers of them",
                   .measured = fmt::format("{} bytes; {} stay after the rollback", bytes, left),
                   .unit = "bytes",
                   .value = static_cast<double>(bytes),
                   .target = {},
                   .figures = {}});
}

}  // namespace headroom
