// cold_profile, resources_8, batch_shapes: decisions for shapes never seen.
#include <fmt/format.h>

#include <memory>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "kernels/kernels.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

// Decides for one new shape after the other.
class ColdDecisions {
 public:
  ColdDecisions(Engine& engine, bool resources_8) : engine_(engine), resources_8_(resources_8) {
    for (int i = 0; i < 3; ++i) {
      timed();
      check_decision(engine_, pod_, kFull, decision_);
    }
  }

  double timed() {
    pod_ = pending_pod(next_++);
    if (resources_8_) {
      add_8_resources(pod_);
    }
    const Stopwatch watch;
    check_done(engine_.evaluate(pod_, kFull, decision_));
    return watch.seconds();
  }
  const Decision& decision() const { return decision_; }

 private:
  Engine& engine_;
  bool resources_8_;
  std::uint32_t next_ = 0;
  Pod pod_;
  Decision decision_;
};

// ns a node; with the memory that the decision before used, too.
struct ColdNs {
  double fresh, used_before;
};

ColdNs measure(ColdDecisions& cold, ColdDecisions& again, std::uint32_t nodes,
               const BenchOptions& options) {
  Measurement measurement;
  const Times& cold_times =
      measurement.add("cold", options.iterations(20), [&] { return cold.timed(); });
  const Times& again_times =
      measurement.add("again", options.iterations(20), [&] { return again.timed(); });
  measurement.run(options.repetitions(11));
  return {cold_times.median() / nodes * 1e9, again_times.median() / nodes * 1e9};
}

std::string ns_a_node(double ns, double again_ns) {
  return fmt::format("{:.2f} ns a node ({:.2f} in memory used before)", ns, again_ns);
}

}  // namespace

