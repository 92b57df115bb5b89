#include "simulation/report/simulation_report.h"

#include <fmt/format.h>

#include "kernels/kernels.h"
#include "objects/text/time_text.h"
#include "simulation/figures/ranks.h"
#include "simulation/report/autoscaler_report.h"
#include "simulation/text/not_considered_text.h"
#include "simulation/text/resource_text.h"
#include "simulation/text/table.h"

namespace headroom {
namespace {

constexpr std::size_t kElasticQuotasShownMax = 20;

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
  times.row({"pods per second", grouped(report.pods_per_second()),
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

}  // namespace

void print_notes(std::FILE* file, const SimulationInput& input) {
  for (const std::string& note : input.notes) fmt::print(file, "{}", wrapped(note));
}

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

}  // namespace headroom
