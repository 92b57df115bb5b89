// A simulation: pods arrive at a cluster one by one, each is placed on the best node, and leaves
// when its time ends.
//
// Rules: a pod that leaves at the moment another arrives leaves first. Pods that arrive together
// are placed by priority, as kube-scheduler's queue sorts them under every profile, then in their
// order. Pods with scheduling gates, and pods that name another scheduler than the profile's, are
// left out and counted, unless the options say so; one that names none is the profile's. Who is
// nominated to a node when it begins keeps room there until its turn, tries that node first, and
// keeps it no longer where that does not take it. A pod that fits no node is counted as failed and
// not tried again. Same input and options, same decisions and same report, except for what `speed`
// measures.
//
// With an autoscaler (cluster_autoscaler.h) such a pod waits, and so does a victim. Nodes are asked
// for at the end of each moment, and come before the pods of theirs. Whenever pods have left or
// nodes have come, those that wait are tried again with the pods that arrive then, before those of
// equal priority; whenever a pod was placed, so are those that may have waited for it (required
// affinity, hard spread), at that moment. One that waited leaves as much later. It goes on until no
// node is under way and nobody waits for a pod that will leave; who waits then has failed.
//
// If the input has elastic quotas or priority classes, or the options say so, and the profile has
// CapacityScheduling, a pod that finds no place asks who must go (Engine::post_filter). Victims
// leave at once, and the pod takes the nominated node. Victims come back at that moment as new pods
// of the same name, which wait for their turn like those that arrive; one that finds no place then
// is not tried again. When they would have left does not change.
//
// It ends: a pod that had to go kEvictionsPerPodMax times at one moment does not come back. In mode
// Upstream that happens: two quotas that are above their mins in one resource and within them in
// what two pods ask for let these take each other's place without end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"
#include "simulation/autoscaler/cluster_autoscaler.h"
#include "simulation/evictions.h"
#include "simulation/failures.h"
#include "simulation/figures/cluster_usage.h"
#include "simulation/figures/elastic_quota_ledger.h"
#include "simulation/figures/growth_report.h"
#include "simulation/figures/series.h"
#include "simulation/figures/speed_report.h"
#include "simulation/input/simulation_input.h"
#include "simulation/not_considered_pods.h"

namespace headroom {

// Rules found broken that a report names.
inline constexpr std::size_t kViolationsMax = 100;
inline constexpr std::int64_t kMetricsEverySecondsMax = 86'400;  // a day

struct SimulationOptions {
  Profile profile = Profile::standard();
  EngineOptions engine;
  std::uint64_t seed = 1;  // of the usage that simulated metrics report
  bool departures = true;
  // Nodes report the usage of their pods this often, 1 to kMetricsEverySecondsMax; nullopt: they
  // report nothing.
  std::optional<std::int64_t> metrics_every_seconds;
  // nullopt: if the input has elastic quotas or priority classes and the profile
  // CapacityScheduling, without which true is an error. False: nobody has to go.
  std::optional<bool> preemption;
  std::optional<AutoscalerOptions> autoscaler;  // nullopt: no node is ever added
  bool all_pods = false;  // place those with scheduling gates or of other schedulers as well
  // Check the engine's sums at the end, and the rules of quotas and of the autoscaler at every
  // moment.
  bool validate = false;
  bool series = false;  // fill SimulationReport::series; no decision changes
  std::function<void(const std::string&)> on_decision;  // a JSON line each; may be empty
  std::function<void(std::uint64_t)> on_progress;       // arrivals done; may be empty
};

struct SimulationReport {
  // Pods that arrived, by what became of them then: placed and failed. Victims that are placed
  // again are not counted a second time.
  std::uint64_t placed = 0, failed = 0, departed = 0, metric_reports = 0;
  // Pods that arrived and no place was looked for; one that is several counts as the first.
  std::uint64_t left_out_deleting = 0, left_out_gated = 0, left_out_of_other_schedulers = 0;
  std::vector<NotConsideredReport> not_considered;  // in the order of the enum
  std::vector<FailureReport> failures;              // most pods first
  PreemptionReport preemption;
  std::vector<ElasticQuotaReport> quotas;
  std::optional<GrowthReport> growth;      // with an autoscaler
  std::optional<SimulationSeries> series;  // with SimulationOptions::series
  // With SimulationOptions::validate: rules that were broken, the first kViolationsMax.
  std::vector<std::string> violations;
  std::vector<ResourceReport> resources;  // that some pod asked for
  EngineStats stats;
  SpeedReport speed;

  bool has_resource(std::string_view name) const;
  std::int64_t pods_per_second() const;  // all that was placed and failed, by all the time
};

// Errors: what the engine refuses, with the object's name; kUnsupported: preemption under a profile
// without CapacityScheduling.
Result<SimulationReport> simulate(const SimulationInput& input, const SimulationOptions& options);

}  // namespace headroom
