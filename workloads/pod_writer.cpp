// Pods as JSON: see object_writer.h.
#include <algorithm>
#include <string_view>

#include "objects/text/time_text.h"
#include "objects/writing/json_writer.h"
#include "workloads/object_writer.h"

namespace headroom {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void write_resources(JsonWriter& json, const ResourceList& requests, const ResourceList& limits) {
  if (requests.empty() && limits.empty()) return;
  json.open("resources", '{');
  json.field("limits", limits);
  json.field("requests", requests);
  json.close('}');
}

// The container's own port may be any; the reader keeps hostPort only.
void write_ports(JsonWriter& json, const std::vector<ContainerPort>& ports) {
  json.list("ports", ports, [&](const ContainerPort& port) {
    json.field("containerPort", std::int64_t{port.host_port});
    json.field("hostIP", port.host_ip);
    json.field("hostPort", std::int64_t{port.host_port});
    json.field("protocol", to_string(port.protocol));
  });
}

void write_containers(JsonWriter& json, std::string_view name,
                      const std::vector<Container>& containers) {
  json.list(name, containers, [&](const Container& container) {
    json.field("image", container.image);
    json.field("name", container.name);
    write_ports(json, container.ports);
    write_resources(json, container.requests, container.limits);
    if (container.restart_always) json.field("restartPolicy", "Always");
  });
}

// What a status says of resources.
void write_reported(JsonWriter& json, const std::optional<ResourceList>& actuated,
                    const ResourceList& allocated) {
  json.field("allocatedResources", allocated);
  if (!actuated) return;
  json.open("resources", '{');
  json.object("requests", *actuated);
  json.close('}');
}

void write_container_statuses(JsonWriter& json, std::string_view name,
                              const std::vector<Container>& containers) {
  bool opened = false;
  for (const Container& container : containers) {
    if (!container.actuated_requests && container.allocated_requests.empty()) continue;
    if (!opened) json.open(name, '[');
    opened = true;
    json.open('{');
    json.field("name", container.name);
    write_reported(json, container.actuated_requests, container.allocated_requests);
    json.close('}');
  }
  if (opened) json.close(']');
}

void write_pod_affinity_term(JsonWriter& json, const PodAffinityTerm& term) {
  write_label_selector(json, "labelSelector", term.selector);
  write_label_selector(json, "namespaceSelector", term.namespace_selector);
  json.field("namespaces", term.namespaces);
  json.field("topologyKey", term.topology_key);
}

void write_pod_affinity(JsonWriter& json, std::string_view name, const PodAffinity& affinity) {
  if (affinity.empty()) return;
  json.open(name, '{');
  json.list(kPreferred, affinity.preferred, [&](const PodAffinityTerm& term) {
    json.open("podAffinityTerm", '{');
    write_pod_affinity_term(json, term);
    json.close('}');
    json.field("weight", std::int64_t{term.weight});
  });
  json.list(kRequired, affinity.required,
            [&](const PodAffinityTerm& term) { write_pod_affinity_term(json, term); });
  json.close('}');
}

void write_node_affinity(JsonWriter& json, const Pod& pod) {
  if (!pod.required_node_affinity && pod.preferred_node_affinity.empty()) return;
  json.open("nodeAffinity", '{');
  json.list(kPreferred, pod.preferred_node_affinity, [&](const PreferredSchedulingTerm& term) {
    json.key("preference");
    write_node_selector_term(json, term.preference);
    json.field("weight", std::int64_t{term.weight});
  });
  if (pod.required_node_affinity) {
    write_node_selector(json, kRequired, *pod.required_node_affinity);
  }
  json.close('}');
}

void write_affinity(JsonWriter& json, const Pod& pod) {
  if (!pod.required_node_affinity && pod.preferred_node_affinity.empty() &&
      pod.pod_affinity.empty() && pod.pod_anti_affinity.empty()) {
    return;
  }
  json.open("affinity", '{');
  write_node_affinity(json, pod);
  write_pod_affinity(json, "podAffinity", pod.pod_affinity);
  write_pod_affinity(json, "podAntiAffinity", pod.pod_anti_affinity);
  json.close('}');
}

void write_topology_spread(JsonWriter& json,
                           const std::vector<TopologySpreadConstraint>& constraints) {
  json.list("topologySpreadConstraints", constraints, [&](const auto& constraint) {
    write_label_selector(json, "labelSelector", constraint.selector);
    json.field("matchLabelKeys", constraint.match_label_keys);
    json.field("maxSkew", std::int64_t{constraint.max_skew});
    if (constraint.min_domains != 1) {
      json.field("minDomains", std::int64_t{constraint.min_domains});
    }
    if (!constraint.honors_affinity) json.field("nodeAffinityPolicy", "Ignore");
    if (constraint.honors_taints) json.field("nodeTaintsPolicy", "Honor");
    json.field("topologyKey", constraint.topology_key);
    json.field("whenUnsatisfiable", constraint.hard ? "DoNotSchedule" : "ScheduleAnyway");
  });
}

void write_volumes(JsonWriter& json, const std::vector<Volume>& volumes) {
  json.list("volumes", volumes, [&](const Volume& volume) {
    if (volume.disk) write_disk(json, *volume.disk);
    if (volume.ephemeral) {
      json.open("ephemeral", '{');
      json.close('}');
    }
    if (!volume.image.empty()) {
      json.open("image", '{');
      json.field("reference", volume.image);
      json.close('}');
    }
    json.field("name", volume.name);
    if (volume.claim) {
      json.open("persistentVolumeClaim", '{');
      json.field("claimName", *volume.claim);
      json.close('}');
    }
  });
}

void write_scheduling_gates(JsonWriter& json, const std::vector<std::string>& gates) {
  json.list("schedulingGates", gates, [&](const std::string& gate) { json.field("name", gate); });
}

// What makes a pod ask for features of its node, in an ephemeral container: it takes nothing.
void write_features(JsonWriter& json, const std::vector<std::string>& features) {
  const auto asked = [&](std::string_view feature) {
    return std::find(features.begin(), features.end(), feature) != features.end();
  };
  const bool restarts = asked("RestartAllContainersOnContainerExits");
  const bool binds = asked("VolumeBindMountOptions");
  if (restarts || binds) {
    json.open("ephemeralContainers", '[');
    json.open('{');
    if (restarts) {
      json.open("restartPolicyRules", '[');
      json.open('{');
      json.field("action", "RestartAllContainers");
      json.close('}');
      json.close(']');
    }
    if (binds) {
      json.open("volumeMounts", '[');
      json.open('{');
      json.field("bindMountOptions", std::vector<std::string>{"nosuid"});
      json.close('}');
      json.close(']');
    }
    json.close('}');
    json.close(']');
  }
  if (asked("UserNamespacesHostNetworkSupport")) {
    json.field("hostNetwork", true);
    json.field("hostUsers", false);
  }
}

void write_tolerations(JsonWriter& json, const std::vector<Toleration>& tolerations) {
  json.list("tolerations", tolerations, [&](const Toleration& toleration) {
    json.field("effect", toleration.effect);
    json.field("key", toleration.key);
    json.field("operator", toleration.op);
    json.field("value", toleration.value);
  });
}

void write_condition(JsonWriter& json, std::string_view type,
                     const std::optional<PodCondition>& condition) {
  if (!condition) return;
  json.open('{');
  json.field("lastTransitionTime", time_text(condition->last_transition_us));
  json.field("status", condition->is_true ? "True" : "False");
  json.field("type", type);
  json.close('}');
}

void write_conditions(JsonWriter& json, const Pod& pod) {
  if (!pod.scheduled && !pod.initialized && !pod.resize_infeasible) return;
  json.open("conditions", '[');
  write_condition(json, "PodScheduled", pod.scheduled);
  write_condition(json, "Initialized", pod.initialized);
  if (pod.resize_infeasible) {
    json.open('{');
    json.field("reason", "Infeasible");
    json.field("status", "True");
    json.field("type", "PodResizePending");
    json.close('}');
  }
  json.close(']');
}

// The controller, and a DaemonSet that is none of them.
void write_owners(JsonWriter& json, const Pod& pod) {
  const bool daemon_set =
      pod.daemon_set && (!pod.controller || pod.controller->kind != "DaemonSet");
  if (!pod.controller && !daemon_set) return;
  json.open("ownerReferences", '[');
  if (pod.controller) write_controller(json, *pod.controller);
  if (daemon_set) {
    json.open('{');
    json.field("apiVersion", "apps/v1");
    json.field("kind", "DaemonSet");
    json.field("name", "daemon-set");
    json.close('}');
  }
  json.close(']');
}

}  // namespace

