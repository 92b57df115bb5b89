#include "simulation/report/simulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/kernels.h"
#include "objects/text/time_text.h"
#include "simulation/figures/ranks.h"
#include "simulation/report/autoscaler_report.h"
#include "simulation/report/series_json.h"
#include "simulation/text/not_considered_text.h"
#include "simulation/text/resource_text.h"
#include "simulation/text/table.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kElasticQuotasShownMax = 20;

std::int64_t pods_per_second(const SimulationReport& report) {
  if (report.speed.seconds <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(report.placed + report.failed) /
                                   report.speed.seconds);
}

void print_pods(std::FILE* file, const SimulationInput& input, const SimulationReport& report) {
  const std::uint64_t decisions = report.placed + report.failed;
  const auto share = [&](std::uint64_t part) {
    return share_text(static_cast<std::int64_t>(part), static_cast<std::int64_t>(decisions));
  };
  Table pods;
  if (const std::uint64_t there = pods_there(input); there > 0) {
    pods.row({"there before", grouped(there)});
  }
  pods.row({"placed", grouped(report.placed), share(report.placed)});
  pods.row({"failed", grouped(report.failed), share(report.failed)});
  pods.row({"left when their time ended", grouped(report.departed)});
  const auto if_any = [&](const char* what, std::uint64_t count) {
    if (count > 0) pods.row({what, grouped(count)});
  };
  if_any("left out: being deleted", report.left_out_deleting);
  if_any("left out: scheduling gates", report.left_out_gated);
  if_any("left out: of other schedulers", report.left_out_of_other_schedulers);
  fmt::print(file, "\npods\n{}", pods.text());
}

void print_not_considered(std::FILE* file, const SimulationReport& report) {
  std::string text;
  for (const NotConsideredReport& at : report.not_considered) {
    if (at.pods > 0) text += "  " + not_considered_text(at.what, at.pods) + '\n';
    if (at.pods_there > 0) text += "  " + not_considered_text(at.what, at.pods_there, true) + '\n';
  }
  if (!text.empty()) fmt::print(file, "\nnot considered\n{}", text);
  if (report.left_out_gated + report.left_out_of_other_schedulers > 0) {
    fmt::print(file,
               "\n  --all-pods places pods with scheduling gates and of other schedulers too\n");
  }
}

void print_failures(std::FILE* file, const std::vector<FailureReport>& failures) {
  if (failures.empty()) return;
  Table table;
  table.row({"", "on most nodes", "on some node"});
  for (const FailureReport& failure : failures) {
    table.row({failure.reason, grouped(failure.pods_mainly), grouped(failure.pods_also)});
  }
  fmt::print(file, "\nfailed pods by the reason that nodes gave\n{}", table.text());
}

void print_victims(std::FILE* file, const PreemptionReport& preemption) {
  if (preemption.victims == 0 && preemption.cross_node_would_help == 0) return;
  Table table;
  table.row({"preemptors placed", grouped(preemption.preemptors)});
  table.row({"victims", grouped(preemption.victims)});
  table.row({"  placed again", grouped(preemption.victims_placed_again)});
  table.row({"  without a place", grouped(preemption.victims_not_placed)});
  table.row({"  beyond their budgets", grouped(preemption.budgets_broken)});
  const auto if_any = [&](const char* what, std::uint64_t count) {
    if (count > 0) table.row({what, grouped(count)});
  };
  if_any("victims on several nodes", preemption.cross_node);
  if_any("victims on several nodes would help", preemption.cross_node_would_help);
  if_any("victims too often at one moment", preemption.evictions_max_hit);
  if_any("preemptors left without their place", preemption.without_place);
  fmt::print(file, "\npreemption\n{}", table.text());
  if (preemption.intervals.size() < 2) return;
  Table intervals;
  intervals.row({"", "preemptors", "victims", "placed again"});
  for (const IntervalReport& interval : preemption.intervals) {
    intervals.row({second_text(interval.begin_us), grouped(interval.preemptors),
                   grouped(interval.victims), grouped(interval.victims_placed_again)});
  }
  fmt::print(file, "\nvictims over time, from\n{}", intervals.text());
}

