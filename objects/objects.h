// The Kubernetes objects that Headroom reads, reduced to the fields that can change an answer.
//
// Field names are Kubernetes' own, in snake_case. Plain values, no invariants beyond those stated;
// the reader (object_reader.h) produces them from JSON and YAML, an embedding program may fill them
// itself. Times are microseconds since the Unix epoch (`_us`); an absent time is nullopt.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "objects/not_considered.h"
#include "objects/quantity.h"

namespace headroom {

// Resource name to quantity, sorted by name, each name once.
using ResourceList = std::vector<std::pair<std::string, Quantity>>;
// Sorted by key, each key once.
using StringMap = std::vector<std::pair<std::string, std::string>>;

const Quantity* find(const ResourceList& list, std::string_view name);
const std::string* find(const StringMap& map, std::string_view key);

struct Taint {
  std::string key, value, effect;  // effect: NoSchedule, PreferNoSchedule, NoExecute
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key, op, value, effect;  // op: "" (Equal), Equal, Exists
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

// One requirement of a node selector term. op: In, NotIn, Exists, DoesNotExist, Gt, Lt.
struct NodeSelectorRequirement {
  std::string key, op;
  std::vector<std::string> values;
  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};

// All requirements of a term must hold; a term with none matches nothing.
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;  // key: metadata.name only
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

struct Node {
  std::string name;
  StringMap labels;
  StringMap annotations;
  bool unschedulable = false;  // spec.unschedulable
  std::vector<Taint> taints;   // spec.taints
  ResourceList capacity;       // status.capacity
  ResourceList allocatable;    // status.allocatable
  bool deleting = false;       // metadata.deletionTimestamp is set
  friend bool operator==(const Node&, const Node&) = default;
};

enum class PortProtocol : std::uint8_t { kTcp, kUdp, kSctp };
const char* to_string(PortProtocol protocol);  // "TCP", ...
// nullopt for another text; "" is TCP.
std::optional<PortProtocol> parse_port_protocol(std::string_view text);
inline constexpr std::int64_t kHostPortMax = 65'535;

// An entry of ports[] that takes a port of the node.
struct ContainerPort {
  std::uint16_t host_port = 0;  // hostPort, in [1, kHostPortMax]; 0 takes none
  PortProtocol protocol = PortProtocol::kTcp;
  std::string host_ip;  // hostIP; "" and "0.0.0.0": all of the node's addresses
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};

struct Container {
  std::string name;
  ResourceList requests, limits;
  bool restart_always = false;       // init containers only: a sidecar
  std::vector<ContainerPort> ports;  // those with a hostPort
  // status.containerStatuses[].resources.requests and .allocatedResources of the same name.
  std::optional<ResourceList> actuated_requests;
  ResourceList allocated_requests;
  friend bool operator==(const Container&, const Container&) = default;
};

struct PodCondition {
  bool is_true = false;                            // status == "True"
  std::optional<std::int64_t> last_transition_us;  // lastTransitionTime
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

struct Pod {
  std::string namespace_name;  // metadata.namespace
  std::string name;
  std::string uid;
  StringMap labels;
  StringMap annotations;
  bool daemon_set = false;  // any ownerReference of kind DaemonSet
  std::optional<std::int64_t> creation_us;
  bool deleting = false;  // metadata.deletionTimestamp is set

  std::string node_name;
  std::vector<Container> containers, init_containers;
  // spec.resources (pod-level).
  ResourceList pod_requests, pod_limits;
  ResourceList overhead;
  std::optional<std::int32_t> priority;
  std::string priority_class_name;
  std::string preemption_policy;  // "", Never, PreemptLowerPriority
  StringMap node_selector;
  // spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: nullopt when absent.
  std::optional<std::vector<NodeSelectorTerm>> required_node_affinity;
  std::vector<Toleration> tolerations;
  std::optional<std::int64_t> active_deadline_seconds;

