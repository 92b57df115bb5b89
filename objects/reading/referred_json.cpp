// Objects that nodes and pods refer to, from JSON: namespaces, services and controllers here,
// storage in storage_json.cpp.
#include <algorithm>

#include "objects/reading/object_json.h"
#include "objects/reading/selector_json.h"

namespace headroom {

namespace {

constexpr std::string_view kSelectingFields[] = {"selector"};

bool read_namespace(const ObjectParts& parts, FieldErrors& errors, Namespace& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.labels = &out.labels;
  return read_metadata(parts, errors, metadata);
}

bool read_service(const ObjectParts& parts, FieldErrors& errors, Service& out) {
  if (!read_namespaced_name(parts, errors, out.namespace_name, out.name)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    return name != "selector" ||
           read_string_map(FieldPath{&kSpec, name}, inner, errors, out.selector.emplace());
  };
  return !parts.spec || for_each_field(kSpec, *parts.spec, errors, kSelectingFields, spec);
}

// The selector of a ReplicationController is a map.
bool read_selector_map(const FieldPath& path, JsonValue value, FieldErrors& errors,
                       LabelSelector& out) {
  StringMap labels;
  if (!read_string_map(path, value, errors, labels)) return false;
  for (auto& [key, label] : labels) out.push_back({std::move(key), "In", {std::move(label)}});
  return true;
}

bool read_controller(const ObjectParts& parts, FieldErrors& errors, WorkloadController::Kind kind,
                     WorkloadController& out) {
  out.kind = kind;
  if (!read_namespaced_name(parts, errors, out.namespace_name, out.name)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kSpec, name};
    if (name != "selector") return true;
    return kind == WorkloadController::Kind::kReplicationController
               ? read_selector_map(field, inner, errors, out.selector.emplace())
               : read_label_selector(field, inner, errors, out.selector.emplace());
  };
  return !parts.spec || for_each_field(kSpec, *parts.spec, errors, kSelectingFields, spec);
}

}  // namespace

bool read_referred_object(ReferredKind kind, const ObjectParts& parts, FieldErrors& errors,
                          ReferredObject& out) {
  using Kind = WorkloadController::Kind;
  const auto controller = [&](Kind of) {
    return read_controller(parts, errors, of, out.emplace<WorkloadController>());
  };
  // No default: the compiler reports a kind that nobody reads.
  switch (kind) {
    case ReferredKind::kNamespace:
      return read_namespace(parts, errors, out.emplace<Namespace>());
    case ReferredKind::kService:
      return read_service(parts, errors, out.emplace<Service>());
    case ReferredKind::kReplicationController:
      return controller(Kind::kReplicationController);
    case ReferredKind::kReplicaSet:
      return controller(Kind::kReplicaSet);
    case ReferredKind::kStatefulSet:
      return controller(Kind::kStatefulSet);
    case ReferredKind::kPersistentVolume:
      return read_persistent_volume(parts, errors, out.emplace<PersistentVolume>());
    case ReferredKind::kPersistentVolumeClaim:
      return read_persistent_volume_claim(parts, errors, out.emplace<PersistentVolumeClaim>());
    case ReferredKind::kStorageClass:
      return read_storage_class(parts, errors, out.emplace<StorageClass>());
    case ReferredKind::kCsiNode:
      return read_csi_node(parts, errors, out.emplace<CsiNode>());
    case ReferredKind::kCsiDriver:
      return read_csi_driver(parts, errors, out.emplace<CsiDriver>());
    case ReferredKind::kCsiStorageCapacity:
      return read_csi_storage_capacity(parts, errors, out.emplace<CsiStorageCapacity>());
  }
  return false;
}

}  // namespace headroom
