// warm, warm_growth, warm_dirty: decisions for a known shape after few nodes changed.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "workloads/random.h"

namespace headroom {

namespace {

enum WarmPurpose : std::uint64_t { kForChanges = 601 };

// Each call of next() changes exactly one row.
class Changes {
 public:
  enum class Kind {
    kManyPods,  // pods of one core come and go on random nodes
    kOnePod,    // one such pod comes to a random node and goes again
    kToggle,    // the least LimitAware score of all comes and goes
    kWalk,      // the same, each time another least score
  };

  Changes(Engine& engine, Kind kind, const ClusterSpec& spec)
      : engine_(engine), kind_(kind), random_{spec.seed, kForChanges}, nodes_(spec.nodes) {
    const std::uint32_t pods = kind == Kind::kManyPods ? std::min(4096u, spec.nodes) : kSteps;
    for (std::uint32_t p = 0; p < pods; ++p) {
      const bool passing = kind == Kind::kManyPods || kind == Kind::kOnePod;
      pods_.push_back({passing ? passing_pod(p) : extreme_pod(p), kNoNode});
    }
  }

  void next() {
    PassingPod& pod = pods_[pick()];
    if (pod.node != kNoNode) {
      engine_.forget(pod.pod.namespace_name, pod.pod.name, pod.pod.uid,
                     engine_.node_name(pod.node));
      pod.node = kNoNode;
    } else {
      pod.node = static_cast<NodeIndex>(kind_ == Kind::kToggle ? 0 : random_.below(nodes_));
      check_done(engine_.assume(pod.pod, engine_.node_name(pod.node)));
    }
  }

 private:
  struct PassingPod {
    Pod pod;
    NodeIndex node;  // where it is assumed, or kNoNode
  };

  std::uint32_t pick() {
    const auto count = static_cast<std::uint32_t>(pods_.size());
    switch (kind_) {
      case Kind::kManyPods:
        return random_.below(count);
      case Kind::kWalk:
        return steps_++ / 2 % count;
      default:
        return 0;
    }
  }

  Engine& engine_;
  Kind kind_;
  Random random_;
  std::uint32_t nodes_;
  std::uint32_t steps_ = 0;
  std::vector<PassingPod> pods_;
};

// An engine, changes, and decisions after them.
class WarmDecisions {
 public:
  WarmDecisions(const ClusterSpec& spec, Changes::Kind kind)
      : engine_(make_engine(spec, kOneThread)),
        changes_(engine_, kind, spec),
        pod_(pending_pod(0)),
        shape_(value_of(engine_.shape_of(pod_))) {
    for (int i = 0; i < 20; ++i) {
      for (int c = 0; c < 25; ++c) {
        const std::uint64_t before = engine_.epoch();
        changes_.next();
        check(engine_.epoch() == before + 1, "an event that should change one row");
        check_done(engine_.evaluate(shape_, kFast, decision_));
      }
      check_now();
    }
  }

  void change(std::uint32_t rows) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      changes_.next();
    }
  }
  double by_shape(std::uint32_t rows = 1) {
    change(rows);
    const Stopwatch watch;
    check_done(engine_.evaluate(shape_, kFast, decision_));
    return watch.seconds();
  }
  double by_pod(const EvaluateOptions& options) {
    change(1);
    const Stopwatch watch;
    check_done(engine_.evaluate(pod_, options, decision_));
    return watch.seconds();
  }
  // A decision for a shape never seen.
  double cold() {
    const Pod pod = pending_pod(++cold_pods_);
    const Stopwatch watch;
    check_done(engine_.evaluate(pod, kFast, decision_));
    return watch.seconds();
  }
  void check_now() {
    check_done(engine_.evaluate(shape_, kFast, decision_));
    check_decision(engine_, pod_, kFast, decision_);
    check_done(engine_.evaluate(pod_, kFull, decision_));
    check_decision(engine_, pod_, kFull, decision_);
  }

 private:
  Engine engine_;
  Changes changes_;
  Pod pod_;
  ShapeIndex shape_;
  Decision decision_;
  std::uint32_t cold_pods_ = 0;
};

}  // namespace

