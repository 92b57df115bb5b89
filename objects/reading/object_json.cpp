// Metadata, nodes and node metrics from JSON.
#include "objects/reading/object_json.h"

#include <algorithm>

#include "objects/limits.h"
#include "objects/text/time_text.h"

namespace headroom {

namespace {

constexpr std::string_view kTaintFields[] = {"key", "value", "effect"};
constexpr std::string_view kPartFields[] = {"apiVersion", "kind", "metadata", "spec", "status"};
constexpr std::string_view kMetadataFields[] = {
    "name",       "namespace",         "uid",
    "labels",     "annotations",       "creationTimestamp",
    "generation", "deletionTimestamp", "ownerReferences"};
constexpr std::string_view kNodeSpecFields[] = {"unschedulable", "taints"};
constexpr std::string_view kNodeStatusFields[] = {"allocatable", "capacity", "images",
                                                  "declaredFeatures"};
constexpr std::string_view kNodeImageFields[] = {"names", "sizeBytes"};
constexpr std::string_view kOwnerFields[] = {"apiVersion", "kind", "name", "uid", "controller"};
constexpr std::string_view kUsageFields[] = {"resources"};
constexpr std::string_view kAggregatedFields[] = {"duration", "usage"};
constexpr std::string_view kPodMetricFields[] = {"name", "namespace", "priority", "podUsage"};
constexpr std::string_view kMetricFields[] = {"nodeUsage", "systemUsage", "aggregatedNodeUsages"};
constexpr std::string_view kMetricSpecFields[] = {"metricCollectPolicy"};
constexpr std::string_view kMetricStatusFields[] = {"updateTime", "podsMetric", "nodeMetric"};
constexpr std::string_view kCollectPolicyFields[] = {"reportIntervalSeconds"};

bool read_taint(const FieldPath& path, JsonValue value, FieldErrors& errors, Taint& out) {
  const bool ok =
      for_each_field(path, value, errors, kTaintFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&path, name};
        if (name == "key") return read_string(field, inner, errors, kKeyBytesMax, out.key);
        if (name == "value") return read_string(field, inner, errors, kStringBytesMax, out.value);
        if (name != "effect") return true;
        if (!read_string(field, inner, errors, kStringBytesMax, out.effect)) return false;
        return out.effect == "NoSchedule" || out.effect == "PreferNoSchedule" ||
               out.effect == "NoExecute" ||
               errors.wrong_type(field, inner, "NoSchedule, PreferNoSchedule or NoExecute");
      });
  if (!ok) return false;
  if (out.key.empty()) return errors.missing(FieldPath{&path, "key"});
  return !out.effect.empty() || errors.missing(FieldPath{&path, "effect"});
}

// {"resources": {"cpu": ...}}, as NodeMetric writes usage. It may be negative.
bool read_usage(const FieldPath& path, JsonValue value, FieldErrors& errors, ResourceList& out) {
  out.clear();
  return for_each_field(path, value, errors, kUsageFields, [&](FieldName name, JsonValue inner) {
    return name != "resources" ||
           read_resources(FieldPath{&path, name}, inner, errors, Sign::kAny, out);
  });
}

bool read_aggregated(const FieldPath& path, JsonValue value, FieldErrors& errors,
                     AggregatedUsage& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "duration") {
      std::string_view text;
      if (!read_text(field, inner, errors, kStringBytesMax, text)) return false;
      const Result<std::int64_t> duration = parse_duration_us(text);
      if (!duration) return errors.add(duration.error().code, field, duration.error().message);
      out.duration_us = *duration;
      return true;
    }
    if (name != "usage") return true;
    out.usage.clear();
    return for_each_field(field, inner, errors, [&](std::string_view type, JsonValue usage) {
      if (out.usage.size() >= kAggregationsMax) {
        return errors.add(ErrorCode::kLimitExceeded, field,
                          "has more than " + std::to_string(kAggregationsMax) + " entries");
      }
      ResourceList list;
      if (!read_usage(FieldPath{&field, type}, usage, errors, list)) return false;
      auto it = out.usage.begin();
      while (it != out.usage.end() && it->first < type) ++it;
      if (it != out.usage.end() && it->first == type) {
        it->second = std::move(list);
      } else {
        out.usage.emplace(it, type, std::move(list));
      }
      return true;
    });
  };
  return for_each_field(path, value, errors, kAggregatedFields, read);
}