void append_json(std::string& text, const Pod& pod) {
  JsonWriter json(text);
  open_object(json, "v1", "Pod");
  json.field("annotations", pod.annotations);
  json.field("creationTimestamp", time_text(pod.creation_us));
  if (pod.deleting) {
    json.field("deletionTimestamp",
               pod.creation_us ? time_text(*pod.creation_us) : std::string(kSomeTime));
  }
  json.field("labels", pod.labels);
  json.field("name", pod.name);
  json.field("namespace", pod.namespace_name);
  write_owners(json, pod);
  json.field("uid", pod.uid);
  json.close('}');

  json.open("spec", '{');
  if (pod.active_deadline_seconds) {
    json.field("activeDeadlineSeconds", *pod.active_deadline_seconds);
  }
  write_affinity(json, pod);
  write_containers(json, "containers", pod.containers);
  write_features(json, pod.required_features);
  write_containers(json, "initContainers", pod.init_containers);
  json.field("nodeName", pod.node_name);
  json.field("nodeSelector", pod.node_selector);
  json.field("overhead", pod.overhead);
  json.field("preemptionPolicy", pod.preemption_policy);
  if (pod.priority) json.field("priority", std::int64_t{*pod.priority});
  json.field("priorityClassName", pod.priority_class_name);
  write_resources(json, pod.pod_requests, pod.pod_limits);
  json.field("schedulerName", pod.scheduler_name);
  write_scheduling_gates(json, pod.scheduling_gates);
  write_tolerations(json, pod.tolerations);
  write_topology_spread(json, pod.topology_spread);
  write_volumes(json, pod.volumes);
  json.close('}');

  json.open("status", '{');
  write_conditions(json, pod);
  write_container_statuses(json, "containerStatuses", pod.containers);
  write_container_statuses(json, "initContainerStatuses", pod.init_containers);
  write_reported(json, pod.actuated_requests, pod.allocated_requests);
  json.field("nominatedNodeName", pod.nominated_node_name);
  json.field("phase", pod.phase);
  json.field("qosClass", pod.qos_class);
  json.field("startTime", time_text(pod.start_us));
  json.close('}');
  json.close('}');
}

}  // namespace headroom