  std::string phase;                                   // status.phase
  std::string qos_class;                               // status.qosClass
  std::optional<PodCondition> scheduled, initialized;  // PodScheduled, Initialized
  bool resize_infeasible = false;        // condition PodResizePending with reason Infeasible
  std::string nominated_node_name;       // status.nominatedNodeName
  std::optional<std::int64_t> start_us;  // status.startTime
  std::string scheduler_name;            // spec.schedulerName; "": default-scheduler
  NotConsideredSet not_considered;       // what it asks for beyond these fields

  bool terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  friend bool operator==(const Pod&, const Pod&) = default;
};

struct PodName {
  std::string_view namespace_name, name;
};

// "namespace/name", by which pods, quotas and budgets are known.
std::string pod_key(std::string_view namespace_name, std::string_view name);
// The same into memory that is used again.
void write_pod_key(std::string_view namespace_name, std::string_view name, std::string& key);

// One entry of status.nodeMetric.aggregatedNodeUsages.
struct AggregatedUsage {
  std::int64_t duration_us = 0;
  std::vector<std::pair<std::string, ResourceList>> usage;  // type (avg, p50, ...) to usage, sorted
  friend bool operator==(const AggregatedUsage&, const AggregatedUsage&) = default;
};

struct PodMetricInfo {
  std::string namespace_name, name;
  ResourceList usage;
  std::string priority;  // "koord-prod", ...
  friend bool operator==(const PodMetricInfo&, const PodMetricInfo&) = default;
};

struct NodeMetric {
  std::string name;  // the node's
  std::optional<std::int64_t> report_interval_seconds;
  std::optional<std::int64_t> update_time_us;
  bool has_node_metric = false;  // status.nodeMetric is present
  ResourceList node_usage;
  ResourceList system_usage;
  std::vector<AggregatedUsage> aggregated;
  std::vector<PodMetricInfo> pods;
  friend bool operator==(const NodeMetric&, const NodeMetric&) = default;
};

// scheduling.x-k8s.io/v1alpha1. nullopt: the list is absent as a whole.
struct ElasticQuota {
  std::string namespace_name, name;
  std::optional<ResourceList> min, max;
  friend bool operator==(const ElasticQuota&, const ElasticQuota&) = default;
};

// metav1.LabelSelector: all requirements must hold; op: In, NotIn, Exists, DoesNotExist.
// matchLabels are requirements too.
using LabelSelector = std::vector<NodeSelectorRequirement>;
// NotIn and DoesNotExist hold for labels without the key. True without requirements.
bool matches(const LabelSelector& selector, const StringMap& labels);

// policy/v1.
struct PodDisruptionBudget {
  std::string namespace_name, name;
  LabelSelector selector;                   // of no requirement: selects no pod
  std::int64_t disruptions_allowed = 0;     // status.disruptionsAllowed
  std::vector<std::string> disrupted_pods;  // names in status.disruptedPods, sorted
  friend bool operator==(const PodDisruptionBudget&, const PodDisruptionBudget&) = default;
};

// scheduling.k8s.io/v1.
struct PriorityClass {
  std::string name;
  std::int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;  // as in Pod
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

// autoscaling.x-k8s.io/v1beta1 and v1alpha1; cluster-scoped. As written: that a spec cannot be used
// is a state of its quota, not an error of the object (autoscaling/capacity_quota_spec.h says which
// can).
struct CapacityQuota {
  std::string name;
  std::int64_t generation = 0;
  LabelSelector selector;  // any text as operator; of no requirement: selects all nodes
  StringMap limits;        // spec.limits.resources: quantities as text
  friend bool operator==(const CapacityQuota&, const CapacityQuota&) = default;
};

using Object = std::variant<Node, Pod, NodeMetric, ElasticQuota, PodDisruptionBudget, PriorityClass,
                            CapacityQuota>;

}  // namespace headroom