void warm(const BenchOptions& options, Lines& lines) {
  struct Case {
    const char* name;
    ClusterKind cluster;
    Changes::Kind changes;
    bool judge_median;  // false: every other decision has to scan anew
  };
  for (const Case& now :
       {Case{"random", ClusterKind::kRandom, Changes::Kind::kManyPods, true},
        Case{"anti-correlated", ClusterKind::kAntiCorrelated, Changes::Kind::kManyPods, true},
        Case{"all equal", ClusterKind::kEmpty, Changes::Kind::kOnePod, true},
        Case{"extreme comes and goes", ClusterKind::kSpread, Changes::Kind::kToggle, true},
        Case{"extreme moves to ever new values", ClusterKind::kSpread, Changes::Kind::kWalk,
             false}}) {
    const ClusterSpec spec{
        .kind = now.cluster, .nodes = options.size(50'000), .seed = options.seed};
    WarmDecisions decisions(spec, now.changes);
    Measurement measurement;
    const Times& fast = measurement.add("by shape", options.iterations(20'000),
                                        [&] { return decisions.by_shape(); });
    const Times& pod = measurement.add("by pod", options.iterations(20'000),
                                       [&] { return decisions.by_pod(kFast); });
    const Times& full = measurement.add("by pod, scores and reasons", options.iterations(20'000),
                                        [&] { return decisions.by_pod(kFull); });
    measurement.run(options.repetitions(9));
    decisions.check_now();
    const auto line = [&](const char* row, std::string what, const Times& times,
                          bool judge_median) {
      const double median = us(times.median()), p99 = us(times.quantile(0.99));
      lines.push_back({.row = row,
                       .what = std::move(what),
                       .measured = fmt::format("median {:.3f} us", median),
                       .unit = "us",
                       .value = median,
                       .target = judge_median ? std::optional(at_most(0.3)) : std::nullopt,
                       .figures = {}});
      lines.push_back({.row = "",
                       .what = "  p99",
                       .measured = fmt::format("{:.3f} us", p99),
                       .unit = "us",
                       .value = p99,
                       .target = at_most(10),
                       .figures = {}});
    };
    const bool first = lines.empty() || now.cluster == ClusterKind::kRandom;
    line(first ? "warm" : "",
         fmt::format("top 16, 1 row changed, {} nodes, {}", spec.nodes, now.name), fast,
         now.judge_median);
    lines.push_back({.row = "",
                     .what = "  by pod; by pod with scores and reasons",
                     .measured = fmt::format("median {:.3f} us, p99 {:.3f}; {:.3f} us, p99 {:.3f}",
                                             us(pod.median()), us(pod.quantile(0.99)),
                                             us(full.median()), us(full.quantile(0.99))),
                     .unit = "",
                     .value = {},
                     .target = {},
                     .figures = {{"by_pod_us", us(pod.median())}, {"full_us", us(full.median())}}});
  }
}

void warm_growth(const BenchOptions& options, Lines& lines) {
  constexpr std::uint32_t kChanged = 10;
  const std::uint32_t few = options.usual(5'000), many = options.usual(500'000);
  WarmDecisions small({.nodes = few, .seed = options.seed}, Changes::Kind::kManyPods);
  WarmDecisions large({.nodes = many, .seed = options.seed}, Changes::Kind::kManyPods);
  Measurement measurement;
  const Times& small_times =
      measurement.add("small", options.iterations(5'000), [&] { return small.by_shape(kChanged); });
  const Times& large_times =
      measurement.add("large", options.iterations(5'000), [&] { return large.by_shape(kChanged); });
  measurement.run(options.repetitions(9));
  small.check_now();
  large.check_now();
  const double ratio = large_times.median() / small_times.median();
  lines.push_back({.row = "warm_growth",
                   .what = fmt::format("{} rows changed, {} nodes against {}", kChanged, many, few),
                   .measured = fmt::format("{:.2f} times ({:.3f} against {:.3f} us)", ratio,
                                           us(large_times.median()), us(small_times.median())),
                   .unit = "times",
                   .value = ratio,
                   .target = at_most(3),
                   .figures = {{"large_us", us(large_times.median())},
                               {"small_us", us(small_times.median())}}});
}

void warm_dirty(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000);
  WarmDecisions decisions({.nodes = nodes, .seed = options.seed}, Changes::Kind::kManyPods);
  Measurement measurement;
  struct Dirty {
    std::uint32_t rows;
    const Times* times;
  };
  std::vector<Dirty> all;
  for (const std::uint32_t rows : {1u, 10u, 100u, 1'000u, 10'000u}) {
    const std::int64_t iterations = rows <= 100 ? 1'000 : 20;
    all.push_back(
        {rows, &measurement.add(std::to_string(rows), options.iterations(iterations),
                                [&decisions, rows] { return decisions.by_shape(rows); })});
  }
  const Times& cold =
      measurement.add("cold", options.iterations(20), [&] { return decisions.cold(); });
  measurement.run(options.repetitions(9));
  decisions.check_now();
  const double cold_us = us(cold.median());
  for (const Dirty& dirty : all) {
    const double median = us(dirty.times->median());
    lines.push_back(
        {.row = dirty.rows == 1 ? "warm_dirty" : "",
         .what = fmt::format("{} rows changed, {} nodes, against a cold pass", dirty.rows, nodes),
         .measured =
             fmt::format("{:.4f} ({:.2f} against {:.1f} us)", median / cold_us, median, cold_us),
         .unit = "of a cold pass",
         .value = median / cold_us,
         .target = at_most(1),
         .figures = {{"us", median}, {"cold_us", cold_us}}});
  }
  // What one more row costs, from the two counts that are always replayed.
  const double hundred = us(all[2].times->median()), thousand = us(all[3].times->median());
  const double row_us = (thousand - hundred) / 900;
  lines.push_back({.row = "",
                   .what = "  break-even: rows whose replay costs a cold pass",
                   .measured = fmt::format("about {:.0f} rows ({:.1f} ns a row)",
                                           100 + (cold_us - hundred) / row_us, row_us * 1e3),
                   .unit = "rows",
                   .value = 100 + (cold_us - hundred) / row_us,
                   .target = {},
                   .figures = {{"ns_per_row", row_us * 1e3}}});
}

}  // namespace headroom