bool read_pod_metric(const FieldPath& path, JsonValue value, FieldErrors& errors,
                     PodMetricInfo& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "name") return read_string(field, inner, errors, kNameBytesMax, out.name);
    if (name == "namespace") {
      return read_string(field, inner, errors, kNameBytesMax, out.namespace_name);
    }
    if (name == "priority") {
      return read_string(field, inner, errors, kStringBytesMax, out.priority);
    }
    return name != "podUsage" || read_usage(field, inner, errors, out.usage);
  };
  return for_each_field(path, value, errors, kPodMetricFields, read);
}

bool read_node_metric_status(JsonValue value, FieldErrors& errors, NodeMetric& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kStatus, name};
    if (name == "updateTime") return read_time(field, inner, errors, out.update_time_us);
    if (name == "podsMetric") {
      return read_list(field, inner, errors, kPodMetricsMax, out.pods, read_pod_metric);
    }
    if (name != "nodeMetric") return true;
    out.has_node_metric = true;
    const auto read_part = [&](std::string_view part, JsonValue usage) {
      const FieldPath part_field{&field, part};
      if (part == "nodeUsage") return read_usage(part_field, usage, errors, out.node_usage);
      if (part == "systemUsage") return read_usage(part_field, usage, errors, out.system_usage);
      if (part != "aggregatedNodeUsages") return true;
      return read_list(part_field, usage, errors, kAggregationsMax, out.aggregated,
                       read_aggregated);
    };
    return for_each_field(field, inner, errors, kMetricFields, read_part);
  };
  return for_each_field(kStatus, value, errors, kMetricStatusFields, read);
}

// An entry of metadata.ownerReferences, as it stands in the text.
struct Owner {
  std::string_view api_version, kind, name, uid;
  bool controller = false;
};

bool read_owner(const FieldPath& path, JsonValue value, FieldErrors& errors, Owner& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "controller") return read_bool(field, inner, errors, out.controller);
    std::string_view* text = name == "kind"         ? &out.kind
                             : name == "name"       ? &out.name
                             : name == "uid"        ? &out.uid
                             : name == "apiVersion" ? &out.api_version
                                                    : nullptr;
    return text == nullptr || read_text(field, inner, errors, kNameBytesMax, *text);
  };
  return for_each_field(path, value, errors, kOwnerFields, read);
}

// metadata.ownerReferences; the first controller counts (GetControllerOf).
bool read_owners(const FieldPath& path, JsonValue value, FieldErrors& errors,
                 const MetadataFields& out) {
  if (out.daemon_set != nullptr) *out.daemon_set = false;
  if (out.controller != nullptr) out.controller->reset();
  if (out.daemon_set == nullptr && out.controller == nullptr) return true;
  return for_each_element(
      path, value, errors, kListMax, [&](const FieldPath& element, JsonValue inner) {
        Owner owner;
        if (!read_owner(element, inner, errors, owner)) return false;
        if (out.daemon_set != nullptr && owner.kind == "DaemonSet") *out.daemon_set = true;
        if (out.controller != nullptr && owner.controller && !out.controller->has_value()) {
          *out.controller = OwnerReference{std::string(owner.api_version), std::string(owner.kind),
                                           std::string(owner.name), std::string(owner.uid)};
        }
        return true;
      });
}

// JSON may have a NUL in it, and C reads a name up to there.
bool read_name(const FieldPath& path, JsonValue value, FieldErrors& errors, std::string& out) {
  if (!read_string(path, value, errors, kNameBytesMax, out)) return false;
  if (out.find('\0') == std::string::npos) return true;
  return errors.add(ErrorCode::kInvalid, path, shown(value) + " has a NUL in it");
}

bool read_image(const FieldPath& path, JsonValue value, FieldErrors& errors, ContainerImage& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "names") return read_string_list(field, inner, errors, kStringBytesMax, out.names);
    if (name != "sizeBytes") return true;
    if (!read_int64(field, inner, errors, out.size_bytes)) return false;
    return out.size_bytes >= 0 ||
           errors.add(ErrorCode::kInvalid, field, shown(inner) + " is negative");
  };
  return for_each_field(path, value, errors, kNodeImageFields, read);
}

}  // namespace

bool read_parts(JsonValue value, FieldErrors& errors, ObjectParts& out) {
  out.whole = value;
  bool ok = true;
  const auto read = [&](FieldName name, JsonValue inner) {
    std::optional<JsonValue>* part = name == "metadata" ? &out.metadata
                                     : name == "spec"   ? &out.spec
                                     : name == "status" ? &out.status
                                                        : nullptr;
    std::string_view* text = name == "apiVersion" ? &out.api_version
                             : name == "kind"     ? &out.kind
                                                  : nullptr;
    if (part != nullptr) {
      part->reset();
      if (!inner.is_null()) part->emplace(inner);
    } else if (text == nullptr) {
      errors.note_unless_known(kRoot, name, kPartFields);
    } else if (ok && !inner.is_null()) {
      ok = read_text(FieldPath{&kRoot, name}, inner, errors, kStringBytesMax, *text);
    }
  };
  if (!value.is_null()) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) {
      return errors.wrong_type(kRoot, value, "an object");
    }
    for (auto it = object.begin(); it != object.end(); ++it) read(FieldName{it.key()}, it.value());
  }
  if (!ok) return false;
  if (out.kind.empty()) return errors.missing(FieldPath{&kRoot, "kind"});
  return !out.api_version.empty() || errors.missing(FieldPath{&kRoot, "apiVersion"});
}