void cold_profile(const BenchOptions& options, Lines& lines) {
  struct Case {
    ClusterKind kind;
    const char* name;
    double target_avx512, target_avx2;
  };
  for (const Case& now : {Case{ClusterKind::kRandom, "random", 2.5, 3.3},
                          Case{ClusterKind::kEmpty, "identical empty", 3.5, 6.5}}) {
    const ClusterSpec spec{.kind = now.kind, .nodes = options.size(50'000), .seed = options.seed};
    Engine engine = make_engine(spec, kOneThread);
    // Without the cache the memory of the last decision serves the next.
    EngineOptions without_cache = kOneThread;
    without_cache.shape_cache = false;
    Engine other = make_engine(spec, without_cache);
    ColdDecisions cold(engine, false), again(other, false);
    const auto [ns, again_ns] = measure(cold, again, spec.nodes, options);
    lines.push_back(
        {.row = now.kind == ClusterKind::kRandom ? "cold_profile" : "",
         .what = fmt::format("a new shape, top 16, {} {} nodes ({:.0f} % feasible)", spec.nodes,
                             now.name, 100.0 * cold.decision().feasible / spec.nodes),
         .measured = ns_a_node(ns, again_ns),
         .unit = "ns",
         .value = ns,
         .target = at_most(by_vectors(now.target_avx512, now.target_avx2)),
         .figures = {{"memory_used_before_ns", again_ns}}});
  }
}

void resources_8(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000);
  const auto engine_of_8 = [&](bool shape_cache) {
    EngineOptions engine_options = kOneThread;
    engine_options.shape_cache = shape_cache;
    Engine engine = value_of(Engine::create(profile_of_8(), engine_options));
    check_done(engine.advance(kTraceStartUs));
    for_each_object({.nodes = nodes, .seed = options.seed}, [&](Object& object) {
      if (auto* node = std::get_if<Node>(&object)) {
        add_8_resources(*node);
      } else if (auto* pod = std::get_if<Pod>(&object)) {
        add_8_resources(*pod);
      }
      check_done(engine.upsert(object));
    });
    return engine;
  };
  Engine engine = engine_of_8(true), other = engine_of_8(false);
  ColdDecisions cold(engine, true), again(other, true);
  const auto [ns, again_ns] = measure(cold, again, nodes, options);
  lines.push_back({.row = "resources_8",
                   .what = fmt::format("cold_profile with 8 resources, {} random nodes "
                                       "({:.0f} % feasible)",
                                       nodes, 100.0 * cold.decision().feasible / nodes),
                   .measured = ns_a_node(ns, again_ns),
                   .unit = "ns",
                   .value = ns,
                   .target = at_most(by_vectors(12, 19)),
                   .figures = {{"memory_used_before_ns", again_ns}}});
}

void batch_shapes(const BenchOptions& options, Lines& lines) {
  constexpr std::uint32_t kShapes = 64;
  const ClusterSpec spec{.nodes = options.size(50'000), .seed = options.seed};
  Engine single = make_engine(spec, kOneThread);
  Engine one_thread = make_engine(spec, kOneThread);
  Engine two_threads = make_engine(spec, {.threads = 2});
  // Each takes the same new shapes in the same order, so that their caches are alike.
  struct NewShapes {
    std::uint32_t next = 0;
    std::vector<Pod> pods() {
      std::vector<Pod> made;
      for (std::uint32_t i = 0; i < kShapes; ++i) {
        made.push_back(pending_pod(next++));
      }
      return made;
    }
  };
  NewShapes for_single, for_one_thread, for_two_threads;
  std::vector<Decision> singles(kShapes), batch;
  const auto time_singles = [&] {
    const std::vector<Pod> pods = for_single.pods();
    const Stopwatch watch;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      check_done(single.evaluate(pods[p], kFull, singles[p]));
    }
    return watch.seconds();
  };
  const auto time_batch = [&](Engine& engine, NewShapes& shapes) {
    const std::vector<Pod> pods = shapes.pods();
    const Stopwatch watch;
    batch = value_of(engine.evaluate(pods, kFull));
    return watch.seconds();
  };
  time_singles();
  for (auto& [engine, shapes] :
       {std::pair(&one_thread, &for_one_thread), std::pair(&two_threads, &for_two_threads)}) {
    time_batch(*engine, *shapes);
    for (std::size_t p = 0; p < kShapes; ++p) {
      check_equal(batch[p], singles[p]);
    }
  }

  Measurement measurement;
  const Times& apart = measurement.add("apart", options.iterations(2), time_singles);
  const Times& together = measurement.add("one thread", options.iterations(2),
                                          [&] { return time_batch(one_thread, for_one_thread); });
  const Times& parallel = measurement.add("two threads", options.iterations(2),
                                          [&] { return time_batch(two_threads, for_two_threads); });
  measurement.run(options.repetitions(9));
  const double pairs = static_cast<double>(kShapes) * spec.nodes;
  const double apart_ns = apart.median() / pairs * 1e9;
  const double together_ns = together.median() / pairs * 1e9;
  const double parallel_ns = parallel.median() / pairs * 1e9;
  lines.push_back({.row = "batch_shapes",
                   .what = fmt::format("{} new shapes at once against one by one, {} nodes",
                                       kShapes, spec.nodes),
                   .measured = fmt::format("{:.2f} ({:.2f} against {:.2f} ns a node and shape)",
                                           together_ns / apart_ns, together_ns, apart_ns),
                   .unit = "",
                   .value = together_ns / apart_ns,
                   .target = at_most(by_vectors(0.6, 0.9)),
                   .figures = {{"together_ns", together_ns}, {"apart_ns", apart_ns}}});
  lines.push_back({.row = "",
                   .what = "the same on two threads against one",
                   .measured = fmt::format("{:.2f} times faster ({:.2f} ns a node and shape)",
                                           together_ns / parallel_ns, parallel_ns),
                   .unit = "times",
                   .value = together_ns / parallel_ns,
                   .target = at_least(1.7),
                   .figures = {{"two_threads_ns", parallel_ns}}});
}

}  // namespace headroom