std::uint64_t moved_pods(const ElasticQuotaReport& quota) {
  return quota.reclaimed_pods + quota.given_back_pods + quota.own_victims;
}

void print_elastic_quotas(std::FILE* file, const std::vector<ElasticQuotaReport>& quotas) {
  if (quotas.empty()) return;
  // Those where most happened.
  const std::vector<std::size_t> shown = highest(
      quotas.size(), kElasticQuotasShownMax, [&](std::size_t q) { return moved_pods(quotas[q]); });
  Table table;
  table.row(
      {"", "min", "max", "used", "borrowed", "lent", "reclaimed", "given back", "to its own"});
  const auto pods = [](std::uint64_t count) { return grouped(count) + " pods"; };
  for (const std::size_t q : shown) {
    const ElasticQuotaReport& quota = quotas[q];
    table.row({pod_key(quota.namespace_name, quota.name), "", "", "", "", "",
               pods(quota.reclaimed_pods), pods(quota.given_back_pods), pods(quota.own_victims)});
    for (const ElasticQuotaResourceReport& at : quota.resources) {
      const auto text = [&](std::int64_t amount) { return rounded_text(at.resource, amount); };
      table.row({"  " + resource_label(at.resource), text(at.min),
                 at.max == INT64_MAX ? "-" : text(at.max), text(at.peak_used),
                 text(at.peak_borrowed), text(at.peak_lent), text(at.reclaimed),
                 text(at.given_back)});
    }
  }
  fmt::print(file, "\nelastic quotas; used, borrowed and lent each at its peak\n{}", table.text());
  if (shown.size() < quotas.size()) {
    fmt::print(file, "  and {} more; --json has them all\n", grouped(quotas.size() - shown.size()));
  }
}

void print_allocation(std::FILE* file, const std::vector<ResourceReport>& resources) {
  if (resources.empty()) return;
  Table table;
  table.row({"", "allocatable", "requested", "", "limits", "", "fullest node by limits", ""});
  for (const ResourceReport& resource : resources) {
    table.row({resource_label(resource.name), rounded_text(resource.name, resource.allocatable),
               rounded_text(resource.name, resource.requested),
               share_text(resource.requested, resource.allocatable),
               rounded_text(resource.name, resource.limits),
               share_text(resource.limits, resource.allocatable), resource.hottest_node,
               share_text(resource.hottest_limits, resource.hottest_allocatable)});
  }
  fmt::print(file, "\nallocation, each at its peak\n{}", table.text());
}

void print_engine(std::FILE* file, const SimulationReport& report) {
  const EngineStats& stats = report.stats;
  Table table;
  table.row({"decisions", grouped(stats.decisions)});
  table.row({"answered from the cache", grouped(stats.cache_hits),
             share_text(static_cast<std::int64_t>(stats.cache_hits),
                        static_cast<std::int64_t>(stats.decisions))});
  table.row({"pod shapes", grouped(stats.shapes)});
  table.row({"node classes", grouped(stats.node_classes)});
  if (report.metric_reports > 0) table.row({"metrics reported", grouped(report.metric_reports)});
  fmt::print(file, "\nengine\n{}", table.text());
}

void print_speed(std::FILE* file, const SimulationReport& report) {
  const SpeedReport& speed = report.speed;
  Table times;
  times.row({"pods per second", grouped(pods_per_second(report)),
             fmt::format("(everything, {:.3f} s)", speed.seconds)});
  if (report.growth) {
    times.row({"of it the autoscaler", fmt::format("{:.3f} s", speed.autoscaler_seconds)});
  }
  times.row({"instruction set", active_kernels()->name});
  Table latencies;
  latencies.row({"us per decision", "p50", "p90", "p99", "max"});
  latencies.row({"", fmt::format("{:.2f}", speed.latency_us(500)),
                 fmt::format("{:.2f}", speed.latency_us(900)),
                 fmt::format("{:.2f}", speed.latency_us(990)),
                 fmt::format("{:.2f}", speed.latency_us(1000))});
  if (!speed.preemption_latencies_ns.empty()) {
    latencies.row({"us per preemption", fmt::format("{:.0f}", speed.preemption_latency_us(500)),
                   fmt::format("{:.0f}", speed.preemption_latency_us(900)),
                   fmt::format("{:.0f}", speed.preemption_latency_us(990)),
                   fmt::format("{:.0f}", speed.preemption_latency_us(1000))});
  }
  fmt::print(file, "\nspeed\n{}{}", times.text(), latencies.text());
}

