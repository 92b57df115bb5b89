// place, place_churn: the trace's pods one after the other, each on its best node. place_generated:
// those of a generated cluster, of ten times as many shapes.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/clusters/trace_workload.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "workloads/cluster_generator.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

// What placing pods came to.
std::string placing(double rate, const EngineStats& stats) {
  return fmt::format(
      "{:.0f} pods a second ({:.2f} us a pod; {:.1f} rows replayed a decision, {} cold passes)",
      rate, 1e6 / rate,
      static_cast<double>(stats.rows_replayed) / static_cast<double>(stats.decisions),
      stats.cold_passes);
}

// Arrivals that are handed to place() together.
constexpr std::size_t kPlacedAtOnce = 64;

Engine make_trace_engine(std::uint32_t nodes, std::uint64_t seed, bool shape_cache) {
  EngineOptions options{.threads = 1};
  options.shape_cache = shape_cache;
  Engine engine = value_of(Engine::create(bench_profile(), options));
  check_done(engine.advance(kTraceStartUs));
  for_each_trace_node(nodes, seed, [&](const Node& node, const NodeMetric& metric) {
    check_done(engine.upsert(node));
    check_done(engine.upsert(metric));
  });
  return engine;
}

class PlaceRun {
 public:
  PlaceRun(std::uint32_t nodes, std::uint64_t seed, bool shape_cache = true)
      : engine_(make_trace_engine(nodes, seed, shape_cache)) {}

  // `each` is called after each decision, before the pod is assumed.
  template <typename Each>
  void run(const TraceWorkload& workload, Each each) {
    for (const TraceWorkload::Step& step : workload.steps) {
      const Pod& pod = workload.pods[step.pod];
      if (!step.arrival) {
        engine_.remove_pod(pod.namespace_name, pod.name);
        continue;
      }
      check_done(engine_.evaluate(pod, kBest, decision_));
      each(pod, decision_);
      if (!decision_.candidates.empty()) {
        ++placed_;
        check_done(engine_.assume(pod, engine_.node_name(decision_.candidates.front().node)));
      }
    }
  }
  // The same through place(), which is given the pods that arrive between two departures.
  double timed(const TraceWorkload& workload) {
    const Stopwatch watch;
    std::size_t first = 0, arrived = 0;
    const auto place = [&] {
      const std::span<const Pod> arrivals(workload.pods.data() + first, arrived - first);
      for (const Placement& placement : value_of(engine_.place(arrivals, kBest))) {
        placed_ += placement.node != kNoNode;
      }
      first = arrived;
    };
    for (const TraceWorkload::Step& step : workload.steps) {
      if (!step.arrival || arrived - first == kPlacedAtOnce) {
        place();
      }
      if (step.arrival) {
        check(step.pod == arrived, "pods in the order of arrival");
        ++arrived;
      } else {
        const Pod& pod = workload.pods[step.pod];
        engine_.remove_pod(pod.namespace_name, pod.name);
      }
    }
    place();
    return watch.seconds();
  }

  Engine& engine() { return engine_; }
  std::uint64_t placed() const { return placed_; }

 private:
  Engine engine_;
  Decision decision_;
  std::uint64_t placed_ = 0;
};

