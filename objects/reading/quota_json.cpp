// Elastic and capacity quotas, disruption budgets and priority classes from JSON.
#include <algorithm>
#include <limits>

#include "objects/limits.h"
#include "objects/reading/object_json.h"
#include "objects/reading/selector_json.h"

namespace headroom {

namespace {

constexpr std::string_view kElasticFields[] = {"min", "max"};
constexpr std::string_view kBudgetFields[] = {"selector"};
constexpr std::string_view kBudgetStatusFields[] = {"disruptionsAllowed", "disruptedPods"};
constexpr std::string_view kCapacityQuotaFields[] = {"limits", "selector"};
constexpr std::string_view kLimitsFields[] = {"resources"};
// Beside those of every object.
constexpr std::string_view kPriorityClassFields[] = {"value", "globalDefault", "preemptionPolicy"};

}  // namespace

bool read_preemption_policy(const FieldPath& path, JsonValue value, FieldErrors& errors,
                            std::string& out) {
  if (!read_string(path, value, errors, kStringBytesMax, out)) return false;
  return out.empty() || out == "Never" || out == "PreemptLowerPriority" ||
         errors.wrong_type(path, value, "Never or PreemptLowerPriority");
}

bool read_elastic_quota(const ObjectParts& parts, FieldErrors& errors, ElasticQuota& out) {
  if (!read_namespaced_name(parts, errors, out.namespace_name, out.name)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    std::optional<ResourceList>* list = name == "min"   ? &out.min
                                        : name == "max" ? &out.max
                                                        : nullptr;
    return list == nullptr || read_resources(FieldPath{&kSpec, name}, inner, errors,
                                             Sign::kNotNegative, list->emplace());
  };
  return !parts.spec || for_each_field(kSpec, *parts.spec, errors, kElasticFields, spec);
}

bool read_pod_disruption_budget(const ObjectParts& parts, FieldErrors& errors,
                                PodDisruptionBudget& out) {
  if (!read_namespaced_name(parts, errors, out.namespace_name, out.name)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    return name != "selector" ||
           read_label_selector(FieldPath{&kSpec, name}, inner, errors, out.selector);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kBudgetFields, spec)) return false;
  const auto status = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kStatus, name};
    if (name == "disruptionsAllowed") {
      return read_int64(field, inner, errors, out.disruptions_allowed);
    }
    if (name != "disruptedPods") return true;
    out.disrupted_pods.clear();
    const bool ok = for_each_field(field, inner, errors, [&](std::string_view pod, JsonValue) {
      if (out.disrupted_pods.size() >= kListMax) {
        return errors.add(ErrorCode::kLimitExceeded, field,
                          "has more than " + std::to_string(kListMax) + " entries");
      }
      out.disrupted_pods.emplace_back(pod);
      return true;
    });
    std::sort(out.disrupted_pods.begin(), out.disrupted_pods.end());
    return ok;
  };
  return !parts.status ||
         for_each_field(kStatus, *parts.status, errors, kBudgetStatusFields, status);
}

bool read_capacity_quota(const ObjectParts& parts, FieldErrors& errors, CapacityQuota& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.generation = &out.generation;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto limit = [&](const FieldPath& path, std::string_view resource, JsonValue inner) {
    const FieldPath field{&path, resource};
    if (out.limits.size() >= kResourceListNamesMax) {
      return errors.add(ErrorCode::kLimitExceeded, path,
                        "has more than " + std::to_string(kResourceListNamesMax) + " entries");
    }
    std::string text;
    if (inner.is_number()) {
      text = simdjson::minify(inner);
    } else if (!read_string(field, inner, errors, kStringBytesMax, text)) {
      return false;
    }
    out.limits.emplace_back(resource, std::move(text));
    return true;
  };
  const auto limits = [&](const FieldPath& path, JsonValue value) {
    const auto read = [&](FieldName name, JsonValue resources) {
      const FieldPath field{&path, name};
      if (name != "resources") return true;
      out.limits.clear();
      return for_each_field(field, resources, errors, [&](std::string_view key, JsonValue inner) {
        return limit(field, key, inner);
      });
    };
    return for_each_field(path, value, errors, kLimitsFields, read);
  };
  const auto spec = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kSpec, name};
    if (name == "limits") return limits(field, inner);
    return name != "selector" || read_label_selector_as_written(field, inner, errors, out.selector);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kCapacityQuotaFields, spec))
    return false;
  sort_last_wins(out.limits);
  return true;
}

bool read_priority_class(const ObjectParts& parts, FieldErrors& errors, PriorityClass& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kRoot, name};
    if (name == "value") return read_int32(field, inner, errors, out.value);
    if (name == "globalDefault") return read_bool(field, inner, errors, out.global_default);
    return name != "preemptionPolicy" ||
           read_preemption_policy(field, inner, errors, out.preemption_policy);
  };
  return for_each_field(kRoot, parts.whole, errors, kPriorityClassFields, read);
}

}  // namespace headroom