bool read_metadata(const ObjectParts& parts, FieldErrors& errors, const MetadataFields& out) {
  const FieldPath name_field{&kMetadata, "name"};
  if (!parts.metadata) return errors.missing(name_field);
  const bool ok = for_each_field(
      kMetadata, *parts.metadata, errors, kMetadataFields, [&](FieldName name, JsonValue inner) {
        const FieldPath field{&kMetadata, name};
        if (name == "name") return read_name(field, inner, errors, *out.name);
        if (name == "namespace" && out.namespace_name != nullptr) {
          return read_name(field, inner, errors, *out.namespace_name);
        }
        if (name == "uid" && out.uid != nullptr) {
          return read_string(field, inner, errors, kNameBytesMax, *out.uid);
        }
        if (name == "labels" && out.labels != nullptr) {
          return read_string_map(field, inner, errors, *out.labels);
        }
        if (name == "annotations" && out.annotations != nullptr) {
          return read_annotations(field, inner, errors, out.annotations_kept, *out.annotations);
        }
        if (name == "creationTimestamp" && out.creation_us != nullptr) {
          return read_time(field, inner, errors, *out.creation_us);
        }
        if (name == "generation" && out.generation != nullptr) {
          return read_int64(field, inner, errors, *out.generation);
        }
        if (name == "deletionTimestamp" && out.deleting != nullptr) {
          std::optional<std::int64_t> deletion_us;
          if (!read_time(field, inner, errors, deletion_us)) return false;
          *out.deleting = deletion_us.has_value();
          return true;
        }
        return name != "ownerReferences" || read_owners(field, inner, errors, out);
      });
  if (!ok) return false;
  return !out.name->empty() || errors.missing(name_field);
}

bool read_namespaced_name(const ObjectParts& parts, FieldErrors& errors,
                          std::string& namespace_name, std::string& name) {
  MetadataFields metadata;
  metadata.name = &name;
  metadata.namespace_name = &namespace_name;
  if (!read_metadata(parts, errors, metadata)) return false;
  if (namespace_name.empty()) namespace_name = "default";
  return true;
}

bool read_node(const ObjectParts& parts, FieldErrors& errors, Node& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.labels = &out.labels;
  metadata.annotations = &out.annotations;
  metadata.deleting = &out.deleting;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kSpec, name};
    if (name == "unschedulable") return read_bool(field, inner, errors, out.unschedulable);
    return name != "taints" || read_list(field, inner, errors, kListMax, out.taints, read_taint);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kNodeSpecFields, spec))
    return false;
  const auto status = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kStatus, name};
    if (name == "images") return read_list(field, inner, errors, kListMax, out.images, read_image);
    if (name == "declaredFeatures") {
      if (!read_string_list(field, inner, errors, kStringBytesMax, out.declared_features)) {
        return false;
      }
      std::sort(out.declared_features.begin(), out.declared_features.end());
      return true;
    }
    ResourceList* list = name == "allocatable" ? &out.allocatable
                         : name == "capacity"  ? &out.capacity
                                               : nullptr;
    return list == nullptr || read_resources(field, inner, errors, Sign::kNotNegative, *list);
  };
  return !parts.status || for_each_field(kStatus, *parts.status, errors, kNodeStatusFields, status);
}

bool read_node_metric(const ObjectParts& parts, FieldErrors& errors, NodeMetric& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto policy = [&](const FieldPath& path, JsonValue inner) {
    return for_each_field(path, inner, errors, kCollectPolicyFields,
                          [&](FieldName name, JsonValue seconds) {
                            if (name != "reportIntervalSeconds") return true;
                            return read_int64(FieldPath{&path, name}, seconds, errors,
                                              out.report_interval_seconds.emplace());
                          });
  };
  const auto spec = [&](FieldName name, JsonValue inner) {
    return name != "metricCollectPolicy" || policy(FieldPath{&kSpec, name}, inner);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kMetricSpecFields, spec)) {
    return false;
  }
  return !parts.status || read_node_metric_status(*parts.status, errors, out);
}

}  // namespace headroom
