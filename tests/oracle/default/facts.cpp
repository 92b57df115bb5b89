// See facts.h.
#include "oracle/default/facts.h"

#include <algorithm>

namespace oracle::defaults {
namespace {

std::string key_of(const Json& object) {
  return text(child(object, "metadata"), "namespace") + "/" + name_of(object);
}

}  // namespace

void Facts::apply(const Json& object) {
  const std::string kind = text(object, "kind"), name = name_of(object), key = key_of(object);
  if (kind == "Pod") apply_pod(object);
  if (kind == "PriorityClass" || kind == "PodDisruptionBudget") priorities_.apply(object);
  if (kind == "Node") {
    if (!nodes_.contains(name)) node_names_.push_back(name);
    nodes_[name] = read_node(object);
  }
  if (kind == "Namespace") namespaces[name] = read_labels(child(object, "metadata", "labels"));
  if (kind == "Service") services[key] = read_service(object);
  if (kind == "ReplicationController") replication_controllers[key] = read_controller(object);
  if (kind == "ReplicaSet") replica_sets[key] = read_controller(object);
  if (kind == "StatefulSet") stateful_sets[key] = read_controller(object);
  if (kind == "PersistentVolume") persistent_volumes[name] = read_persistent_volume(object);
  if (kind == "PersistentVolumeClaim") claims[key] = read_claim(object);
  if (kind == "StorageClass") storage_classes[name] = read_storage_class(object);
  if (kind == "CSINode") csi_nodes[name] = read_csi_node(object);
  if (kind == "CSIDriver") csi_drivers[name] = read_csi_driver(object);
  if (kind == "CSIStorageCapacity") {
    csi_storage_capacities[key] = read_csi_storage_capacity(object);
  }
}

void Facts::remove(const Json& object) {
  const std::string kind = text(object, "kind"), name = name_of(object), key = key_of(object);
  if (kind == "Pod") {
    pods_.erase(key);
    assumed_.erase(key);
  }
  if (kind == "PriorityClass" || kind == "PodDisruptionBudget") priorities_.remove(object);
  if (kind == "Node" && nodes_.erase(name) != 0) {
    node_names_.erase(std::find(node_names_.begin(), node_names_.end(), name));
  }
  if (kind == "Namespace") namespaces.erase(name);
  if (kind == "Service") services.erase(key);
  if (kind == "ReplicationController") replication_controllers.erase(key);
  if (kind == "ReplicaSet") replica_sets.erase(key);
  if (kind == "StatefulSet") stateful_sets.erase(key);
  if (kind == "PersistentVolume") persistent_volumes.erase(name);
  if (kind == "PersistentVolumeClaim") claims.erase(key);
  if (kind == "StorageClass") storage_classes.erase(name);
  if (kind == "CSINode") csi_nodes.erase(name);
  if (kind == "CSIDriver") csi_drivers.erase(name);
  if (kind == "CSIStorageCapacity") csi_storage_capacities.erase(key);
}

// Fact 1: another UID replaces the older pod and its reservation. Fact 2: an apply with nodeName
// ends a reservation, a pending update keeps it.
void Facts::apply_pod(const Json& object) {
  Pod pod = read_pod(object);
  PlacedPod& placed = pods_[pod.key()];
  if (placed.pod.uid != pod.uid || !pod.node_name.empty()) {
    placed.reserved_node.clear();
    assumed_.erase(pod.key());
  }
  placed.bound_node = pod.node_name;
  placed.applied = true;
  placed.pod = std::move(pod);
}

// Fact 2: reserve changes nothing for a pod that is bound already.
void Facts::reserve(const Json& object, const std::string& node) {
  Pod pod = read_pod(object);
  PlacedPod& placed = pods_[pod.key()];
  if (placed.pod.uid != pod.uid) placed = PlacedPod{};
  if (!placed.bound_node.empty()) return;
  assumed_.erase(pod.key());
  placed.pod = std::move(pod);
  placed.reserved_node = node;
}

// Fact 2: same node and UID; a pod known only by its reservation is gone.
void Facts::unreserve(const Json& object, const std::string& node) {
  const auto found = pods_.find(key_of(object));
  if (found == pods_.end()) return;
  PlacedPod& placed = found->second;
  if (placed.pod.uid != text(child(object, "metadata"), "uid")) return;
  if (placed.reserved_node != node || !placed.bound_node.empty()) return;
  placed.reserved_node.clear();
  assumed_.erase(found->first);
  if (!placed.applied) pods_.erase(found);
}

void Facts::assume(const Pod& pod, std::vector<AssumedClaim> its) {
  const auto found = pods_.find(pod.key());
  if (found == pods_.end() || found->second.reserved_node.empty()) return;
  assumed_[pod.key()] = std::move(its);
}

std::map<std::string, PersistentVolume> Facts::assumed_volumes(const Pod& incoming) const {
  // By volume: of several that are assumed the one of the first uid, then of the first name.
  std::map<std::string, std::pair<std::string, std::string>> assumed;
  for (const auto& [key, its] : assumed_) {
    for (const AssumedClaim& one : its) {
      if (key == incoming.key() || one.volume.empty() || has_another_volume(one)) continue;
      const std::pair claim(one.claim_uid, one.claim);
      const auto [found, added] = assumed.emplace(one.volume, claim);
      if (!added) found->second = std::min(found->second, claim);
    }
  }
  std::map<std::string, PersistentVolume> volumes = persistent_volumes;
  for (const auto& [name, claim] : assumed) {
    const auto volume = volumes.find(name);
    if (volume == volumes.end() || !volume->second.claim_name.empty()) continue;
    const std::size_t slash = claim.second.find('/');
    volume->second.claim_space = claim.second.substr(0, slash);
    volume->second.claim_name = claim.second.substr(slash + 1);
    volume->second.claim_uid = claim.first;
  }
  return volumes;
}

bool Facts::has_another_volume(const AssumedClaim& assumed) const {
  for (const auto& [name, volume] : persistent_volumes) {
    if (name == assumed.volume || volume.claim_name.empty()) continue;
    if (volume.claim_space + "/" + volume.claim_name != assumed.claim) continue;
    if (volume.claim_uid.empty() || volume.claim_uid == assumed.claim_uid) return true;
  }
  return false;
}

std::map<std::string, Claim> Facts::assumed_claims(const Pod& incoming) const {
  std::map<std::string, Claim> all = claims;
  for (const auto& [key, its] : assumed_) {
    for (const AssumedClaim& one : its) {
      const auto claim = all.find(one.claim);
      if (key == incoming.key() || claim == all.end() || !one.volume.empty()) continue;
      if (claim->second.uid != one.claim_uid || claim->second.selected_node) continue;
      claim->second.selected_node = one.node;
    }
  }
  return all;
}

void Facts::place(const Pod& pod, const std::string& node) {
  PlacedPod& placed = pods_[pod.key()];
  placed = PlacedPod{pod, true, node, ""};
}

std::vector<const Node*> Facts::nodes() const {
  std::vector<const Node*> nodes;
  for (const std::string& name : node_names_) nodes.push_back(&nodes_.at(name));
  return nodes;
}

// Fact 3: Succeeded and Failed pods never count, terminating pods do.
std::vector<const Pod*> Facts::pods_on(const std::string& node) const {
  std::vector<const Pod*> pods;
  for (const auto& [key, placed] : pods_) {
    if (placed.node() == node && !placed.pod.terminal) pods.push_back(&placed.pod);
  }
  return pods;
}

std::string Facts::nominated_node(const Pod& pod) const {
  std::string name = pod.nominated_node_name;
  const auto known = pods_.find(pod.key());
  if (name.empty() && known != pods_.end() && known->second.pod.uid == pod.uid &&
      known->second.node().empty() && !known->second.pod.terminal) {
    name = known->second.pod.nominated_node_name;
  }
  return nodes_.contains(name) ? name : std::string();
}

std::vector<const Pod*> Facts::nominated_to(const std::string& node) const {
  std::vector<const Pod*> pods;
  for (const auto& [key, placed] : pods_) {
    if (placed.node().empty() && !placed.pod.terminal && placed.pod.nominated_node_name == node) {
      pods.push_back(&placed.pod);
    }
  }
  return pods;
}

}  // namespace oracle::defaults