ordered_json preemption_json(const PreemptionReport& preemption) {
  ordered_json json = {{"preemptors", preemption.preemptors},
                       {"victims", preemption.victims},
                       {"victims_placed_again", preemption.victims_placed_again},
                       {"victims_not_placed", preemption.victims_not_placed},
                       {"budgets_broken", preemption.budgets_broken},
                       {"cross_node", preemption.cross_node},
                       {"cross_node_would_help", preemption.cross_node_would_help},
                       {"evictions_max_hit", preemption.evictions_max_hit},
                       {"without_place", preemption.without_place}};
  json["intervals"] = ordered_json::array();
  for (const IntervalReport& interval : preemption.intervals) {
    json["intervals"].push_back({{"from", time_text(interval.begin_us)},
                                 {"to", time_text(interval.end_us)},
                                 {"preemptors", interval.preemptors},
                                 {"victims", interval.victims},
                                 {"victims_placed_again", interval.victims_placed_again}});
  }
  return json;
}

ordered_json elastic_quota_json(const ElasticQuotaReport& quota) {
  ordered_json json = {{"namespace", quota.namespace_name},
                       {"name", quota.name},
                       {"reclaimed_pods", quota.reclaimed_pods},
                       {"given_back_pods", quota.given_back_pods},
                       {"own_victims", quota.own_victims}};
  json["resources"] = ordered_json::array();
  for (const ElasticQuotaResourceReport& at : quota.resources) {
    ordered_json resource = {{"name", at.resource},
                             {"unit", unit_of(at.resource)},
                             {"min", at.min},
                             {"max", at.max},
                             {"used", at.used},
                             {"borrowed", at.borrowed},
                             {"lent", at.lent},
                             {"peak_used", at.peak_used},
                             {"peak_borrowed", at.peak_borrowed},
                             {"peak_lent", at.peak_lent},
                             {"reclaimed", at.reclaimed},
                             {"given_back", at.given_back}};
    if (at.max == INT64_MAX) resource["max"] = nullptr;
    json["resources"].push_back(std::move(resource));
  }
  return json;
}