// A small run against one without the cache, and some decisions of a full one row by row.
void check_run(const BenchOptions& options, const TraceWorkload& workload, std::uint32_t nodes,
               bool departures) {
  const TraceWorkload few = make_trace_workload(options.size(10'000), departures, options.seed);
  PlaceRun with(options.size(2'000), options.seed),
      without(options.size(2'000), options.seed, false);
  std::vector<Decision> decisions;
  with.run(few, [&](const Pod&, const Decision& decision) { decisions.push_back(decision); });
  std::size_t next = 0;
  without.run(
      few, [&](const Pod&, const Decision& decision) { check_equal(decisions[next++], decision); });
  check_done(with.engine().validate());

  PlaceRun full(nodes, options.seed);
  std::size_t done = 0;
  const std::size_t every = workload.pods.size() / 20;
  full.run(workload, [&](const Pod& pod, const Decision& decision) {
    if (++done % every == 0) {
      check_decision(full.engine(), pod, kBest, decision);
    }
  });
  check_done(full.engine().validate());
}

void place_row(const BenchOptions& options, const char* row, bool departures, double target,
               Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), pods = options.size(200'000);
  const TraceWorkload workload = make_trace_workload(pods, departures, options.seed);
  check_run(options, workload, nodes, departures);
  std::uint64_t placed = 0;
  EngineStats stats;
  Measurement measurement;
  const Times& times = measurement.add(row, 1, [&] {
    PlaceRun run(nodes, options.seed);
    const double seconds = run.timed(workload);
    placed = run.placed();
    stats = run.engine().stats();
    return seconds;
  });
  measurement.run(options.repetitions(5));
  const double rate = pods / times.median();
  lines.push_back(
      {.row = row,
       .what = fmt::format("{} pods of the trace onto {} nodes, each on its best{} "
                           "({} placed, {} shapes)",
                           pods, nodes, departures ? ", departures" : "", placed, stats.shapes),
       .measured = placing(rate, stats),
       .unit = "pods a second",
       .value = rate,
       .target = at_least(target),
       .figures = {{"placed", static_cast<double>(placed)},
                   {"rows_replayed", static_cast<double>(stats.rows_replayed)},
                   {"cold_passes", static_cast<double>(stats.cold_passes)}}});
}

}  // namespace

// What the shapes of place_generated take with 500,000 nodes, some 5 B a node each
// (docs/operating.md).
constexpr std::size_t kScaledCacheBytesMax = 8ull << 30;

// As `headroom simulate --nodes 50000 --pods 200000` has them, one at a time.
void place_generated(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), pods = options.size(200'000);
  const ClusterGenerator generator(
      {.nodes = nodes, .pods = pods, .seed = options.seed, .bound_permille = 0});
  std::vector<Pod> arriving;
  for (std::uint32_t p = 0; p < pods; ++p) {
    arriving.push_back(generator.pod(p));
  }
  EngineOptions engine_options = kOneThread;
  if (options.scale) engine_options.shape_cache_bytes_max = kScaledCacheBytesMax;
  std::uint64_t placed = 0;
  EngineStats stats;
  std::vector<double> worst;
  Measurement measurement;
  const Times& times = measurement.add("place_generated", 1, [&] {
    Engine engine = value_of(Engine::create(bench_profile(), engine_options));
    check_done(engine.advance(kTraceStartUs));
    for (std::uint32_t n = 0; n < nodes; ++n) {
      check_done(engine.upsert(generator.node(n)));
      if (generator.has_node_metric(n)) {
        check_done(engine.upsert(generator.node_metric(n)));
      }
    }
    Decision decision;
    double seconds = 0, longest = 0;
    placed = 0;
    for (std::uint32_t p = 0; p < pods; ++p) {
      const Stopwatch watch;
      check_done(engine.evaluate(arriving[p], kBest, decision));
      const double decided = watch.seconds();
      longest = std::max(longest, decided);
      seconds += decided;
      if (worst.empty() && p % (pods / 20) == 0) {
        check_decision(engine, arriving[p], kBest, decision);
      }
      if (!decision.candidates.empty()) {
        ++placed;
        const Stopwatch assuming;
        check_done(engine.assume(arriving[p], engine.node_name(decision.candidates.front().node)));
        seconds += assuming.seconds();
      }
    }
    if (worst.empty()) {
      check_done(engine.validate());
    }
    worst.push_back(longest);
    stats = engine.stats();
    return seconds;
  });
  measurement.run(options.repetitions(3));
  std::sort(worst.begin(), worst.end());
  const double rate = pods / times.median(), longest_ms = worst[worst.size() / 2] * 1e3;
  lines.push_back(
      {.row = "place_generated",
       .what = fmt::format("{} pods of a generated cluster onto its {} nodes, each on its best ({} "
                           "placed, {} shapes)",
                           pods, nodes, placed, stats.shapes),
       .measured = placing(rate, stats),
       .unit = "pods a second",
       .value = rate,
       .target = at_least(100'000),
       .figures = {{"placed", static_cast<double>(placed)},
                   {"cold_passes", static_cast<double>(stats.cold_passes)}}});
  lines.push_back({.row = "",
                   .what = "  the longest decision",
                   .measured = fmt::format("{:.2f} ms", longest_ms),
                   .unit = "ms",
                   .value = longest_ms,
                   .target = at_most(5),
                   .figures = {}});
}

void place(const BenchOptions& options, Lines& lines) {
  place_row(options, "place", false, 500'000, lines);
}

void place_churn(const BenchOptions& options, Lines& lines) {
  place_row(options, "place_churn", true, 250'000, lines);
}

}  // namespace headroom
