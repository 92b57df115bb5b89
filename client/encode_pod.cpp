// Pods.
#include "client/encode.h"
#include "client/encode_parts.h"
#include "schema/codes.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

ListOffset<wire::Container> containers(Builder& builder, const std::vector<Container>& list) {
  return write_list_if_any<wire::Container>(builder, list, [&](const Container& container) {
    const auto name = write_text_if_any(builder, container.name);
    const auto requests = resources(builder, container.requests);
    const auto limits = resources(builder, container.limits);
    const auto actuated = resources(builder, container.actuated_requests);
    const auto allocated = resources(builder, container.allocated_requests);
    const auto ports = write_list_if_any<wire::ContainerPort>(
        builder, container.ports, [&](const ContainerPort& port) {
          const bool tcp = port.protocol == PortProtocol::kTcp;
          const auto protocol = write_text_if_any(builder, tcp ? "" : to_string(port.protocol));
          return wire::CreateContainerPort(builder, port.host_port, protocol,
                                           write_text_if_any(builder, port.host_ip));
        });
    return wire::CreateContainer(builder, name, requests, limits, container.restart_always,
                                 actuated, allocated, ports,
                                 write_text_if_any(builder, container.image));
  });
}

Offset<wire::PodCondition> condition(Builder& builder,
                                     const std::optional<PodCondition>& condition) {
  return condition ? wire::CreatePodCondition(builder, condition->is_true,
                                              condition->last_transition_us.value_or(0))
                   : 0;
}

// Absent and empty differ.
Offset<wire::LabelSelector> selector(Builder& builder,
                                     const std::optional<LabelSelector>& selector) {
  return selector ? wire::CreateLabelSelector(builder, requirements(builder, *selector)) : 0;
}

ListOffset<wire::PodAffinityTerm> affinity_terms(Builder& builder,
                                                 const std::vector<PodAffinityTerm>& terms) {
  return write_list_if_any<wire::PodAffinityTerm>(builder, terms, [&](const PodAffinityTerm& term) {
    const auto pods = selector(builder, term.selector);
    const auto names = strings(builder, term.namespaces);
    const auto namespaces = selector(builder, term.namespace_selector);
    const auto key = write_text_if_any(builder, term.topology_key);
    return wire::CreatePodAffinityTerm(builder, pods, names, namespaces, key, term.weight);
  });
}

Offset<wire::PodAffinity> pod_affinity(Builder& builder, const PodAffinity& affinity) {
  if (affinity.empty()) return 0;
  const auto required = affinity_terms(builder, affinity.required);
  return wire::CreatePodAffinity(builder, required, affinity_terms(builder, affinity.preferred));
}

ListOffset<wire::TopologySpreadConstraint> topology_spread(
    Builder& builder, const std::vector<TopologySpreadConstraint>& list) {
  return write_list_if_any<wire::TopologySpreadConstraint>(
      builder, list, [&](const TopologySpreadConstraint& constraint) {
        const auto key = write_text_if_any(builder, constraint.topology_key);
        const auto pods = selector(builder, constraint.selector);
        const auto keys = strings(builder, constraint.match_label_keys);
        return wire::CreateTopologySpreadConstraint(
            builder, constraint.max_skew, key, constraint.hard, pods, keys, constraint.min_domains,
            constraint.honors_affinity, constraint.honors_taints);
      });
}

Offset<wire::Disk> disk(Builder& builder, const std::optional<Disk>& disk) {
  if (!disk) return 0;
  const auto kind = write_text_if_any(builder, disk->kind);
  const auto id = write_text_if_any(builder, disk->id);
  return wire::CreateDisk(builder, kind, id, strings(builder, disk->monitors), disk->read_only);
}

ListOffset<wire::Volume> volumes(Builder& builder, const std::vector<Volume>& list) {
  return write_list_if_any<wire::Volume>(builder, list, [&](const Volume& volume) {
    const auto name = write_text_if_any(builder, volume.name);
    const auto claim = volume.claim ? write_text(builder, *volume.claim) : 0;
    const auto image = write_text_if_any(builder, volume.image);
    return wire::CreateVolume(builder, name, claim, volume.ephemeral, image,
                              disk(builder, volume.disk));
  });
}