ordered_json run_json(const ProfileRun& run) {
  const SimulationReport& report = run.report;
  ordered_json json = {{"profile", run.profile}};
  json["placed"] = report.placed;
  json["failed"] = report.failed;
  json["departed"] = report.departed;
  json["left_out"] = {{"deleting", report.left_out_deleting},
                      {"scheduling_gates", report.left_out_gated},
                      {"other_schedulers", report.left_out_of_other_schedulers}};
  json["not_considered"] = ordered_json::array();
  for (const NotConsideredReport& at : report.not_considered) {
    json["not_considered"].push_back(
        {{"what", to_string(at.what)}, {"pods", at.pods}, {"pods_there", at.pods_there}});
  }
  json["failures"] = ordered_json::array();
  for (const FailureReport& failure : report.failures) {
    json["failures"].push_back({{"reason", failure.reason},
                                {"pods_mainly", failure.pods_mainly},
                                {"pods_also", failure.pods_also}});
  }
  json["resources"] = ordered_json::array();
  for (const ResourceReport& resource : report.resources) {
    json["resources"].push_back({{"name", resource.name},
                                 {"unit", unit_of(resource.name)},
                                 {"allocatable", resource.allocatable},
                                 {"peak_requested", resource.requested},
                                 {"peak_limits", resource.limits},
                                 {"hottest_node", resource.hottest_node},
                                 {"hottest_limits", resource.hottest_limits},
                                 {"hottest_allocatable", resource.hottest_allocatable}});
  }
  if (report.preemption.victims > 0 || !report.quotas.empty()) {
    json["preemption"] = preemption_json(report.preemption);
  }
  if (!report.quotas.empty()) {
    json["quotas"] = ordered_json::array();
    for (const ElasticQuotaReport& quota : report.quotas)
      json["quotas"].push_back(elastic_quota_json(quota));
  }
  if (report.growth) json["autoscaler"] = growth_json(*report.growth);
  if (!report.violations.empty()) json["violations"] = report.violations;
  json["engine"] = {{"decisions", report.stats.decisions},
                    {"cache_hits", report.stats.cache_hits},
                    {"cold_passes", report.stats.cold_passes},
                    {"shapes", report.stats.shapes},
                    {"node_classes", report.stats.node_classes},
                    {"bad_annotations", report.stats.bad_annotations},
                    {"metric_reports", report.metric_reports}};
  const SpeedReport& speed = report.speed;
  json["speed"] = {{"seconds", speed.seconds},
                   {"pods_per_second", pods_per_second(report)},
                   {"latency_us_p50", speed.latency_us(500)},
                   {"latency_us_p90", speed.latency_us(900)},
                   {"latency_us_p99", speed.latency_us(990)},
                   {"latency_us_max", speed.latency_us(1000)},
                   {"instruction_set", active_kernels()->name}};
  if (report.growth) json["speed"]["autoscaler_seconds"] = speed.autoscaler_seconds;
  if (!speed.preemption_latencies_ns.empty()) {
    json["speed"]["preemption_us_p50"] = speed.preemption_latency_us(500);
    json["speed"]["preemption_us_p90"] = speed.preemption_latency_us(900);
    json["speed"]["preemption_us_p99"] = speed.preemption_latency_us(990);
    json["speed"]["preemption_us_max"] = speed.preemption_latency_us(1000);
  }
  if (report.series) {
    json["series"] = series_json(report);
    json["speed"]["decisions_per_second"] = decisions_per_second_json(*report.series);
  }
  return json;
}

// --- Profiles side by side. ---------------------------------------------------------------------

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

// What in it nobody measured.
void print_notes(std::FILE* file, const SimulationInput& input) {
  for (const std::string& note : input.notes) fmt::print(file, "{}", wrapped(note));
}

}  // namespace

void print_report(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                  const SimulationReport& report) {
  fmt::print(file, "{}: {} nodes, {} pods, seed {}\n", input.title, grouped(input.nodes.size()),
             grouped(input.arrivals.size()), seed);
  print_pods(file, input, report);
  print_not_considered(file, report);
  print_failures(file, report.failures);
  if (report.growth) print_growth(file, *report.growth);
  print_victims(file, report.preemption);
  print_elastic_quotas(file, report.quotas);
  print_allocation(file, report.resources);
  print_engine(file, report);
  if (!report.violations.empty()) {
    fmt::print(file, "\nrules of quotas and preemption that were broken\n  {}\n",
               fmt::join(report.violations, "\n  "));
  }
  print_speed(file, report);
  if (!input.notes.empty()) fmt::print(file, "\n");
  print_notes(file, input);
}

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
                 [](const SimulationReport& report) { return grouped(pods_per_second(report)); });
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

std::string json_report(const SimulationInput& input, std::uint64_t seed,
                        std::span<const ProfileRun> runs) {
  ordered_json json;
  json["input"] = input.title;
  if (!input.notes.empty()) json["notes"] = input.notes;
  if (!input.warnings.empty()) json["warnings"] = warnings_json(input.warnings);
  json["seed"] = seed;
  json["nodes"] = input.nodes.size();
  json["pods"] = input.arrivals.size();
  json["pods_present"] = pods_there(input);
  if (runs.size() == 1) {
    json.update(run_json(runs.front()));
  } else {
    json["runs"] = ordered_json::array();
    for (const ProfileRun& run : runs) json["runs"].push_back(run_json(run));
  }
  return json_text(json);
}

}  // namespace headroom
