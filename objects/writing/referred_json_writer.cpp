#include "objects/writing/referred_json_writer.h"

#include "objects/annotations.h"
#include "objects/writing/json_writer.h"

namespace headroom {

namespace {

// Up to the end of metadata.
void write_head(JsonWriter& json, ReferredKind kind, std::string_view namespace_name,
                std::string_view name) {
  open_object(json, api_version_of(kind), to_string(kind));
  json.field("name", name);
  json.field("namespace", namespace_name);
}

void write(JsonWriter& json, const Namespace& object) {
  write_head(json, ReferredKind::kNamespace, "", object.name);
  json.field("labels", object.labels);
  json.close('}');
}

// A selector as a map: nothing where it is absent.
void write_selector_map(JsonWriter& json, const std::optional<StringMap>& selector) {
  json.open("spec", '{');
  if (selector) json.object("selector", *selector);
  json.close('}');
}

void write(JsonWriter& json, const Service& service) {
  write_head(json, ReferredKind::kService, service.namespace_name, service.name);
  json.close('}');
  write_selector_map(json, service.selector);
}

void write(JsonWriter& json, const WorkloadController& controller) {
  write_head(json, kind_of(controller), controller.namespace_name, controller.name);
  json.close('}');
  if (controller.kind == WorkloadController::Kind::kReplicationController) {
    std::optional<StringMap> map;
    if (controller.selector) {
      map.emplace();
      for (const NodeSelectorRequirement& requirement : *controller.selector) {
        if (!requirement.values.empty()) {
          map->emplace_back(requirement.key, requirement.values.front());
        }
      }
    }
    write_selector_map(json, map);
    return;
  }
  json.open("spec", '{');
  write_label_selector(json, "selector", controller.selector);
  json.close('}');
}

void write_bytes(JsonWriter& json, std::string_view name, std::optional<std::int64_t> bytes) {
  if (bytes) json.field(name, std::to_string(*bytes));
}

void write(JsonWriter& json, const PersistentVolume& volume) {
  write_head(json, ReferredKind::kPersistentVolume, "", volume.name);
  if (volume.deleting) json.field("deletionTimestamp", kSomeTime);
  json.field("labels", volume.labels);
  json.close('}');
  json.open("spec", '{');
  json.field("accessModes", volume.access_modes);
  json.open("capacity", '{');
  write_bytes(json, "storage", volume.capacity_bytes);
  json.close('}');
  if (!volume.claim_namespace.empty() || !volume.claim_name.empty() || !volume.claim_uid.empty()) {
    json.open("claimRef", '{');
    json.field("name", volume.claim_name);
    json.field("namespace", volume.claim_namespace);
    json.field("uid", volume.claim_uid);
    json.close('}');
  }
  if (!volume.csi_driver.empty() || !volume.csi_handle.empty()) {
    json.open("csi", '{');
    json.field("driver", volume.csi_driver);
    json.field("volumeHandle", volume.csi_handle);
    json.close('}');
  }
  if (volume.disk) write_disk(json, *volume.disk);
  if (volume.node_affinity) {
    json.open("nodeAffinity", '{');
    write_node_selector(json, "required", *volume.node_affinity);
    json.close('}');
  }
  json.field("storageClassName", volume.storage_class);
  json.field("volumeAttributesClassName", volume.attributes_class);
  json.field("volumeMode", volume.volume_mode);
  json.close('}');
  json.open("status", '{');
  if (volume.available) json.field("phase", "Available");
  json.close('}');
}

void write(JsonWriter& json, const PersistentVolumeClaim& claim) {
  write_head(json, ReferredKind::kPersistentVolumeClaim, claim.namespace_name, claim.name);
  if (claim.bind_completed || claim.selected_node) {
    json.open("annotations", '{');
    if (claim.bind_completed) json.field(kBindCompletedAnnotation, "yes");
    if (claim.selected_node) {
      json.key(kSelectedNodeAnnotation);
      json.string(*claim.selected_node);
    }
    json.close('}');
  }
  if (claim.deleting) json.field("deletionTimestamp", kSomeTime);
  if (claim.controller) {
    json.open("ownerReferences", '[');
    write_controller(json, *claim.controller);
    json.close(']');
  }
  json.field("uid", claim.uid);
  json.close('}');
  json.open("spec", '{');
  json.field("accessModes", claim.access_modes);
  if (claim.request_bytes) {
    json.open("resources", '{');
    json.open("requests", '{');
    write_bytes(json, "storage", claim.request_bytes);
    json.close('}');
    json.close('}');
  }
  write_label_selector(json, "selector", claim.selector);
  json.field("storageClassName", claim.storage_class);
  json.field("volumeAttributesClassName", claim.attributes_class);
  json.field("volumeMode", claim.volume_mode);
  json.field("volumeName", claim.volume_name);
  json.close('}');
  json.open("status", '{');
  if (claim.lost) json.field("phase", "Lost");
  json.close('}');
}

void write(JsonWriter& json, const StorageClass& storage_class) {
  write_head(json, ReferredKind::kStorageClass, "", storage_class.name);
  json.close('}');
  json.field("provisioner", storage_class.provisioner);
  json.field("volumeBindingMode",
             storage_class.waits_for_first_consumer ? "WaitForFirstConsumer" : "Immediate");
  json.list("allowedTopologies", storage_class.allowed_topologies, [&](const LabelSelector& term) {
    json.open("matchLabelExpressions", '[');
    for (const NodeSelectorRequirement& requirement : term) {
      json.open('{');
      json.field("key", requirement.key);
      json.field("values", requirement.values);
      json.close('}');
    }
    json.close(']');
  });
}

void write(JsonWriter& json, const CsiNode& node) {
  write_head(json, ReferredKind::kCsiNode, "", node.name);
  json.close('}');
  json.open("spec", '{');
  json.open("drivers", '[');
  for (const CsiNode::Driver& driver : node.drivers) {
    json.open('{');
    if (driver.count) {
      json.open("allocatable", '{');
      json.field("count", *driver.count);
      json.close('}');
    }
    json.field("name", driver.name);
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

void write(JsonWriter& json, const CsiDriver& driver) {
  write_head(json, ReferredKind::kCsiDriver, "", driver.name);
  json.close('}');
  json.open("spec", '{');
  json.field("preventPodSchedulingIfMissing", driver.prevent_pod_scheduling_if_missing);
  json.field("storageCapacity", driver.storage_capacity);
  json.close('}');
}

void write(JsonWriter& json, const CsiStorageCapacity& capacity) {
  write_head(json, ReferredKind::kCsiStorageCapacity, capacity.namespace_name, capacity.name);
  json.close('}');
  write_bytes(json, "capacity", capacity.capacity_bytes);
  write_bytes(json, "maximumVolumeSize", capacity.maximum_volume_bytes);
  write_label_selector(json, "nodeTopology", capacity.node_topology);
  json.field("storageClassName", capacity.storage_class);
}

}  // namespace

void append_json(std::string& text, const ReferredObject& object) {
  JsonWriter json(text);
  std::visit([&](const auto& its) { write(json, its); }, object);
  json.close('}');
}

std::string to_json(const ReferredObject& object) {
  std::string text;
  append_json(text, object);
  return text;
}

}  // namespace headroom
