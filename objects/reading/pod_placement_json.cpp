#include "objects/reading/pod_placement_json.h"

#include "objects/limits.h"
#include "objects/reading/selector_json.h"

namespace headroom {

namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kRuleFields[] = {kRequired, kPreferred};
constexpr std::string_view kAffinityFields[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
constexpr std::string_view kPreferredNodeFields[] = {"weight", "preference"};
constexpr std::string_view kPreferredPodFields[] = {"weight", "podAffinityTerm"};
constexpr std::string_view kTermFields[] = {"labelSelector", "namespaces", "namespaceSelector",
                                            "topologyKey"};
constexpr std::string_view kSpreadFields[] = {
    "maxSkew",        "topologyKey", "whenUnsatisfiable",  "labelSelector",
    "matchLabelKeys", "minDomains",  "nodeAffinityPolicy", "nodeTaintsPolicy"};
constexpr std::string_view kGateFields[] = {"name"};
constexpr std::string_view kTolerationFields[] = {"key", "operator", "value", "effect"};

// A 32-bit integer from `first` to `last`.
bool read_between(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int32_t first,
                  std::int32_t last, std::int32_t& out) {
  if (!read_int32(path, value, errors, out)) return false;
  if (out >= first && out <= last) return true;
  return errors.add(
      ErrorCode::kInvalid, path,
      shown(value) + " is not from " + std::to_string(first) + " to " + std::to_string(last));
}
constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();

bool read_preferred_node_term(const FieldPath& path, JsonValue value, FieldErrors& errors,
                              PreferredSchedulingTerm& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "weight") return read_between(field, inner, errors, 1, kTermWeightMax, out.weight);
    return name != "preference" || read_node_selector_term(field, inner, errors, out.preference);
  };
  return for_each_field(path, value, errors, kPreferredNodeFields, read);
}

bool read_pod_term(const FieldPath& path, JsonValue value, FieldErrors& errors,
                   PodAffinityTerm& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "topologyKey") {
      return read_string(field, inner, errors, kKeyBytesMax, out.topology_key);
    }
    if (name == "labelSelector") {
      return read_label_selector(field, inner, errors, out.selector.emplace());
    }
    if (name == "namespaceSelector") {
      return read_label_selector(field, inner, errors, out.namespace_selector.emplace());
    }
    return name != "namespaces" ||
           read_string_list(field, inner, errors, kNameBytesMax, out.namespaces);
  };
  return for_each_field(path, value, errors, kTermFields, read);
}

bool read_preferred_pod_term(const FieldPath& path, JsonValue value, FieldErrors& errors,
                             PodAffinityTerm& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "weight") return read_between(field, inner, errors, 1, kTermWeightMax, out.weight);
    return name != "podAffinityTerm" || read_pod_term(field, inner, errors, out);
  };
  return for_each_field(path, value, errors, kPreferredPodFields, read);
}

// spec.affinity.podAffinity, or podAntiAffinity
bool read_pod_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors,
                       PodAffinity& out) {
  const auto read = [&](std::string_view rule, JsonValue terms) {
    const FieldPath field{&path, rule};
    if (rule == kRequired) {
      return read_list(field, terms, errors, kListMax, out.required, read_pod_term);
    }
    return rule != kPreferred ||
           read_list(field, terms, errors, kListMax, out.preferred, read_preferred_pod_term);
  };
  return for_each_field(path, value, errors, kRuleFields, read);
}

bool read_node_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  const auto read = [&](std::string_view rule, JsonValue inner) {
    const FieldPath field{&path, rule};
    if (rule == kPreferred) {
      return read_list(field, inner, errors, kListMax, out.preferred_node_affinity,
                       read_preferred_node_term);
    }
    return rule != kRequired ||
           read_node_selector(field, inner, errors, out.required_node_affinity.emplace());
  };
  return for_each_field(path, value, errors, kRuleFields, read);
}

// Honor or Ignore; "" is the default.
bool read_policy(const FieldPath& path, JsonValue value, FieldErrors& errors, bool& honors) {
  std::string_view text;
  if (!read_text(path, value, errors, kStringBytesMax, text)) return false;
  if (text == "Honor" || text == "Ignore") honors = text == "Honor";
  return text.empty() || text == "Honor" || text == "Ignore" ||
         errors.wrong_type(path, value, "Honor or Ignore");
}

