// Pods from JSON.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "objects/limits.h"
#include "objects/reading/object_json.h"
#include "objects/reading/pod_placement_json.h"
#include "objects/reading/volume_json.h"

namespace headroom {

namespace {

// The fields that are read, by place.
constexpr std::string_view kRequirementsFields[] = {"requests", "limits"};
constexpr std::string_view kPortFields[] = {"hostPort", "hostIP", "protocol"};
constexpr std::string_view kContainerFields[] = {
    "name", "resources", "ports", "restartPolicy", "image", "volumeMounts", "restartPolicyRules"};
constexpr std::string_view kSpecFields[] = {"containers",        "initContainers",
                                            "nodeName",          "resources",
                                            "overhead",          "priority",
                                            "priorityClassName", "preemptionPolicy",
                                            "nodeSelector",      "affinity",
                                            "schedulerName",     "schedulingGates",
                                            "resourceClaims",    "topologySpreadConstraints",
                                            "volumes",           "activeDeadlineSeconds",
                                            "tolerations",       "ephemeralContainers",
                                            "hostNetwork",       "hostUsers"};
constexpr std::string_view kStatusFields[] = {
    "phase",     "qosClass",           "nominatedNodeName",
    "startTime", "containerStatuses",  "initContainerStatuses",
    "resources", "allocatedResources", "conditions"};

// {"requests": {...}, "limits": {...}}
bool read_requirements(const FieldPath& path, JsonValue value, FieldErrors& errors,
                       ResourceList& requests, ResourceList& limits) {
  requests.clear();
  limits.clear();
  return for_each_field(
      path, value, errors, kRequirementsFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "requests") {
          return read_resources(field, inner, errors, Sign::kNotNegative, requests);
        }
        if (name == "limits")
          return read_resources(field, inner, errors, Sign::kNotNegative, limits);
        return true;
      });
}

// An entry of ports[]; without a hostPort its host_port is 0.
bool read_port(const FieldPath& path, JsonValue value, FieldErrors& errors, ContainerPort& out) {
  return for_each_field(path, value, errors, kPortFields, [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "hostPort") {
      std::int64_t port = 0;
      if (!read_int64(field, inner, errors, port)) return false;
      if (port < 0 || port > kHostPortMax)
        return errors.wrong_type(field, inner, "a port from 1 to 65535");
      out.host_port = static_cast<std::uint16_t>(port);
      return true;
    }
    if (name == "hostIP") return read_string(field, inner, errors, kStringBytesMax, out.host_ip);
    if (name != "protocol") return true;
    std::string_view text;
    if (!read_text(field, inner, errors, kStringBytesMax, text)) return false;
    const std::optional<PortProtocol> protocol = parse_port_protocol(text);
    out.protocol = protocol.value_or(PortProtocol::kTcp);
    return protocol.has_value() || errors.wrong_type(field, inner, "TCP, UDP or SCTP");
  });
}

bool read_ports(const FieldPath& path, JsonValue value, FieldErrors& errors,
                std::vector<ContainerPort>& out) {
  if (!read_list(path, value, errors, kListMax, out, read_port)) return false;
  std::erase_if(out, [](const ContainerPort& port) { return port.host_port == 0; });
  return true;
}

// What a pod asks of its node's declared features, as kube-scheduler 1.37 finds it
// (k8s.io/component-helpers/nodedeclaredfeatures).
struct FeaturesAsked {
  bool host_network = false, own_users = false;
  bool restart_all = false, bind_options = false;

  std::vector<std::string> sorted() const {
    std::vector<std::string> features;
    if (restart_all) features.emplace_back("RestartAllContainersOnContainerExits");
    if (host_network && own_users) features.emplace_back("UserNamespacesHostNetworkSupport");
    if (bind_options) features.emplace_back("VolumeBindMountOptions");
    return features;
  }
};

// A field of a container that may ask for one.
bool read_features(const FieldPath& field, JsonValue value, FieldErrors& errors,
                   FeaturesAsked& out) {
  if (field.name == "volumeMounts") {
    return for_each_element(field, value, errors, kListMax, [&](const FieldPath&, JsonValue mount) {
      simdjson::dom::array options;
      const bool any = mount["bindMountOptions"].get(options) == simdjson::SUCCESS &&
                       options.begin() != options.end();
      out.bind_options = out.bind_options || any;
      return true;
    });
  }
  if (field.name != "restartPolicyRules") return true;
  return for_each_element(field, value, errors, kListMax, [&](const FieldPath&, JsonValue rule) {
    std::string_view action;
    const bool all =
        rule["action"].get(action) == simdjson::SUCCESS && action == "RestartAllContainers";
    out.restart_all = out.restart_all || all;
    return true;
  });
}

