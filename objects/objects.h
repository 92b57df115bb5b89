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
// Keeps the map sorted; another value of a key that is there.
void set_entry(StringMap& map, std::string_view key, std::string_view value);

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

// Kubernetes': of a preferred term, from 1; a required one has none.
inline constexpr std::int32_t kTermWeightMax = 100;

// An entry of preferredDuringSchedulingIgnoredDuringExecution of a node affinity.
struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};

// metav1.LabelSelector: all requirements must hold; op: In, NotIn, Exists, DoesNotExist.
// matchLabels are requirements too.
using LabelSelector = std::vector<NodeSelectorRequirement>;
// NotIn and DoesNotExist hold for labels without the key. True without requirements.
bool matches(const LabelSelector& selector, const StringMap& labels);
// Of one requirement, for the value of its key; nullptr: there is no such label.
bool holds(const NodeSelectorRequirement& asked, const std::string* value);

// An entry of status.images.
struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};

struct Node {
  std::string name;
  StringMap labels;
  StringMap annotations;
  bool unschedulable = false;                  // spec.unschedulable
  std::vector<Taint> taints;                   // spec.taints
  ResourceList capacity;                       // status.capacity
  ResourceList allocatable;                    // status.allocatable
  bool deleting = false;                       // metadata.deletionTimestamp is set
  std::vector<ContainerImage> images;          // status.images
  std::vector<std::string> declared_features;  // status.declaredFeatures, sorted
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
  std::string image;  // image; "": none stated
  friend bool operator==(const Container&, const Container&) = default;
};

// An entry of spec.topologySpreadConstraints.
struct TopologySpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool hard = false;                      // whenUnsatisfiable: DoNotSchedule
  std::optional<LabelSelector> selector;  // labelSelector; absent: selects nothing
  std::vector<std::string> match_label_keys;
  std::int32_t min_domains = 1;
  bool honors_affinity = true;  // nodeAffinityPolicy: Honor
  bool honors_taints = false;   // nodeTaintsPolicy: Honor
  friend bool operator==(const TopologySpreadConstraint&,
                         const TopologySpreadConstraint&) = default;
};