Offset<wire::OwnerReference> owner(Builder& builder, const std::optional<OwnerReference>& owner) {
  if (!owner) return 0;
  const auto api_version = write_text_if_any(builder, owner->api_version);
  const auto kind = write_text_if_any(builder, owner->kind);
  const auto name = write_text_if_any(builder, owner->name);
  return wire::CreateOwnerReference(builder, api_version, kind, name,
                                    write_text_if_any(builder, owner->uid));
}

}  // namespace

Offset<wire::Pod> encode(Builder& builder, const Pod& pod) {
  const auto namespace_name = write_text(builder, pod.namespace_name);
  const auto name = write_text(builder, pod.name);
  const auto uid = write_text(builder, pod.uid);
  const auto labels = map(builder, pod.labels);
  const auto annotations = map(builder, pod.annotations);
  const auto node_name = write_text_if_any(builder, pod.node_name);
  const auto main_containers = containers(builder, pod.containers);
  const auto init_containers = containers(builder, pod.init_containers);
  const auto pod_requests = resources(builder, pod.pod_requests);
  const auto pod_limits = resources(builder, pod.pod_limits);
  const auto overhead = resources(builder, pod.overhead);
  const auto node_selector = map(builder, pod.node_selector);
  Offset<wire::NodeSelector> affinity;
  if (pod.required_node_affinity) {
    affinity = wire::CreateNodeSelector(
        builder, write_list<wire::NodeSelectorTerm>(
                     builder, *pod.required_node_affinity,
                     [&](const NodeSelectorTerm& term) { return selector_term(builder, term); }));
  }
  const auto tolerations = write_list_if_any<wire::Toleration>(
      builder, pod.tolerations, [&](const Toleration& toleration) {
        const auto key = write_text_if_any(builder, toleration.key);
        const auto op = write_text_if_any(builder, toleration.op);
        const auto value = write_text_if_any(builder, toleration.value);
        return wire::CreateToleration(builder, key, op, value,
                                      write_text_if_any(builder, toleration.effect));
      });
  const auto phase = write_text_if_any(builder, pod.phase);
  const auto qos_class = write_text_if_any(builder, pod.qos_class);
  const auto scheduled = condition(builder, pod.scheduled);
  const auto initialized = condition(builder, pod.initialized);
  const auto nominated_node_name = write_text_if_any(builder, pod.nominated_node_name);
  const auto priority_class_name = write_text_if_any(builder, pod.priority_class_name);
  const auto preemption_policy = write_text_if_any(builder, pod.preemption_policy);
  const auto scheduler_name = write_text_if_any(builder, pod.scheduler_name);
  const auto considered = write_not_considered(builder, pod.not_considered);
  const auto preferred = write_list_if_any<wire::PreferredSchedulingTerm>(
      builder, pod.preferred_node_affinity, [&](const PreferredSchedulingTerm& term) {
        return wire::CreatePreferredSchedulingTerm(builder, term.weight,
                                                   selector_term(builder, term.preference));
      });
  const auto with = pod_affinity(builder, pod.pod_affinity);
  const auto apart = pod_affinity(builder, pod.pod_anti_affinity);
  const auto spread = topology_spread(builder, pod.topology_spread);
  const auto all_volumes = volumes(builder, pod.volumes);
  const auto gates = strings(builder, pod.scheduling_gates);
  const auto features = strings(builder, pod.required_features);
  const auto controller = owner(builder, pod.controller);
  const auto actuated = resources(builder, pod.actuated_requests);
  const auto allocated = resources(builder, pod.allocated_requests);
  return wire::CreatePod(
      builder, namespace_name, name, uid, labels, annotations, pod.daemon_set,
      pod.creation_us.value_or(0), node_name, main_containers, init_containers, pod_requests,
      pod_limits, overhead, pod.priority.has_value(), pod.priority.value_or(0), node_selector,
      affinity, tolerations, pod.active_deadline_seconds.value_or(0), phase, qos_class, scheduled,
      initialized, pod.resize_infeasible, pod.start_us.value_or(0), nominated_node_name,
      pod.deleting, priority_class_name, preemption_policy, scheduler_name, considered, preferred,
      with, apart, spread, all_volumes, gates, features, controller, actuated, allocated);
}

}  // namespace headroom