// init: of initContainers.
bool read_container(const FieldPath& path, JsonValue value, FieldErrors& errors, bool init,
                    FeaturesAsked& features, Container& out) {
  return for_each_field(
      path, value, errors, kContainerFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "name") return read_string(field, inner, errors, kNameBytesMax, out.name);
        if (name == "image") return read_string(field, inner, errors, kStringBytesMax, out.image);
        if (name == "resources") {
          return read_requirements(field, inner, errors, out.requests, out.limits);
        }
        if (name == "ports") return read_ports(field, inner, errors, out.ports);
        if (name != "restartPolicy" || !init) return read_features(field, inner, errors, features);
        std::string_view policy;
        if (!read_text(field, inner, errors, kStringBytesMax, policy)) return false;
        out.restart_always = policy == "Always";
        return true;
      });
}

bool read_containers(const FieldPath& path, JsonValue value, FieldErrors& errors, bool init,
                     FeaturesAsked& features, std::vector<Container>& out) {
  const auto read = [&, init](const FieldPath& element, JsonValue inner, FieldErrors& first,
                              Container& container) {
    return read_container(element, inner, first, init, features, container);
  };
  return read_list(path, value, errors, kContainersMax, out, read);
}

// They take nothing of the node.
bool read_ephemeral_containers(const FieldPath& path, JsonValue value, FieldErrors& errors,
                               FeaturesAsked& features) {
  return for_each_element(
      path, value, errors, kContainersMax, [&](const FieldPath& element, JsonValue container) {
        return for_each_field(element, container, errors, [&](FieldName name, JsonValue inner) {
          return read_features(FieldPath{&element, name}, inner, errors, features);
        });
      });
}

// Adds what a list that has entries asks for; what they say is not read.
bool note_list(const FieldPath& path, JsonValue value, FieldErrors& errors, NotConsidered what,
               Pod& out) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return errors.wrong_type(path, value, "a list");
  if (array.begin() != array.end()) out.not_considered.add(what);
  return true;
}

bool read_spec(JsonValue value, FieldErrors& errors, Pod& out) {
  FeaturesAsked features;
  const bool ok =
      for_each_field(kSpec, value, errors, kSpecFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&kSpec, name};
        if (name == "containers")
          return read_containers(field, inner, errors, false, features, out.containers);
        if (name == "initContainers") {
          return read_containers(field, inner, errors, true, features, out.init_containers);
        }
        if (name == "ephemeralContainers") {
          return read_ephemeral_containers(field, inner, errors, features);
        }
        if (name == "hostNetwork") return read_bool(field, inner, errors, features.host_network);
        if (name == "hostUsers") {
          bool of_host = true;
          if (!read_bool(field, inner, errors, of_host)) return false;
          features.own_users = !of_host;
          return true;
        }
        if (name == "nodeName")
          return read_string(field, inner, errors, kNameBytesMax, out.node_name);
        if (name == "resources") {
          return read_requirements(field, inner, errors, out.pod_requests, out.pod_limits);
        }
        if (name == "overhead") {
          return read_resources(field, inner, errors, Sign::kNotNegative, out.overhead);
        }
        if (name == "priority") return read_int32(field, inner, errors, out.priority.emplace());
        if (name == "priorityClassName") {
          return read_string(field, inner, errors, kNameBytesMax, out.priority_class_name);
        }
        if (name == "preemptionPolicy") {
          return read_preemption_policy(field, inner, errors, out.preemption_policy);
        }
        if (name == "nodeSelector") return read_string_map(field, inner, errors, out.node_selector);
        if (name == "affinity") return read_affinity(field, inner, errors, out);
        if (name == "schedulerName") {
          return read_string(field, inner, errors, kNameBytesMax, out.scheduler_name);
        }
        if (name == "schedulingGates") {
          return read_scheduling_gates(field, inner, errors, out);
        }
        if (name == "resourceClaims") {
          return note_list(field, inner, errors, NotConsidered::kResourceClaims, out);
        }
        if (name == "topologySpreadConstraints") {
          return read_topology_spread(field, inner, errors, out);
        }
        if (name == "volumes") return read_volumes(field, inner, errors, out);
        if (name == "activeDeadlineSeconds") {
          std::int64_t& seconds = out.active_deadline_seconds.emplace();
          if (!read_int64(field, inner, errors, seconds)) return false;
          return (seconds >= 1 && seconds <= INT32_MAX) ||
                 errors.add(
                     ErrorCode::kInvalid, field,
                     std::to_string(seconds) + " is not in [1, " + std::to_string(INT32_MAX) + "]");
        }
        return name != "tolerations" || read_tolerations(field, inner, errors, out);
      });
  if (ok) out.required_features = features.sorted();
  return ok;
}

