// Pods from JSON.
#include <algorithm>
#include <span>

#include "objects/object_json.h"
#include "objects/object_reader.h"

namespace headroom {

namespace {

constexpr FieldPath kRoot{};
constexpr FieldPath kSpec{&kRoot, "spec"};
constexpr FieldPath kStatus{&kRoot, "status"};

// The fields that are read, by place.
constexpr std::string_view kRequirementsFields[] = {"requests", "limits"};
constexpr std::string_view kPortFields[] = {"hostPort", "hostIP", "protocol"};
constexpr std::string_view kContainerFields[] = {"name", "resources", "ports", "restartPolicy"};
constexpr std::string_view kTermFields[] = {"matchExpressions", "matchFields"};
constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kRuleFields[] = {kRequired, kPreferred};
constexpr std::string_view kAffinityFields[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
constexpr std::string_view kTolerationFields[] = {"key", "operator", "value", "effect"};
constexpr std::string_view kSpecFields[] = {"containers",        "initContainers",
                                            "nodeName",          "resources",
                                            "overhead",          "priority",
                                            "priorityClassName", "preemptionPolicy",
                                            "nodeSelector",      "affinity",
                                            "schedulerName",     "schedulingGates",
                                            "resourceClaims",    "topologySpreadConstraints",
                                            "volumes",           "activeDeadlineSeconds",
                                            "tolerations"};
constexpr std::string_view kStatusFields[] = {
    "phase",     "qosClass",          "nominatedNodeName",
    "startTime", "containerStatuses", "initContainerStatuses",
    "conditions"};

// {"requests": {...}, "limits": {...}}
bool read_requirements(const FieldPath& path, JsonValue value, FieldErrors& errors,
                       ResourceList& requests, ResourceList& limits) {
  requests.clear();
  limits.clear();
  return for_each_field(
      path, value, errors, kRequirementsFields, [&](std::string_view name, JsonValue inner) {
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
  return for_each_field(
      path, value, errors, kPortFields, [&](std::string_view name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "hostPort") {
          std::int64_t port = 0;
          if (!read_int64(field, inner, errors, port)) return false;
          if (port < 0 || port > kHostPortMax)
            return errors.wrong_type(field, inner, "a port from 1 to 65535");
          out.host_port = static_cast<std::uint16_t>(port);
          return true;
        }
        if (name == "hostIP")
          return read_string(field, inner, errors, kStringBytesMax, out.host_ip);
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

bool read_container(const FieldPath& path, JsonValue value, FieldErrors& errors, bool init,
                    Container& out) {
  return for_each_field(
      path, value, errors, kContainerFields, [&](std::string_view name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "name") return read_string(field, inner, errors, kNameBytesMax, out.name);
        if (name == "resources") {
          return read_requirements(field, inner, errors, out.requests, out.limits);
        }
        if (name == "ports") return read_ports(field, inner, errors, out.ports);
        if (name != "restartPolicy" || !init) return true;
        std::string_view policy;
        if (!read_text(field, inner, errors, kStringBytesMax, policy)) return false;
        out.restart_always = policy == "Always";
        return true;
      });
}

bool read_containers(const FieldPath& path, JsonValue value, FieldErrors& errors, bool init,
                     std::vector<Container>& out) {
  const auto read = [init](const FieldPath& element, JsonValue inner, FieldErrors& first,
                           Container& container) {
    return read_container(element, inner, first, init, container);
  };
  return read_list(path, value, errors, kContainersMax, out, read);
}

bool read_requirement(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      NodeSelectorRequirement& out) {
  constexpr std::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  return read_selector_requirement(path, value, errors, kOperators,
                                   "In, NotIn, Exists, DoesNotExist, Gt or Lt", out);
}

bool read_term(const FieldPath& path, JsonValue value, FieldErrors& errors, NodeSelectorTerm& out) {
  return for_each_field(
      path, value, errors, kTermFields, [&](std::string_view name, JsonValue inner) {
        auto* list = name == "matchExpressions" ? &out.match_expressions
                     : name == "matchFields"    ? &out.match_fields
                                                : nullptr;
        return list == nullptr ||
               read_list(FieldPath{&path, name}, inner, errors, kListMax, *list, read_requirement);
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

// spec.affinity.podAffinity, or podAntiAffinity
bool note_pod_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors,
                       NotConsidered required, NotConsidered preferred, Pod& out) {
  return for_each_field(
      path, value, errors, kRuleFields, [&](std::string_view rule, JsonValue terms) {
        const FieldPath field{&path, rule};
        if (rule == kRequired) return note_list(field, terms, errors, required, out);
        return rule != kPreferred || note_list(field, terms, errors, preferred, out);
      });
}

// spec.affinity; of it only nodeAffinity's required terms are kept.
bool read_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  out.required_node_affinity.reset();
  return for_each_field(
      path, value, errors, kAffinityFields, [&](std::string_view name, JsonValue node) {
        const FieldPath node_path{&path, name};
        if (name == "podAffinity") {
          return note_pod_affinity(node_path, node, errors, NotConsidered::kRequiredPodAffinity,
                                   NotConsidered::kPreferredPodAffinity, out);
        }
        if (name == "podAntiAffinity") {
          return note_pod_affinity(node_path, node, errors, NotConsidered::kRequiredPodAntiAffinity,
                                   NotConsidered::kPreferredPodAntiAffinity, out);
        }
        if (name != "nodeAffinity") return true;
        return for_each_field(
            node_path, node, errors, kRuleFields, [&](std::string_view rule, JsonValue selector) {
              const FieldPath rule_path{&node_path, rule};
              if (rule == kPreferred) {
                return note_list(rule_path, selector, errors, NotConsidered::kPreferredNodeAffinity,
                                 out);
              }
              if (rule != kRequired) return true;
              out.required_node_affinity.emplace();
              return for_each_field(
                  rule_path, selector, errors, [&](std::string_view part, JsonValue terms) {
                    return part != "nodeSelectorTerms" ||
                           read_list(FieldPath{&rule_path, part}, terms, errors, kListMax,
                                     *out.required_node_affinity, read_term);
                  });
            });
      });
}

bool read_toleration(const FieldPath& path, JsonValue value, FieldErrors& errors, Toleration& out) {
  return for_each_field(
      path, value, errors, kTolerationFields, [&](std::string_view name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "key") return read_string(field, inner, errors, kKeyBytesMax, out.key);
        if (name == "value") return read_string(field, inner, errors, kStringBytesMax, out.value);
        if (name == "operator") {
          if (!read_string(field, inner, errors, kStringBytesMax, out.op)) return false;
          // Lt and Gt, alpha in Kubernetes 1.35, tolerate nothing here.
          return out.op.empty() || out.op == "Equal" || out.op == "Exists" || out.op == "Lt" ||
                 out.op == "Gt" || errors.wrong_type(field, inner, "Equal, Exists, Lt or Gt");
        }
        if (name != "effect") return true;
        if (!read_string(field, inner, errors, kStringBytesMax, out.effect)) return false;
        return out.effect.empty() || out.effect == "NoSchedule" ||
               out.effect == "PreferNoSchedule" || out.effect == "NoExecute" ||
               errors.wrong_type(field, inner, "NoSchedule, PreferNoSchedule or NoExecute");
      });
}

// An entry of spec.topologySpreadConstraints. whenUnsatisfiable is required.
bool note_spread(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  std::string_view otherwise;
  const bool ok = for_each_field(path, value, errors, [&](std::string_view name, JsonValue inner) {
    return name != "whenUnsatisfiable" ||
           read_text(FieldPath{&path, name}, inner, errors, kStringBytesMax, otherwise);
  });
  out.not_considered.add(otherwise == "ScheduleAnyway" ? NotConsidered::kSoftTopologySpread
                                                       : NotConsidered::kHardTopologySpread);
  return ok;
}

// Volumes that kube-scheduler's volume plugins look at, or that not every node can attach.
constexpr std::string_view kClaimVolumes[] = {"persistentVolumeClaim", "ephemeral"};
constexpr std::string_view kAttachedVolumes[] = {"awsElasticBlockStore",
                                                 "azureDisk",
                                                 "azureFile",
                                                 "cinder",
                                                 "csi",
                                                 "fc",
                                                 "flexVolume",
                                                 "gcePersistentDisk",
                                                 "iscsi",
                                                 "photonPersistentDisk",
                                                 "portworxVolume",
                                                 "rbd",
                                                 "scaleIO",
                                                 "storageos",
                                                 "vsphereVolume"};

// An entry of spec.volumes.
bool note_volume(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  const auto among = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return for_each_field(path, value, errors, [&](std::string_view name, JsonValue) {
    if (among(kClaimVolumes, name)) out.not_considered.add(NotConsidered::kPersistentVolumeClaims);
    if (among(kAttachedVolumes, name)) out.not_considered.add(NotConsidered::kVolumes);
    return true;
  });
}

using NoteEntry = bool (*)(const FieldPath&, JsonValue, FieldErrors&, Pod&);
bool note_each(const FieldPath& path, JsonValue value, FieldErrors& errors, NoteEntry note,
               Pod& out) {
  return for_each_element(
      path, value, errors, kListMax,
      [&](const FieldPath& element, JsonValue entry) { return note(element, entry, errors, out); });
}

bool read_spec(JsonValue value, FieldErrors& errors, Pod& out) {
  return for_each_field(
      kSpec, value, errors, kSpecFields, [&](std::string_view name, JsonValue inner) {
        const FieldPath field{&kSpec, name};
        if (name == "containers")
          return read_containers(field, inner, errors, false, out.containers);
        if (name == "initContainers") {
          return read_containers(field, inner, errors, true, out.init_containers);
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
          return note_list(field, inner, errors, NotConsidered::kSchedulingGates, out);
        }
        if (name == "resourceClaims") {
          return note_list(field, inner, errors, NotConsidered::kResourceClaims, out);
        }
        if (name == "topologySpreadConstraints") {
          return note_each(field, inner, errors, note_spread, out);
        }
        if (name == "volumes") return note_each(field, inner, errors, note_volume, out);
        if (name == "activeDeadlineSeconds") {
          return read_int64(field, inner, errors, out.active_deadline_seconds.emplace());
        }
        return name != "tolerations" ||
               read_list(field, inner, errors, kListMax, out.tolerations, read_toleration);
      });
}

// One entry of status.conditions. The first of a type counts (GetPodCondition).
struct ConditionsSeen {
  bool resize_pending = false;
};

bool read_condition(const FieldPath& path, JsonValue value, FieldErrors& errors,
                    ConditionsSeen& seen, Pod& out) {
  std::string_view type, status, reason;
  PodCondition condition;
  const bool ok = for_each_field(path, value, errors, [&](std::string_view name, JsonValue inner) {
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
            for_each_field(element, entry, errors, [&](std::string_view name, JsonValue inner) {
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
      kStatus, value, errors, kStatusFields, [&](std::string_view name, JsonValue inner) {
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
  metadata.creation_us = &out.creation_us;
  metadata.deleting = &out.deleting;
  if (!read_metadata(parts, errors, metadata)) return false;
  if (out.namespace_name.empty()) out.namespace_name = "default";
  if (parts.spec && !read_spec(*parts.spec, errors, out)) return false;
  return !parts.status || read_status(*parts.status, errors, out);
}

}  // namespace headroom
