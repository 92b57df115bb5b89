// Volumes, claims, classes of storage and what CSI drivers say, from JSON.
#include <algorithm>

#include "objects/annotations.h"
#include "objects/disk_kinds.h"
#include "objects/limits.h"
#include "objects/reading/object_json.h"
#include "objects/reading/selector_json.h"
#include "objects/reading/volume_json.h"

namespace headroom {

namespace {

constexpr std::string_view kPersistentVolumeFields[] = {"capacity",
                                                        "accessModes",
                                                        "storageClassName",
                                                        "volumeMode",
                                                        "volumeAttributesClassName",
                                                        "nodeAffinity",
                                                        "claimRef",
                                                        "csi",
                                                        "gcePersistentDisk",
                                                        "awsElasticBlockStore",
                                                        "azureDisk",
                                                        "azureFile",
                                                        "cinder",
                                                        "portworxVolume",
                                                        "vsphereVolume",
                                                        "iscsi",
                                                        "rbd"};
constexpr std::string_view kReferenceFields[] = {"namespace", "name", "uid"};
constexpr std::string_view kCsiFields[] = {"driver", "volumeHandle"};
constexpr std::string_view kClaimSpecFields[] = {
    "accessModes", "storageClassName",          "volumeName", "volumeMode",
    "resources",   "volumeAttributesClassName", "selector"};
constexpr std::string_view kPhaseFields[] = {"phase"};
// Beside those of every object.
constexpr std::string_view kStorageClassFields[] = {"provisioner", "volumeBindingMode",
                                                    "allowedTopologies"};
constexpr std::string_view kTopologyFields[] = {"matchLabelExpressions"};
constexpr std::string_view kTopologyRequirementFields[] = {"key", "values"};
constexpr std::string_view kDriversFields[] = {"drivers"};
constexpr std::string_view kNodeDriverFields[] = {"name", "allocatable"};
constexpr std::string_view kCountFields[] = {"count"};
constexpr std::string_view kDriverFields[] = {"storageCapacity", "preventPodSchedulingIfMissing"};
constexpr std::string_view kStorageCapacityFields[] = {"storageClassName", "nodeTopology",
                                                       "capacity", "maximumVolumeSize"};

// What the API server fills in.
constexpr std::string_view kVolumeModeDefault = "Filesystem";

// An amount in whole bytes.
bool read_bytes(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int64_t& out) {
  Quantity quantity;
  if (!read_quantity(path, value, errors, Sign::kNotNegative, quantity)) return false;
  const Result<std::int64_t> bytes = quantity.value();
  if (!bytes) return errors.add(bytes.error().code, path, bytes.error().message);
  out = *bytes;
  return true;
}

// `storage` of a list of resources: of a volume's capacity, of a claim's requests. Others mean
// nothing there, but are quantities as well.
template <typename Bytes>
bool read_storage(const FieldPath& path, JsonValue value, FieldErrors& errors, Bytes& out) {
  return for_each_field(path, value, errors, [&](FieldName name, JsonValue inner) {
    std::int64_t bytes = 0;
    if (!read_bytes(FieldPath{&path, name}, inner, errors, bytes)) return false;
    if (name == "storage") out = bytes;
    return true;
  });
}

// status.phase
bool read_phase(const ObjectParts& parts, FieldErrors& errors, std::string_view& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    return name != "phase" ||
           read_text(FieldPath{&kStatus, name}, inner, errors, kStringBytesMax, out);
  };
  return !parts.status || for_each_field(kStatus, *parts.status, errors, kPhaseFields, read);
}

bool read_mode(const FieldPath& path, JsonValue value, FieldErrors& errors, std::string& out) {
  if (!read_string(path, value, errors, kStringBytesMax, out)) return false;
  if (out.empty()) out = kVolumeModeDefault;
  return out == "Filesystem" || out == "Block" ||
         errors.wrong_type(path, value, "Filesystem or Block");
}

// The annotation counts before the field, as of old. The same limit holds for it.
bool prefer_annotation(const StringMap& annotations, FieldErrors& errors,
                       std::string& storage_class) {
  static constexpr FieldPath kAnnotations{&kMetadata, "annotations"};
  const std::string* annotated = find(annotations, kStorageClassAnnotation);
  if (annotated == nullptr) return true;
  if (annotated->size() > kNameBytesMax) {
    return errors.add(ErrorCode::kLimitExceeded, FieldPath{&kAnnotations, kStorageClassAnnotation},
                      "has " + std::to_string(annotated->size()) + " bytes; the limit is " +
                          std::to_string(kNameBytesMax));
  }
  storage_class = *annotated;
  return true;
}

// A field that volumes and claims have; true for another one.
template <typename Object>
bool read_shared_field(const FieldPath& field, JsonValue value, FieldErrors& errors, Object& out) {
  if (field.name == "accessModes") {
    return read_string_list(field, value, errors, kStringBytesMax, out.access_modes);
  }
  if (field.name == "storageClassName") {
    return read_string(field, value, errors, kNameBytesMax, out.storage_class);
  }
  if (field.name == "volumeMode") return read_mode(field, value, errors, out.volume_mode);
  return field.name != "volumeAttributesClassName" ||
         read_string(field, value, errors, kNameBytesMax, out.attributes_class);
}

// spec.claimRef
bool read_claim_reference(const FieldPath& path, JsonValue value, FieldErrors& errors,
                          PersistentVolume& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    std::string* text = name == "namespace" ? &out.claim_namespace
                        : name == "name"    ? &out.claim_name
                        : name == "uid"     ? &out.claim_uid
                                            : nullptr;
    return text == nullptr ||
           read_string(FieldPath{&path, name}, inner, errors, kNameBytesMax, *text);
  };
  return for_each_field(path, value, errors, kReferenceFields, read);
}

