// The members of objects, each struct's once, for whoever writes them as bytes or reads them back
// (value_bytes.h).
//
// Members are named by structured bindings: a struct that gains one does not compile until it has
// its place here.
#pragma once

#include <concepts>
#include <type_traits>

#include "objects/objects.h"

namespace headroom {

// The struct, to be read into or to be written.
template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

// The greatest value of an enum that is read.
constexpr PortProtocol last_of(PortProtocol) { return PortProtocol::kSctp; }
constexpr Quantity::Format last_of(Quantity::Format) { return Quantity::Format::kDecimalSI; }
constexpr WorkloadController::Kind last_of(WorkloadController::Kind) {
  return WorkloadController::Kind::kStatefulSet;
}
constexpr ReferredKind last_of(ReferredKind) { return ReferredKind::kCsiStorageCapacity; }

void fields(auto& state, MaybeConst<Taint> auto& taint) {
  auto& [key, value, effect] = taint;
  state(key, value, effect);
}

void fields(auto& state, MaybeConst<NodeSelectorRequirement> auto& requirement) {
  auto& [key, op, values] = requirement;
  state(key, op, values);
}

void fields(auto& state, MaybeConst<Node> auto& node) {
  auto& [name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting, images,
         declared_features] = node;
  state(name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting, images,
        declared_features);
}

void fields(auto& state, MaybeConst<ContainerPort> auto& port) {
  auto& [host_port, protocol, host_ip] = port;
  state(host_port, protocol, host_ip);
}

void fields(auto& state, MaybeConst<ElasticQuota> auto& quota) {
  auto& [namespace_name, name, min, max] = quota;
  state(namespace_name, name, min, max);
}

void fields(auto& state, MaybeConst<PodDisruptionBudget> auto& budget) {
  auto& [namespace_name, name, selector, disruptions_allowed, disrupted_pods] = budget;
  state(namespace_name, name, selector, disruptions_allowed, disrupted_pods);
}

void fields(auto& state, MaybeConst<PriorityClass> auto& priority_class) {
  auto& [name, value, global_default, preemption_policy] = priority_class;
  state(name, value, global_default, preemption_policy);
}

void fields(auto& state, MaybeConst<ContainerImage> auto& image) {
  auto& [names, size_bytes] = image;
  state(names, size_bytes);
}

void fields(auto& state, MaybeConst<NodeSelectorTerm> auto& term) {
  auto& [match_expressions, match_fields] = term;
  state(match_expressions, match_fields);
}

void fields(auto& state, MaybeConst<PreferredSchedulingTerm> auto& term) {
  auto& [weight, preference] = term;
  state(weight, preference);
}

void fields(auto& state, MaybeConst<Toleration> auto& toleration) {
  auto& [key, op, value, effect] = toleration;
  state(key, op, value, effect);
}

void fields(auto& state, MaybeConst<TopologySpreadConstraint> auto& constraint) {
  auto& [max_skew, topology_key, hard, selector, match_label_keys, min_domains, honors_affinity,
         honors_taints] = constraint;
  state(max_skew, topology_key, hard, selector, match_label_keys, min_domains, honors_affinity,
        honors_taints);
}

void fields(auto& state, MaybeConst<PodAffinityTerm> auto& term) {
  auto& [selector, namespaces, namespace_selector, topology_key, weight] = term;
  state(selector, namespaces, namespace_selector, topology_key, weight);
}

void fields(auto& state, MaybeConst<PodAffinity> auto& affinity) {
  auto& [required, preferred] = affinity;
  state(required, preferred);
}

void fields(auto& state, MaybeConst<Disk> auto& disk) {
  auto& [kind, id, monitors, read_only] = disk;
  state(kind, id, monitors, read_only);
}

void fields(auto& state, MaybeConst<Volume> auto& volume) {
  auto& [name, claim, ephemeral, image, disk] = volume;
  state(name, claim, ephemeral, image, disk);
}

void fields(auto& state, MaybeConst<OwnerReference> auto& owner) {
  auto& [api_version, kind, name, uid] = owner;
  state(api_version, kind, name, uid);
}

void fields(auto& state, MaybeConst<Namespace> auto& object) {
  auto& [name, labels] = object;
  state(name, labels);
}

void fields(auto& state, MaybeConst<Service> auto& service) {
  auto& [namespace_name, name, selector] = service;
  state(namespace_name, name, selector);
}

void fields(auto& state, MaybeConst<WorkloadController> auto& controller) {
  auto& [kind, namespace_name, name, selector] = controller;
  state(kind, namespace_name, name, selector);
}

void fields(auto& state, MaybeConst<PersistentVolume> auto& volume) {
  auto& [name, labels, storage_class, capacity_bytes, access_modes, volume_mode, attributes_class,
         node_affinity, claim_namespace, claim_name, claim_uid, available, deleting, csi_driver,
         csi_handle, disk] = volume;
  state(name, labels, storage_class, capacity_bytes, access_modes, volume_mode, attributes_class,
        node_affinity, claim_namespace, claim_name, claim_uid, available, deleting, csi_driver,
        csi_handle, disk);
}

void fields(auto& state, MaybeConst<PersistentVolumeClaim> auto& claim) {
  auto& [namespace_name, name, uid, controller, storage_class, volume_name, volume_mode,
         attributes_class, access_modes, request_bytes, selector, lost, deleting, bind_completed,
         selected_node] = claim;
  state(namespace_name, name, uid, controller, storage_class, volume_name, volume_mode,
        attributes_class, access_modes, request_bytes, selector, lost, deleting, bind_completed,
        selected_node);
}

void fields(auto& state, MaybeConst<StorageClass> auto& storage_class) {
  auto& [name, provisioner, waits_for_first_consumer, allowed_topologies] = storage_class;
  state(name, provisioner, waits_for_first_consumer, allowed_topologies);
}

void fields(auto& state, MaybeConst<CsiNode::Driver> auto& driver) {
  auto& [name, count] = driver;
  state(name, count);
}

void fields(auto& state, MaybeConst<CsiNode> auto& node) {
  auto& [name, drivers] = node;
  state(name, drivers);
}

void fields(auto& state, MaybeConst<CsiDriver> auto& driver) {
  auto& [name, storage_capacity, prevent_pod_scheduling_if_missing] = driver;
  state(name, storage_capacity, prevent_pod_scheduling_if_missing);
}

void fields(auto& state, MaybeConst<CsiStorageCapacity> auto& capacity) {
  auto& [namespace_name, name, storage_class, node_topology, capacity_bytes, maximum_volume_bytes] =
      capacity;
  state(namespace_name, name, storage_class, node_topology, capacity_bytes, maximum_volume_bytes);
}

}  // namespace headroom