// One entry of status.conditions. The first of a type counts (GetPodCondition).
struct ConditionsSeen {
  bool resize_pending = false;
};

bool read_condition(const FieldPath& path, JsonValue value, FieldErrors& errors,
                    ConditionsSeen& seen, Pod& out) {
  std::string_view type, status, reason;
  PodCondition condition;
  const bool ok = for_each_field(path, value, errors, [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "type") return read_text(field, inner, errors, kStringBytesMax, type);
    if (name == "status") return read_text(field, inner, errors, kStringBytesMax, status);
    if (name == "reason") return read_text(field, inner, errors, kStringBytesMax, reason);
    return name != "lastTransitionTime" ||
           read_time(field, inner, errors, condition.last_transition_us);
  });
  if (!ok) return false;
  condition.is_true = status == "True";
  if (type == "PodScheduled" && !out.scheduled) out.scheduled = condition;
  if (type == "Initialized" && !out.initialized) out.initialized = condition;
  if (type == "PodResizePending" && !seen.resize_pending) {
    seen.resize_pending = true;
    // IsPodResizeInfeasible reads the reason alone.
    out.resize_infeasible = reason == "Infeasible";
  }
  return true;
}

// Status entries belong to the containers of the same name; others have no effect.
bool read_container_statuses(const FieldPath& path, JsonValue value, FieldErrors& errors,
                             std::vector<Container>& containers) {
  return for_each_element(
      path, value, errors, kContainersMax, [&](const FieldPath& element, JsonValue entry) {
        std::string_view container_name;
        std::optional<ResourceList> actuated;
        ResourceList allocated, limits;
        const bool ok =
            for_each_field(element, entry, errors, [&](FieldName name, JsonValue inner) {
              const FieldPath field{&element, name};
              if (name == "name") {
                return inner.get(container_name) == simdjson::SUCCESS ||
                       errors.wrong_type(field, inner, "a string");
              }
              if (name == "allocatedResources") {
                return read_resources(field, inner, errors, Sign::kNotNegative, allocated);
              }
              return name != "resources" ||
                     read_requirements(field, inner, errors, actuated.emplace(), limits);
            });
        if (!ok) return false;
        const auto it = std::find_if(containers.begin(), containers.end(),
                                     [&](const auto& c) { return c.name == container_name; });
        if (it == containers.end()) return true;
        it->actuated_requests = std::move(actuated);
        it->allocated_requests = std::move(allocated);
        return true;
      });
}

bool read_status(JsonValue value, FieldErrors& errors, Pod& out) {
  return for_each_field(
      kStatus, value, errors, kStatusFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&kStatus, name};
        if (name == "phase") return read_string(field, inner, errors, kStringBytesMax, out.phase);
        if (name == "qosClass") {
          return read_string(field, inner, errors, kStringBytesMax, out.qos_class);
        }
        if (name == "nominatedNodeName") {
          return read_string(field, inner, errors, kNameBytesMax, out.nominated_node_name);
        }
        if (name == "startTime") return read_time(field, inner, errors, out.start_us);
        if (name == "containerStatuses") {
          return read_container_statuses(field, inner, errors, out.containers);
        }
        if (name == "initContainerStatuses") {
          return read_container_statuses(field, inner, errors, out.init_containers);
        }
        if (name == "allocatedResources") {
          return read_resources(field, inner, errors, Sign::kNotNegative, out.allocated_requests);
        }
        if (name == "resources") {
          ResourceList limits;
          return read_requirements(field, inner, errors, out.actuated_requests.emplace(), limits);
        }
        if (name != "conditions") return true;
        out.scheduled.reset();
        out.initialized.reset();
        out.resize_infeasible = false;
        ConditionsSeen seen;
        return for_each_element(field, inner, errors, kListMax,
                                [&](const FieldPath& element, JsonValue condition) {
                                  return read_condition(element, condition, errors, seen, out);
                                });
      });
}

}  // namespace

bool read_pod(const ObjectParts& parts, FieldErrors& errors, Pod& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.namespace_name = &out.namespace_name;
  metadata.uid = &out.uid;
  metadata.labels = &out.labels;
  metadata.annotations = &out.annotations;
  metadata.daemon_set = &out.daemon_set;
  metadata.controller = &out.controller;
  metadata.creation_us = &out.creation_us;
  metadata.deleting = &out.deleting;
  if (!read_metadata(parts, errors, metadata)) return false;
  if (out.namespace_name.empty()) out.namespace_name = "default";
  if (out.uid.empty()) write_pod_key(out.namespace_name, out.name, out.uid);
  if (parts.spec && !read_spec(*parts.spec, errors, out)) return false;
  return !parts.status || read_status(*parts.status, errors, out);
}

}  // namespace headroom