bool read_csi(const FieldPath& path, JsonValue value, FieldErrors& errors, PersistentVolume& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    std::string* text = name == "driver"         ? &out.csi_driver
                        : name == "volumeHandle" ? &out.csi_handle
                                                 : nullptr;
    return text == nullptr ||
           read_string(FieldPath{&path, name}, inner, errors, kStringBytesMax, *text);
  };
  return for_each_field(path, value, errors, kCsiFields, read);
}

// spec.nodeAffinity
bool read_volume_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors,
                          PersistentVolume& out) {
  constexpr std::string_view kFields[] = {"required"};
  return for_each_field(path, value, errors, kFields, [&](FieldName name, JsonValue inner) {
    return name != "required" ||
           read_node_selector(FieldPath{&path, name}, inner, errors, out.node_affinity.emplace());
  });
}

// An entry of allowedTopologies.
bool read_topology(const FieldPath& path, JsonValue value, FieldErrors& errors,
                   LabelSelector& out) {
  const auto read_requirement = [](const FieldPath& element, JsonValue inner, FieldErrors& first,
                                   NodeSelectorRequirement& requirement) {
    requirement.op = "In";
    const auto read = [&](FieldName name, JsonValue part) {
      const FieldPath field{&element, name};
      if (name == "key") return read_string(field, part, first, kKeyBytesMax, requirement.key);
      return name != "values" ||
             read_string_list(field, part, first, kStringBytesMax, requirement.values);
    };
    return for_each_field(element, inner, first, kTopologyRequirementFields, read);
  };
  return for_each_field(path, value, errors, kTopologyFields, [&](FieldName name, JsonValue inner) {
    return name != "matchLabelExpressions" ||
           read_list(FieldPath{&path, name}, inner, errors, kListMax, out, read_requirement);
  });
}

// An entry of a CSINode's spec.drivers.
bool read_node_driver(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      CsiNode::Driver& out) {
  const auto count = [&](const FieldPath& allocatable, JsonValue inner) {
    return for_each_field(
        allocatable, inner, errors, kCountFields, [&](FieldName name, JsonValue number) {
          const FieldPath field{&allocatable, name};
          if (name != "count") return true;
          if (!read_int64(field, number, errors, out.count.emplace())) return false;
          return *out.count >= 0 ||
                 errors.add(ErrorCode::kInvalid, field, shown(number) + " is negative");
        });
  };
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "name") return read_string(field, inner, errors, kNameBytesMax, out.name);
    return name != "allocatable" || count(field, inner);
  };
  return for_each_field(path, value, errors, kNodeDriverFields, read);
}

}  // namespace

bool read_persistent_volume(const ObjectParts& parts, FieldErrors& errors, PersistentVolume& out) {
  StringMap annotations;
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.labels = &out.labels;
  metadata.annotations = &annotations;
  metadata.annotations_kept = kStorageAnnotationsRead;
  metadata.deleting = &out.deleting;
  if (!read_metadata(parts, errors, metadata)) return false;
  out.volume_mode = kVolumeModeDefault;
  const auto spec = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kSpec, name};
    if (name == "capacity") return read_storage(field, inner, errors, out.capacity_bytes);
    if (name == "nodeAffinity") return read_volume_affinity(field, inner, errors, out);
    if (name == "claimRef") return read_claim_reference(field, inner, errors, out);
    if (name == "csi") return read_csi(field, inner, errors, out);
    if (find_disk_kind(name) != nullptr) return read_disk(field, inner, errors, out.disk);
    return read_shared_field(field, inner, errors, out);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kPersistentVolumeFields, spec))
    return false;
  if (!prefer_annotation(annotations, errors, out.storage_class)) return false;
  std::string_view phase;
  if (!read_phase(parts, errors, phase)) return false;
  out.available = phase == "Available";
  return true;
}