// A term of podAffinity or podAntiAffinity. matchLabelKeys and mismatchLabelKeys are not read: the
// API server merges them into the selector, and the scheduler ignores the fields.
struct PodAffinityTerm {
  std::optional<LabelSelector> selector;  // labelSelector; absent: selects nothing
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  // {}: every namespace
  std::string topology_key;
  std::int32_t weight = 0;  // of a preferred one
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

// spec.affinity.podAffinity, or podAntiAffinity.
struct PodAffinity {
  std::vector<PodAffinityTerm> required, preferred;
  bool empty() const { return required.empty() && preferred.empty(); }
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

// A disk that is named in a volume itself, in-tree.
struct Disk {
  std::string kind;  // the field's name: gcePersistentDisk, awsElasticBlockStore, iscsi, rbd, ...
  std::string id;    // pdName, volumeID, iqn, diskName, ...; of an RBD image pool/image
  std::vector<std::string> monitors;  // of an RBD image
  bool read_only = false;
  friend bool operator==(const Disk&, const Disk&) = default;
};

// An entry of spec.volumes that has to do with where the pod can run; others are not kept.
struct Volume {
  std::string name;
  std::optional<std::string> claim;  // persistentVolumeClaim.claimName
  bool ephemeral = false;            // its claim is POD-NAME
  std::string image;                 // image.reference; "": it is no image volume
  std::optional<Disk> disk;
  friend bool operator==(const Volume&, const Volume&) = default;
};

// The entry of metadata.ownerReferences with controller: true.
struct OwnerReference {
  std::string api_version, kind, name, uid;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct PodCondition {
  bool is_true = false;                            // status == "True"
  std::optional<std::int64_t> last_transition_us;  // lastTransitionTime
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

struct Pod {
  std::string namespace_name;  // metadata.namespace
  std::string name;
  std::string uid;  // as JSON or YAML a pod without one has its pod_key()
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
  // The other list of it, and spec.affinity.podAffinity and podAntiAffinity.
  std::vector<PreferredSchedulingTerm> preferred_node_affinity;
  PodAffinity pod_affinity, pod_anti_affinity;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpreadConstraint> topology_spread;
  std::vector<Volume> volumes;
  std::vector<std::string> scheduling_gates;   // names
  std::vector<std::string> required_features;  // that a node must declare, sorted
  std::optional<OwnerReference> controller;
  std::optional<std::int64_t> active_deadline_seconds;

  std::string phase;                                   // status.phase
  std::string qos_class;                               // status.qosClass
  std::optional<PodCondition> scheduled, initialized;  // PodScheduled, Initialized
  bool resize_infeasible = false;  // condition PodResizePending with reason Infeasible
  // status.resources.requests, where the node reports resources of the whole pod, and
  // status.allocatedResources.
  std::optional<ResourceList> actuated_requests;
  ResourceList allocated_requests;
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
std::string pod_key(const Pod& pod);
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

// v1.
struct Namespace {
  std::string name;
  StringMap labels;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

// v1.
struct Service {
  std::string namespace_name, name;
  std::optional<StringMap> selector;
  friend bool operator==(const Service&, const Service&) = default;
};

// What makes pods of a template: v1 ReplicationController, apps/v1 ReplicaSet and StatefulSet.
struct WorkloadController {
  enum class Kind : std::uint8_t { kReplicationController, kReplicaSet, kStatefulSet };
  Kind kind = Kind::kReplicaSet;
  std::string namespace_name, name;
  // nullopt: none. That of a ReplicationController is a map: In requirements of one value.
  std::optional<LabelSelector> selector;
  friend bool operator==(const WorkloadController&, const WorkloadController&) = default;
};

// v1.
struct PersistentVolume {
  std::string name;
  StringMap labels;
  std::string storage_class;
  std::int64_t capacity_bytes = 0;  // spec.capacity.storage
  std::vector<std::string> access_modes;
  std::string volume_mode, attributes_class;
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;  // spec.nodeAffinity.required
  std::string claim_namespace, claim_name, claim_uid;          // spec.claimRef; no name: none
  bool available = false;                                      // status.phase is Available
  bool deleting = false;
  std::string csi_driver, csi_handle;
  std::optional<Disk> disk;  // an in-tree one
  friend bool operator==(const PersistentVolume&, const PersistentVolume&) = default;
};

// v1.
struct PersistentVolumeClaim {
  std::string namespace_name, name, uid;
  std::optional<OwnerReference> controller;
  std::string storage_class, volume_name, volume_mode, attributes_class;
  std::vector<std::string> access_modes;
  std::optional<std::int64_t> request_bytes;  // spec.resources.requests.storage
  std::optional<LabelSelector> selector;
  bool lost = false;  // status.phase is Lost
  bool deleting = false;
  bool bind_completed = false;               // pv.kubernetes.io/bind-completed
  std::optional<std::string> selected_node;  // volume.kubernetes.io/selected-node
  friend bool operator==(const PersistentVolumeClaim&, const PersistentVolumeClaim&) = default;
};

// storage.k8s.io/v1.
struct StorageClass {
  std::string name, provisioner;
  bool waits_for_first_consumer = false;  // volumeBindingMode
  // ORed terms; In requirements, all of which must hold.
  std::vector<LabelSelector> allowed_topologies;
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

// storage.k8s.io/v1; of the node of that name.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> count;  // allocatable.count
    friend bool operator==(const Driver&, const Driver&) = default;
  };
  std::string name;
  std::vector<Driver> drivers;
  friend bool operator==(const CsiNode&, const CsiNode&) = default;
};

// storage.k8s.io/v1.
struct CsiDriver {
  std::string name;
  bool storage_capacity = false;
  bool prevent_pod_scheduling_if_missing = false;
  friend bool operator==(const CsiDriver&, const CsiDriver&) = default;
};

// storage.k8s.io/v1.
struct CsiStorageCapacity {
  std::string namespace_name, name;
  std::string storage_class;
  std::optional<LabelSelector> node_topology;  // absent: no node
  std::optional<std::int64_t> capacity_bytes, maximum_volume_bytes;
  friend bool operator==(const CsiStorageCapacity&, const CsiStorageCapacity&) = default;
};

// Objects that nodes and pods refer to; only kube-scheduler's default plugins read them.
using ReferredObject =
    std::variant<Namespace, Service, WorkloadController, PersistentVolume, PersistentVolumeClaim,
                 StorageClass, CsiNode, CsiDriver, CsiStorageCapacity>;
enum class ReferredKind : std::uint8_t {
  kNamespace,
  kService,
  kReplicationController,
  kReplicaSet,
  kStatefulSet,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
};
inline constexpr std::uint32_t kReferredKindCount = 11;
// "CSINode", ...
const char* to_string(ReferredKind kind);
const char* api_version_of(ReferredKind kind);  // "storage.k8s.io/v1", ...
// nullopt for another text.
std::optional<ReferredKind> parse_referred_kind(std::string_view text);
ReferredKind kind_of(const ReferredObject& object);
// By which it is known among those of its kind: "namespace/name", or the name where the kind has no
// namespace (then the one given is not read).
std::string key_of(const ReferredObject& object);
std::string key_of(ReferredKind kind, std::string_view namespace_name, std::string_view name);
bool has_namespace(ReferredKind kind);

using Object = std::variant<Node, Pod, NodeMetric, ElasticQuota, PodDisruptionBudget, PriorityClass,
                            CapacityQuota, ReferredObject>;

}  // namespace headroom