bool read_constraint(const FieldPath& path, JsonValue value, FieldErrors& errors,
                     TopologySpreadConstraint& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "maxSkew") return read_between(field, inner, errors, 1, kInt32Max, out.max_skew);
    if (name == "minDomains") {
      return read_between(field, inner, errors, 1, kInt32Max, out.min_domains);
    }
    if (name == "topologyKey") {
      return read_string(field, inner, errors, kKeyBytesMax, out.topology_key);
    }
    if (name == "labelSelector") {
      return read_label_selector(field, inner, errors, out.selector.emplace());
    }
    if (name == "matchLabelKeys") {
      return read_string_list(field, inner, errors, kKeyBytesMax, out.match_label_keys);
    }
    if (name == "nodeAffinityPolicy") {
      return read_policy(field, inner, errors, out.honors_affinity);
    }
    if (name == "nodeTaintsPolicy") return read_policy(field, inner, errors, out.honors_taints);
    if (name != "whenUnsatisfiable") return true;
    std::string_view otherwise;
    if (!read_text(field, inner, errors, kStringBytesMax, otherwise)) return false;
    out.hard = otherwise == "DoNotSchedule";
    return out.hard || otherwise == "ScheduleAnyway" ||
           errors.wrong_type(field, inner, "DoNotSchedule or ScheduleAnyway");
  };
  out.hard = true;  // the API server asks for whenUnsatisfiable; without it, the stricter one
  return for_each_field(path, value, errors, kSpreadFields, read);
}

bool read_toleration(const FieldPath& path, JsonValue value, FieldErrors& errors, Toleration& out) {
  return for_each_field(
      path, value, errors, kTolerationFields, [&](FieldName name, JsonValue inner) {
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

}  // namespace

bool read_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  out.required_node_affinity.reset();
  out.preferred_node_affinity.clear();
  out.pod_affinity = {};
  out.pod_anti_affinity = {};
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "podAffinity") return read_pod_affinity(field, inner, errors, out.pod_affinity);
    if (name == "podAntiAffinity") {
      return read_pod_affinity(field, inner, errors, out.pod_anti_affinity);
    }
    return name != "nodeAffinity" || read_node_affinity(field, inner, errors, out);
  };
  if (!for_each_field(path, value, errors, kAffinityFields, read)) return false;
  const auto note = [&](const auto& list, NotConsidered what) {
    if (!list.empty()) out.not_considered.add(what);
  };
  note(out.preferred_node_affinity, NotConsidered::kPreferredNodeAffinity);
  note(out.pod_affinity.required, NotConsidered::kRequiredPodAffinity);
  note(out.pod_affinity.preferred, NotConsidered::kPreferredPodAffinity);
  note(out.pod_anti_affinity.required, NotConsidered::kRequiredPodAntiAffinity);
  note(out.pod_anti_affinity.preferred, NotConsidered::kPreferredPodAntiAffinity);
  return true;
}

bool read_topology_spread(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  if (!read_list(path, value, errors, kListMax, out.topology_spread, read_constraint)) {
    return false;
  }
  for (const TopologySpreadConstraint& constraint : out.topology_spread) {
    out.not_considered.add(constraint.hard ? NotConsidered::kHardTopologySpread
                                           : NotConsidered::kSoftTopologySpread);
  }
  return true;
}

bool read_scheduling_gates(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  const auto read = [](const FieldPath& element, JsonValue inner, FieldErrors& first,
                       std::string& gate) {
    return for_each_field(element, inner, first, kGateFields, [&](FieldName name, JsonValue text) {
      return name != "name" ||
             read_string(FieldPath{&element, name}, text, first, kNameBytesMax, gate);
    });
  };
  if (!read_list(path, value, errors, kListMax, out.scheduling_gates, read)) return false;
  if (!out.scheduling_gates.empty()) out.not_considered.add(NotConsidered::kSchedulingGates);
  return true;
}

bool read_tolerations(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  return read_list(path, value, errors, kListMax, out.tolerations, read_toleration);
}

}  // namespace headroom
