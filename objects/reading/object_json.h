// Parsed JSON to the objects of objects.h, one function for each kind. Internal to objects/.
//
// The caller knows the object's kind. False after the first error, with `errors` filled; the output
// is then unspecified.
#pragma once

#include <span>

#include "objects/annotations.h"
#include "objects/reading/json_fields.h"

namespace headroom {

// Where the fields of every object are.
inline constexpr FieldPath kRoot{};
inline constexpr FieldPath kMetadata{&kRoot, "metadata"};
inline constexpr FieldPath kSpec{&kRoot, "spec"};
inline constexpr FieldPath kStatus{&kRoot, "status"};

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
bool read_referred_object(ReferredKind kind, const ObjectParts& parts, FieldErrors& errors,
                          ReferredObject& out);
// Of these kinds, those that hold storage.
bool read_persistent_volume(const ObjectParts& parts, FieldErrors& errors, PersistentVolume& out);
bool read_persistent_volume_claim(const ObjectParts& parts, FieldErrors& errors,
                                  PersistentVolumeClaim& out);
bool read_storage_class(const ObjectParts& parts, FieldErrors& errors, StorageClass& out);
bool read_csi_node(const ObjectParts& parts, FieldErrors& errors, CsiNode& out);
bool read_csi_driver(const ObjectParts& parts, FieldErrors& errors, CsiDriver& out);
bool read_csi_storage_capacity(const ObjectParts& parts, FieldErrors& errors,
                               CsiStorageCapacity& out);

// Never or PreemptLowerPriority.
bool read_preemption_policy(const FieldPath& path, JsonValue value, FieldErrors& errors,
                            std::string& out);
// metadata, for every kind. `namespace_name`, `uid`, ...: nullptr where the kind has no use for it.
struct MetadataFields {
  std::string* name = nullptr;
  std::string* namespace_name = nullptr;
  std::string* uid = nullptr;
  StringMap* labels = nullptr;
  StringMap* annotations = nullptr;
  std::span<const std::string_view> annotations_kept = kAnnotationsRead;
  bool* daemon_set = nullptr;
  std::optional<OwnerReference>* controller = nullptr;
  std::optional<std::int64_t>* creation_us = nullptr;
  bool* deleting = nullptr;
  std::int64_t* generation = nullptr;
};
bool read_metadata(const ObjectParts& parts, FieldErrors& errors, const MetadataFields& out);
// Of a kind with nothing else to read there; the namespace is "default" where it is absent.
bool read_namespaced_name(const ObjectParts& parts, FieldErrors& errors,
                          std::string& namespace_name, std::string& name);

}  // namespace headroom
