#include "simulation/report/simulation_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/kernels.h"
#include "objects/text/time_text.h"
#include "simulation/report/autoscaler_report.h"
#include "simulation/report/series_json.h"
#include "simulation/text/resource_text.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

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
    json["elastic_quotas"] = ordered_json::array();
    for (const ElasticQuotaReport& quota : report.quotas)
      json["elastic_quotas"].push_back(elastic_quota_json(quota));
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
                   {"pods_per_second", report.pods_per_second()},
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

}  // namespace

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
