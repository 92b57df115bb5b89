// Profile: which plugins decide, in what order, with which arguments and weights, and in which
// mode.
//
// A plain value; profile_reader.h makes one from a KubeSchedulerConfiguration, or a program fills
// it itself. Engine::create() checks it: every limit and range below is refused there with an error
// that names the field and the value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "engine/profile/args/balanced_allocation_args.h"
#include "engine/profile/args/capacity_scheduling_args.h"
#include "engine/profile/args/inter_pod_affinity_args.h"
#include "engine/profile/args/limit_aware_args.h"
#include "engine/profile/args/load_aware_args.h"
#include "engine/profile/args/node_affinity_args.h"
#include "engine/profile/args/node_resources_fit_args.h"
#include "engine/profile/args/pod_topology_spread_args.h"
#include "engine/profile/args/resource_limit_aware_args.h"
#include "engine/profile/args/volume_binding_args.h"
#include "engine/profile/plugins.h"
#include "objects/error.h"
#include "objects/kubernetes_version.h"
#include "objects/not_considered.h"

namespace headroom {

enum class Mode : std::uint8_t { kProposal, kUpstream };

inline constexpr std::int64_t kPluginWeightMax = 10'000;

struct ScorePlugin {
  PluginId plugin;
  std::int64_t weight = 1;  // [1, kPluginWeightMax]
  friend bool operator==(const ScorePlugin&, const ScorePlugin&) = default;
};

void fields(auto& state, const ScorePlugin& score) {
  const auto& [plugin, weight] = score;
  state(plugin, weight);
}

// In the standard profile kube-scheduler's scores weigh so many times what they do in its own.
inline constexpr std::int64_t kStandardWeightTimes = 5;

struct Profile {
  std::string scheduler_name = "default-scheduler";
  Mode mode = Mode::kProposal;
  // In kube-scheduler's order. The four that read node classes (NodeUnschedulable, NodeName,
  // TaintToleration, NodeAffinity) and then NodePorts run before the others, whatever their place
  // here.
  std::vector<PluginId> filters;
  std::vector<ScorePlugin> scores;
  // CapacityScheduling: elastic quotas before the filters, preemption after them.
  bool capacity_scheduling = false;

  // Pods with scheduling gates wait (SchedulingGates).
  bool scheduling_gates = false;
  KubernetesVersion kubernetes_version = KubernetesVersion::k137;

  NodeResourcesFitArgs fit;
  BalancedAllocationArgs balanced;
  NodeAffinityArgs node_affinity;
  PodTopologySpreadArgs topology_spread;
  InterPodAffinityArgs inter_pod_affinity;
  VolumeBindingArgs volume_binding;
  LimitAwareArgs limit_aware;
  ResourceLimitAwareArgs resource_limit_aware;
  LoadAwareArgs load_aware;
  CapacitySchedulingArgs capacity_scheduling_args;

  bool filters_by(PluginId plugin) const;
  bool scores_by(PluginId plugin) const;
  // Filters or scores by one of them.
  bool uses(std::initializer_list<PluginId> plugins) const;
  // What its plugins decide of that which pods may ask for and a profile may leave out.
  NotConsideredSet considered() const;

  // What Headroom decides with when nothing is configured: kube_scheduler(version) with each weight
  // kStandardWeightTimes as high, and LimitAware and LoadAwareScheduling beside it, which filter
  // last and score with weight 1; in mode Proposal. docs/applications.md has what that was measured
  // by.
  static Profile standard(KubernetesVersion version = KubernetesVersion::k137);
  // kube-scheduler's own default profile, in mode Upstream. CapacityScheduling stands in for
  // DefaultPreemption, as which it preempts where there are no elastic quotas; DynamicResources is
  // not there.
  static Profile kube_scheduler(KubernetesVersion version = KubernetesVersion::k137);
  friend bool operator==(const Profile&, const Profile&) = default;
};

// Its members, in the order of their bytes in the hash of state files.
void fields(auto& state, const Profile& profile) {
  const auto& [scheduler_name, mode, filters, scores, capacity_scheduling, scheduling_gates,
               version, fit, balanced, node_affinity, topology_spread, inter_pod_affinity,
               volume_binding, limit_aware, resource_limit_aware, load_aware,
               capacity_scheduling_args] = profile;
  state(scheduler_name, mode, filters, scores, capacity_scheduling, scheduling_gates, version, fit,
        balanced, node_affinity, topology_spread, inter_pod_affinity, volume_binding, limit_aware,
        resource_limit_aware, load_aware, capacity_scheduling_args);
}

// visit(plugin, args) for each plugin with arguments, in the order in which they are checked.
void each_args(auto& profile, auto visit) {
  visit(PluginId::kNodeResourcesFit, profile.fit);
  visit(PluginId::kNodeResourcesBalancedAllocation, profile.balanced);
  visit(PluginId::kLimitAware, profile.limit_aware);
  visit(PluginId::kResourceLimitAware, profile.resource_limit_aware);
  visit(PluginId::kVolumeBinding, profile.volume_binding);
  visit(PluginId::kNodeAffinity, profile.node_affinity);
  visit(PluginId::kPodTopologySpread, profile.topology_spread);
  visit(PluginId::kInterPodAffinity, profile.inter_pod_affinity);
  visit(PluginId::kLoadAwareScheduling, profile.load_aware);
  visit(PluginId::kCapacityScheduling, profile.capacity_scheduling_args);
}

// Its limits and ranges, whoever filled it. kInvalid, kLimitExceeded or kUnsupported for the first
// mistake; the message names the field and the value.
Result<void> check_profile(const Profile& profile);

// Whether kube-scheduler of that version enables the plugin by default.
bool is_default_plugin(const Plugin& plugin, KubernetesVersion version);

}  // namespace headroom
