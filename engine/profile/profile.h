// Profile: which plugins decide, in what order, with which arguments and weights, and in which
// mode.
//
// A plain value; profile_reader.h makes one from a KubeSchedulerConfiguration, or a program fills
// it itself. Engine::create() checks it: every limit and range below is refused there with an error
// that names the field and the value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/profile/plugins.h"
#include "objects/kubernetes_version.h"
#include "objects/not_considered.h"
#include "objects/objects.h"
#include "objects/pod_resources.h"
#include "objects/quantity.h"

namespace headroom {

enum class Mode : std::uint8_t { kProposal, kUpstream };

inline constexpr std::int64_t kPluginWeightMax = 10'000;
inline constexpr std::int64_t kResourceWeightMax = 100;
inline constexpr std::int64_t kPercentMax = 100;
inline constexpr std::int64_t kShapeScoreMax = 10;

// A resource and its weight in [1, kResourceWeightMax].
struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
  friend bool operator==(const ResourceWeight&, const ResourceWeight&) = default;
};

using ResourcePercents = std::map<std::string, std::int64_t>;

struct NodeResourcesFitArgs {
  enum class Strategy : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };
  struct ShapePoint {
    std::int64_t utilization = 0;  // [0, kPercentMax], strictly increasing
    std::int64_t score = 0;        // [0, kShapeScoreMax]
    friend bool operator==(const ShapePoint&, const ShapePoint&) = default;
  };
  Strategy strategy = Strategy::kLeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;
  std::vector<std::string> ignored_resources;        // extended resources, by name
  std::vector<std::string> ignored_resource_groups;  // by prefix before "/"
  friend bool operator==(const NodeResourcesFitArgs&, const NodeResourcesFitArgs&) = default;
};

// Up to Kubernetes 1.35: the balance with the pod. From 1.36: the change of balance around 75.
struct BalancedAllocationArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  friend bool operator==(const BalancedAllocationArgs&, const BalancedAllocationArgs&) = default;
};

struct LimitAwareArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  // Percent of allocatable by resource; nullopt where none is configured.
  std::optional<ResourcePercents> default_limit_to_allocatable_ratio;
  // Mode Upstream only: resources whose configured ratio is no percentage, and its text. As there,
  // a node that would use one (the resource is cpu, memory or ephemeral-storage, or the node has
  // it) answers Error; a node with an annotation of its own does not use it.
  std::map<std::string, std::string> bad_default_ratios;
  friend bool operator==(const LimitAwareArgs&, const LimitAwareArgs&) = default;
};

struct ResourceLimitAwareArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  // The limit of a container that states neither limit nor request; nullopt: the node's
  // allocatable.
  std::map<std::string, std::optional<Quantity>> default_limit = {
      {"cpu", Quantity::from_milli(kDefaultMilliCpu)},
      {"memory", Quantity::from_value(kDefaultMemoryBytes)}};
  friend bool operator==(const ResourceLimitAwareArgs&, const ResourceLimitAwareArgs&) = default;
};

struct LoadAwareArgs {
  struct Aggregated {
    ResourcePercents usage_thresholds;
    std::string usage_aggregation_type;  // avg, p50, p90, p95, p99; empty: off
    std::int64_t usage_aggregated_duration_us = 0;
    std::string score_aggregation_type;
    std::int64_t score_aggregated_duration_us = 0;
    friend bool operator==(const Aggregated&, const Aggregated&) = default;
  };
  bool filter_expired_node_metrics = true;
  bool enable_schedule_when_node_metrics_expired = false;
  std::int64_t node_metric_expiration_seconds = 180;
  std::map<std::string, std::int64_t> resource_weights = {{"cpu", 1}, {"memory", 1}};
  std::int64_t dominant_resource_weight = 0;
  ResourcePercents usage_thresholds = {{"cpu", 65}, {"memory", 95}};
  ResourcePercents prod_usage_thresholds;
  bool score_according_prod_usage = false;
  bool prod_usage_include_sys = false;
  ResourcePercents estimated_scaling_factors = {{"cpu", 85}, {"memory", 70}};
  std::optional<std::int64_t> estimated_seconds_after_pod_scheduled;
  std::optional<std::int64_t> estimated_seconds_after_initialized;
  bool allow_customize_estimation = false;
  std::optional<Aggregated> aggregated;
  std::vector<std::string> supported_resources;
  friend bool operator==(const LoadAwareArgs&, const LoadAwareArgs&) = default;
};

struct CapacitySchedulingArgs {
  // Mode Proposal only: where no single node's victims help, victims on other nodes too.
  bool cross_node_preemption = false;
  friend bool operator==(const CapacitySchedulingArgs&, const CapacitySchedulingArgs&) = default;
};

struct NodeAffinityArgs {
  // addedAffinity: what every pod of the profile asks for besides.
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<PreferredSchedulingTerm> preferred;  // weights in [0, kTermWeightMax]
  friend bool operator==(const NodeAffinityArgs&, const NodeAffinityArgs&) = default;
};

struct PodTopologySpreadArgs {
  // defaultingType System (default_constraints is empty then) or List.
  bool system_defaults = true;
  std::vector<TopologySpreadConstraint> default_constraints;  // without selectors
  friend bool operator==(const PodTopologySpreadArgs&, const PodTopologySpreadArgs&) = default;
};
// Of two constraints of a list the second one says nothing new.
bool is_repeated(const TopologySpreadConstraint& one, const TopologySpreadConstraint& other);

struct InterPodAffinityArgs {
  std::int64_t hard_pod_affinity_weight = 1;  // [0, kTermWeightMax]
  bool ignore_preferred_terms_of_existing_pods = false;
  friend bool operator==(const InterPodAffinityArgs&, const InterPodAffinityArgs&) = default;
};

struct VolumeBindingArgs {
  // Kubernetes 1.37 and later: the score by utilization; as for NodeResourcesFit.
  std::vector<NodeResourcesFitArgs::ShapePoint> shape = {{0, 10}, {100, 0}};
  friend bool operator==(const VolumeBindingArgs&, const VolumeBindingArgs&) = default;
};

struct ScorePlugin {
  PluginId plugin;
  std::int64_t weight = 1;  // [1, kPluginWeightMax]
  friend bool operator==(const ScorePlugin&, const ScorePlugin&) = default;
};

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

// Whether kube-scheduler of that version enables the plugin by default.
bool is_default_plugin(const Plugin& plugin, KubernetesVersion version);

}  // namespace headroom
