// The objects that kube-scheduler's default plugins look at, as plain values, and how they are read
// from JSON. What cannot be read throws std::invalid_argument or std::range_error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oracle/default/selectors.h"

namespace oracle::defaults {

// Who owns a pod or a claim.
struct OwnerReference {
  std::string api_version, kind, name, uid;
};

struct ImageOnNode {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};

struct Node {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  std::vector<ImageOnNode> images;
  std::shared_ptr<const Json> object;  // for what tests/oracle/policies/policies.h decides
};

// One of v1.TopologySpreadConstraint, or of PodTopologySpreadArgs' defaultConstraints.
struct SpreadConstraint {
  std::string topology_key;
  std::int64_t max_skew = 1;
  std::int64_t min_domains = 1;
  bool hard = false;  // DoNotSchedule
  std::optional<LabelSelector> selector;
  std::vector<std::string> match_label_keys;
  bool honors_affinity = true;
  bool honors_taints = false;
};

struct PodAffinityTerm {
  std::string topology_key;
  std::optional<LabelSelector> selector;
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;
  std::int64_t weight = 0;  // of a preferred one
};

struct PodAffinity {
  std::vector<PodAffinityTerm> required, preferred;
};

// A disk that is named in the pod itself.
struct Disk {
  std::string kind;  // gcePersistentDisk, awsElasticBlockStore, azureDisk, cinder, ...
  std::string id;    // of it, as the kind has it; an RBD image's is pool/image
  std::vector<std::string> monitors;  // of an RBD image
  bool read_only = false;
};

struct Volume {
  std::string name;
  std::optional<std::string> claim;  // persistentVolumeClaim.claimName
  bool ephemeral = false;            // its claim is POD-NAME
  std::optional<std::string> image;  // image.reference
  std::optional<Disk> disk;
};

struct Pod {
  std::string space, name, uid;  // space: its namespace
  Labels labels;
  std::optional<OwnerReference> controller;
  bool terminating = false;  // has a deletionTimestamp
  bool terminal = false;     // Succeeded or Failed
  std::string node_name;     // spec.nodeName
  std::string nominated_node_name;
  std::vector<std::string> scheduling_gates;
  Labels node_selector;
  NodeAffinity node_affinity;
  PodAffinity affinity, anti_affinity;
  std::vector<Toleration> tolerations;
  std::vector<SpreadConstraint> spread_constraints;
  std::vector<std::string> images;  // of init containers and containers
  std::vector<Volume> volumes;
  std::shared_ptr<const Json> object;

  std::string key() const { return space + "/" + name; }
};

struct Service {
  std::string space;
  std::optional<Labels> selector;
};

// ReplicationController, ReplicaSet or StatefulSet.
struct Controller {
  std::string space;
  std::optional<LabelSelector> selector;
  Labels map;  // a ReplicationController's selector
};

struct PersistentVolume {
  std::string name;
  Labels labels;
  std::string storage_class;
  std::int64_t capacity_bytes = 0;
  std::vector<std::string> access_modes;
  std::string volume_mode, attributes_class;
  std::optional<NodeSelector> node_affinity;
  std::string claim_space, claim_name, claim_uid;  // claimRef; no name: none
  bool available = false;                          // phase Available
  bool deleting = false;
  std::string csi_driver, csi_handle;
  std::optional<Disk> disk;  // an in-tree one
};

struct Claim {
  std::string space, name, uid;
  std::optional<OwnerReference> controller;
  std::string storage_class, volume_name, volume_mode, attributes_class;
  std::vector<std::string> access_modes;
  std::optional<std::int64_t> request_bytes;
  std::optional<LabelSelector> selector;
  bool lost = false;  // phase Lost
  bool deleting = false;
  bool bind_completed = false;               // the annotation of that name
  std::optional<std::string> selected_node;  // the annotation of that name
};

struct StorageClass {
  std::string name, provisioner;
  bool waits_for_first_consumer = false;
  // ORed terms; In requirements, all of which must hold.
  std::vector<std::vector<Requirement>> allowed_topologies;
};

struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> count;  // allocatable
  };
  std::vector<Driver> drivers;
};

struct CsiDriver {
  bool storage_capacity = false;
  bool prevent_pod_scheduling_if_missing = false;
};

struct CsiStorageCapacity {
  std::string storage_class;
  std::optional<LabelSelector> node_topology;
  std::optional<std::int64_t> capacity_bytes, maximum_volume_bytes;
};

std::string name_of(const Json& object);
Node read_node(const Json& object);
Pod read_pod(const Json& object);
SpreadConstraint read_spread_constraint(const Json& object);
Service read_service(const Json& object);
Controller read_controller(const Json& object);
PersistentVolume read_persistent_volume(const Json& object);
Claim read_claim(const Json& object);
StorageClass read_storage_class(const Json& object);
CsiNode read_csi_node(const Json& object);
CsiDriver read_csi_driver(const Json& object);
CsiStorageCapacity read_csi_storage_capacity(const Json& object);

}  // namespace oracle::defaults
