#include "simulation/report/profile_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "objects/text/time_text.h"
#include "simulation/report/series_json.h"
#include "simulation/report/simulation_report.h"
#include "simulation/text/resource_text.h"
#include "simulation/text/table.h"

namespace headroom {
namespace {

class Comparison {
 public:
  explicit Comparison(std::span<const ProfileRun> runs) : runs_(runs) {}

  // A row whose cells `text` makes of each run.
  template <typename F>
  void row(std::string what, F text) {
    std::vector<std::string> cells{std::move(what)};
    for (const ProfileRun& run : runs_) cells.push_back(text(run.report));
    table_.row(std::move(cells));
  }
  void title(const std::string& text) {
    table_.row({});
    table_.row({text});
  }
  std::string text() const { return table_.text(); }

 private:
  std::span<const ProfileRun> runs_;
  Table table_;
};

std::string one_decimal(double value) { return fmt::format("{:.1f}", value); }
std::string percent_of(double value) { return fmt::format("{:.1f} %", value); }

void compare_failures(Comparison& comparison, std::span<const ProfileRun> runs) {
  std::vector<std::string> reasons;
  for (const ProfileRun& run : runs) {
    for (const FailureReport& failure : run.report.failures) {
      const bool known = std::find(reasons.begin(), reasons.end(), failure.reason) != reasons.end();
      if (!known && failure.pods_mainly > 0) reasons.push_back(failure.reason);
    }
  }
  for (const std::string& reason : reasons) {
    comparison.row("  " + reason, [&](const SimulationReport& report) {
      const auto found =
          std::find_if(report.failures.begin(), report.failures.end(),
                       [&](const FailureReport& failure) { return failure.reason == reason; });
      return grouped(found == report.failures.end() ? 0 : found->pods_mainly);
    });
  }
}

// Of pods that the profiles looked for a place for, and of those that they left out.
void compare_not_considered(Comparison& comparison, std::span<const ProfileRun> runs) {
  const auto row = [&](const std::string& what, auto count) {
    const bool any = std::any_of(runs.begin(), runs.end(),
                                 [&](const ProfileRun& run) { return count(run.report) > 0; });
    if (!any) return;
    comparison.row(what, [&](const SimulationReport& report) { return grouped(count(report)); });
  };
  row("pods left out: being deleted",
      [](const SimulationReport& report) { return report.left_out_deleting; });
  row("pods left out: scheduling gates",
      [](const SimulationReport& report) { return report.left_out_gated; });
  row("pods left out: of other schedulers",
      [](const SimulationReport& report) { return report.left_out_of_other_schedulers; });
  for (std::uint32_t i = 0; i < kNotConsideredCount; ++i) {
    const auto what = static_cast<NotConsidered>(i);
    row(fmt::format("pods with {}, not considered", to_string(what)),
        [what](const SimulationReport& report) {
          const auto found =
              std::find_if(report.not_considered.begin(), report.not_considered.end(),
                           [&](const NotConsideredReport& at) { return at.what == what; });
          return found == report.not_considered.end() ? 0 : found->pods + found->pods_there;
        });
  }
}

void compare_resource(Comparison& comparison, const std::string& name, std::size_t resource,
                      bool has_limits) {
  const auto row = [&](const char* what, Measure measure, auto text) {
    comparison.row(what, [&](const SimulationReport& report) {
      return std::string(text(summary(*report.series, resource, measure)));
    });
  };
  const auto above = [](const MeasureSummary& at) { return one_decimal(at.nodes_above_100); };
  const auto mean = [](const MeasureSummary& at) { return percent_of(at.mean_percent); };
  const auto p99 = [](const MeasureSummary& at) { return percent_of(at.p99_percent); };
  const auto max = [](const MeasureSummary& at) { return percent_of(at.max_percent); };
  comparison.title(name + ", of each node's allocatable");
  row("  requests: mean of the nodes", Measure::kRequested, mean);
  if (has_limits) {
    row("  limits: mean of the nodes", Measure::kLimits, mean);
    row("    p99 of the nodes", Measure::kLimits, p99);
    row("    fullest node, at most", Measure::kLimits, max);
    row("    nodes above 100 %", Measure::kLimits, above);
  }
  for (const Measure measure : {Measure::kEstimated, Measure::kUsage}) {
    if (!has_measure(name, measure)) continue;
    row(measure == Measure::kUsage ? "  simulated usage: p99 of the nodes"
                                   : "  estimated usage: p99 of the nodes",
        measure, p99);
    row("    nodes above 100 %", measure, above);
    const std::string hot = fmt::format("    hot nodes, above {} %", hot_percent(name));
    row(hot.c_str(), measure, [](const MeasureSummary& at) { return one_decimal(at.hot_nodes); });
  }
}

// Runs have moments of their own: the last that is not after this one.
const Sample& last_until(const Sample& moment, const SimulationSeries& series) {
  const auto later = [&](const Sample& at) {
    return series.over_decisions ? at.decisions > moment.decisions : at.time_us > moment.time_us;
  };
  const auto end = std::find_if(series.samples.begin() + 1, series.samples.end(), later);
  return *std::prev(end);
}

// Nodes whose limits are above allocatable at some of the samples of the first, evenly spread.
void compare_over_time(Comparison& comparison, const std::string& name, std::size_t resource,
                       const SimulationSeries& first) {
  comparison.title("nodes with limits of " + name + " above 100 %");
  std::size_t before = 0;
  for (std::size_t i = 1; i <= kReportIntervals; ++i) {
    const std::size_t s = (first.samples.size() - 1) * i / kReportIntervals;
    if (s == before) continue;
    before = s;
    const Sample& moment = first.samples[s];
    std::string when;
    if (first.over_decisions) {
      when = "after " + grouped(moment.decisions) + " pods";
    } else {
      when = second_text(moment.time_us);
    }
    comparison.row("  " + when, [&](const SimulationReport& report) {
      const Sample& at = last_until(moment, *report.series);
      return grouped(
          at.by_nodes[static_cast<std::size_t>(Measure::kLimits)][resource].above_allocatable);
    });
  }
}

// Some pod may use more of it than it asks for.
bool has_limits(std::span<const ProfileRun> runs, std::size_t resource) {
  return std::any_of(runs.begin(), runs.end(), [&](const ProfileRun& run) {
    const std::vector<Sample>& samples = run.report.series->samples;
    return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.sums[static_cast<std::size_t>(Measure::kLimits)][resource] >
             sample.sums[static_cast<std::size_t>(Measure::kRequested)][resource];
    });
  });
}

}  // namespace

