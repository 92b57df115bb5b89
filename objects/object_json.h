// Parsed JSON to the objects of objects.h, one function for each kind. Internal to objects/.
//
// The caller knows the object's kind. False after the first error, with `errors` filled; the output
// is then unspecified.
#pragma once

#include <span>

#include "objects/json_fields.h"

namespace headroom {

// The parts of an object, the last of each name; null where absent.
struct ObjectParts {
  std::string_view api_version, kind;
  std::optional<JsonValue> metadata, spec, status;
  JsonValue whole;  // for kinds with fields beside these
};
// Type and parts in one pass. The type stays as it is where the object does not give it; it is read
// up to the first error, the parts to the end.
bool read_parts(JsonValue value, FieldErrors& errors, ObjectParts& out);

bool read_node(const ObjectParts& parts, FieldErrors& errors, Node& out);
bool read_pod(const ObjectParts& parts, FieldErrors& errors, Pod& out);
bool read_node_metric(const ObjectParts& parts, FieldErrors& errors, NodeMetric& out);
bool read_elastic_quota(const ObjectParts& parts, FieldErrors& errors, ElasticQuota& out);
bool read_pod_disruption_budget(const ObjectParts& parts, FieldErrors& errors,
                                PodDisruptionBudget& out);
bool read_capacity_quota(const ObjectParts& parts, FieldErrors& errors, CapacityQuota& out);
bool read_priority_class(const ObjectParts& parts, FieldErrors& errors, PriorityClass& out);

// Never or PreemptLowerPriority.
bool read_preemption_policy(const FieldPath& path, JsonValue value, FieldErrors& errors,
                            std::string& out);
// One requirement of a node or label selector; `expected` names the operators in an error.
bool read_selector_requirement(const FieldPath& path, JsonValue value, FieldErrors& errors,
                               std::span<const std::string_view> operators,
                               std::string_view expected, NodeSelectorRequirement& out);
// The same where any text may stand in its fields.
bool read_requirement_as_written(const FieldPath& path, JsonValue value, FieldErrors& errors,
                                 NodeSelectorRequirement& out);
bool read_int32(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int32_t& out);

// metadata, for every kind. `namespace_name`, `uid`, ...: nullptr where the kind has no use for it.
struct MetadataFields {
  std::string* name = nullptr;
  std::string* namespace_name = nullptr;
  std::string* uid = nullptr;
  StringMap* labels = nullptr;
  StringMap* annotations = nullptr;
  bool* daemon_set = nullptr;
  std::optional<std::int64_t>* creation_us = nullptr;
  bool* deleting = nullptr;
  std::int64_t* generation = nullptr;
};
bool read_metadata(const ObjectParts& parts, FieldErrors& errors, const MetadataFields& out);

}  // namespace headroom