bool read_persistent_volume_claim(const ObjectParts& parts, FieldErrors& errors,
                                  PersistentVolumeClaim& out) {
  StringMap annotations;
  MetadataFields metadata;
  metadata.name = &out.name;
  metadata.namespace_name = &out.namespace_name;
  metadata.uid = &out.uid;
  metadata.annotations = &annotations;
  metadata.annotations_kept = kStorageAnnotationsRead;
  metadata.controller = &out.controller;
  metadata.deleting = &out.deleting;
  if (!read_metadata(parts, errors, metadata)) return false;
  if (out.namespace_name.empty()) out.namespace_name = "default";
  // As that of a pod without one.
  if (out.controller && out.controller->uid.empty()) {
    write_pod_key(out.namespace_name, out.controller->name, out.controller->uid);
  }
  out.volume_mode = kVolumeModeDefault;
  const auto resources = [&](const FieldPath& path, JsonValue value) {
    constexpr std::string_view kFields[] = {"requests", "limits"};
    return for_each_field(path, value, errors, kFields, [&](FieldName name, JsonValue inner) {
      return name != "requests" ||
             read_storage(FieldPath{&path, name}, inner, errors, out.request_bytes);
    });
  };
  const auto spec = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kSpec, name};
    if (name == "volumeName") {
      return read_string(field, inner, errors, kNameBytesMax, out.volume_name);
    }
    if (name == "resources") return resources(field, inner);
    if (name == "selector") {
      return read_label_selector(field, inner, errors, out.selector.emplace());
    }
    return read_shared_field(field, inner, errors, out);
  };
  if (parts.spec && !for_each_field(kSpec, *parts.spec, errors, kClaimSpecFields, spec))
    return false;
  if (!prefer_annotation(annotations, errors, out.storage_class)) return false;
  out.bind_completed = find(annotations, kBindCompletedAnnotation) != nullptr;
  const std::string* selected = find(annotations, kSelectedNodeAnnotation);
  if (selected != nullptr) out.selected_node = *selected;
  std::string_view phase;
  if (!read_phase(parts, errors, phase)) return false;
  out.lost = phase == "Lost";
  return true;
}

bool read_storage_class(const ObjectParts& parts, FieldErrors& errors, StorageClass& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kRoot, name};
    if (name == "provisioner") {
      return read_string(field, inner, errors, kStringBytesMax, out.provisioner);
    }
    if (name == "allowedTopologies") {
      return read_list(field, inner, errors, kListMax, out.allowed_topologies, read_topology);
    }
    if (name != "volumeBindingMode") return true;
    std::string_view mode;
    if (!read_text(field, inner, errors, kStringBytesMax, mode)) return false;
    out.waits_for_first_consumer = mode == "WaitForFirstConsumer";
    return out.waits_for_first_consumer || mode.empty() || mode == "Immediate" ||
           errors.wrong_type(field, inner, "Immediate or WaitForFirstConsumer");
  };
  return for_each_field(kRoot, parts.whole, errors, kStorageClassFields, read);
}

bool read_csi_node(const ObjectParts& parts, FieldErrors& errors, CsiNode& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    return name != "drivers" || read_list(FieldPath{&kSpec, name}, inner, errors, kListMax,
                                          out.drivers, read_node_driver);
  };
  return !parts.spec || for_each_field(kSpec, *parts.spec, errors, kDriversFields, spec);
}

bool read_csi_driver(const ObjectParts& parts, FieldErrors& errors, CsiDriver& out) {
  MetadataFields metadata;
  metadata.name = &out.name;
  if (!read_metadata(parts, errors, metadata)) return false;
  const auto spec = [&](FieldName name, JsonValue inner) {
    bool* flag = name == "storageCapacity"                 ? &out.storage_capacity
                 : name == "preventPodSchedulingIfMissing" ? &out.prevent_pod_scheduling_if_missing
                                                           : nullptr;
    return flag == nullptr || read_bool(FieldPath{&kSpec, name}, inner, errors, *flag);
  };
  return !parts.spec || for_each_field(kSpec, *parts.spec, errors, kDriverFields, spec);
}

bool read_csi_storage_capacity(const ObjectParts& parts, FieldErrors& errors,
                               CsiStorageCapacity& out) {
  if (!read_namespaced_name(parts, errors, out.namespace_name, out.name)) return false;
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&kRoot, name};
    if (name == "storageClassName") {
      return read_string(field, inner, errors, kNameBytesMax, out.storage_class);
    }
    if (name == "nodeTopology") {
      return read_label_selector(field, inner, errors, out.node_topology.emplace());
    }
    if (name == "capacity") return read_bytes(field, inner, errors, out.capacity_bytes.emplace());
    return name != "maximumVolumeSize" ||
           read_bytes(field, inner, errors, out.maximum_volume_bytes.emplace());
  };
  return for_each_field(kRoot, parts.whole, errors, kStorageCapacityFields, read);
}

}  // namespace headroom