void print_comparison(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                      std::span<const ProfileRun> runs) {
  fmt::print(file, "{}: {} nodes, {} pods, seed {}; each profile places the same pods\n\n",
             input.title, grouped(input.nodes.size()), grouped(input.arrivals.size()), seed);
  Comparison comparison(runs);
  const SimulationSeries& first = *runs.front().report.series;
  {
    std::size_t run = 0;
    comparison.row("", [&](const SimulationReport&) { return runs[run++].profile; });
  }
  const auto count = [&](const char* what, std::uint64_t SimulationReport::*member) {
    comparison.row(what, [&](const SimulationReport& report) { return grouped(report.*member); });
  };
  count("pods placed", &SimulationReport::placed);
  count("pods failed", &SimulationReport::failed);
  compare_failures(comparison, runs);
  compare_not_considered(comparison, runs);
  const bool victims = std::any_of(runs.begin(), runs.end(), [](const ProfileRun& run) {
    return run.report.preemption.victims > 0;
  });
  if (victims) {
    comparison.row("victims", [](const SimulationReport& report) {
      return grouped(report.preemption.victims);
    });
  }
  for (std::size_t r = 0; r < first.resources.size(); ++r) {
    const std::string& name = first.resources[r];
    if (name == "pods") continue;
    if (runs.front().report.has_resource(name)) {
      compare_resource(comparison, name, r, has_limits(runs, r));
    }
  }
  for (std::size_t r = 0; r < first.resources.size(); ++r) {
    if (first.resources[r] == "cpu" && has_limits(runs, r)) {
      compare_over_time(comparison, first.resources[r], r, first);
    }
  }
  comparison.title("speed");
  comparison.row("  pods per second",
                 [](const SimulationReport& report) { return grouped(report.pods_per_second()); });
  const std::string means = fmt::format(
      "Means over {} moments, evenly spread over the {}. Estimated usage: the limit where it is "
      "above "
      "the request, as LoadAwareScheduling estimates. Simulated usage: one pod in {}, drawn from "
      "the "
      "seed for each moment, uses all of its limits, the others a share of their requests.",
      first.samples.size(), first.over_decisions ? "decisions" : "time", kBurstEvery);
  fmt::print(file, "{}\n{}", comparison.text(), wrapped(means));
  print_notes(file, input);
}

}  // namespace headroom
