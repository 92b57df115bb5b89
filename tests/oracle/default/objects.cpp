// See objects.h. What is absent has the API server's default.
#include "oracle/default/objects.h"

#include <array>
#include <stdexcept>

#include "oracle/quantity.h"

namespace oracle::defaults {
namespace {

std::vector<std::string> read_texts(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& entry : list) texts.push_back(entry.get<std::string>());
  return texts;
}

std::string space_of(const Json& object) { return text(child(object, "metadata"), "namespace"); }

bool is_deleting(const Json& object) {
  return !text(child(object, "metadata"), "deletionTimestamp").empty();
}

std::optional<std::string> annotation(const Json& object, const std::string& key) {
  const Json& value = child(object, "metadata", "annotations", key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

// Quantity.Value().
std::optional<std::int64_t> read_bytes(const Json& object, const std::string& key) {
  const Json& value = child(object, key);
  if (value.is_null()) return std::nullopt;
  const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
  const std::optional<Quantity> quantity = parse_quantity(written);
  if (!quantity) throw std::invalid_argument(key + ": " + written);
  return value_of(quantity->nano);
}

// metav1.GetControllerOf: the first reference with controller=true.
std::optional<OwnerReference> read_controller_reference(const Json& object) {
  for (const Json& owner : child(object, "metadata", "ownerReferences")) {
    if (child(owner, "controller") != true) continue;
    return OwnerReference{text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name"),
                          text(owner, "uid")};
  }
  return std::nullopt;
}

// The beta annotation before the field.
std::string read_storage_class_name(const Json& object) {
  const auto beta = annotation(object, "volume.beta.kubernetes.io/storage-class");
  return beta ? *beta : text(child(object, "spec"), "storageClassName");
}

std::string read_volume_mode(const Json& spec) {
  const std::string mode = text(spec, "volumeMode");
  return mode.empty() ? "Filesystem" : mode;
}

// Sources that VolumeRestrictions or NodeVolumeLimits know, by the field that names the disk.
std::optional<Disk> read_disk(const Json& source) {
  static constexpr std::array<std::array<const char*, 2>, 9> kSources{{
      {"gcePersistentDisk", "pdName"},
      {"awsElasticBlockStore", "volumeID"},
      {"azureDisk", "diskURI"},
      {"cinder", "volumeID"},
      {"portworxVolume", "volumeID"},
      {"azureFile", "shareName"},
      {"vsphereVolume", "volumePath"},
      {"iscsi", "iqn"},
      {"rbd", "image"},
  }};
  for (const auto& [kind, id] : kSources) {
    const Json& found = child(source, kind);
    if (!found.is_object()) continue;
    Disk disk{kind, text(found, id), read_texts(child(found, "monitors")),
              child(found, "readOnly") == true};
    if (disk.kind == "rbd") {
      const std::string pool = text(found, "pool");
      disk.id = (pool.empty() ? "rbd" : pool) + "/" + disk.id;
    }
    return disk;
  }
  return std::nullopt;
}

Volume read_volume(const Json& object) {
  Volume volume;
  volume.name = text(object, "name");
  const Json& claim = child(object, "persistentVolumeClaim");
  if (claim.is_object()) volume.claim = text(claim, "claimName");
  volume.ephemeral = child(object, "ephemeral").is_object();
  const Json& image = child(object, "image");
  if (image.is_object()) volume.image = text(image, "reference");
  volume.disk = read_disk(object);
  return volume;
}

PodAffinityTerm read_affinity_term(const Json& object, std::int64_t weight) {
  return {text(object, "topologyKey"), read_label_selector(child(object, "labelSelector")),
          read_texts(child(object, "namespaces")),
          read_label_selector(child(object, "namespaceSelector")), weight};
}

PodAffinity read_pod_affinity(const Json& object) {
  PodAffinity affinity;
  for (const Json& term : child(object, "requiredDuringSchedulingIgnoredDuringExecution")) {
    affinity.required.push_back(read_affinity_term(term, 0));
  }
  for (const Json& entry : child(object, "preferredDuringSchedulingIgnoredDuringExecution")) {
    affinity.preferred.push_back(
        read_affinity_term(child(entry, "podAffinityTerm"), integer(entry, "weight").value_or(0)));
  }
  return affinity;
}

}  // namespace

std::string name_of(const Json& object) { return text(child(object, "metadata"), "name"); }

Node read_node(const Json& object) {
  Node node;
  node.name = name_of(object);
  node.labels = read_labels(child(object, "metadata", "labels"));
  node.taints = read_taints(child(object, "spec", "taints"));
  node.unschedulable = child(object, "spec", "unschedulable") == true;
  for (const Json& image : child(object, "status", "images")) {
    node.images.push_back(
        {read_texts(child(image, "names")), integer(image, "sizeBytes").value_or(0)});
  }
  node.object = std::make_shared<const Json>(object);
  return node;
}

SpreadConstraint read_spread_constraint(const Json& object) {
  SpreadConstraint constraint;
  constraint.topology_key = text(object, "topologyKey");
  constraint.max_skew = integer(object, "maxSkew").value_or(1);
  constraint.min_domains = integer(object, "minDomains").value_or(1);
  constraint.hard = text(object, "whenUnsatisfiable") == "DoNotSchedule";
  constraint.selector = read_label_selector(child(object, "labelSelector"));
  constraint.match_label_keys = read_texts(child(object, "matchLabelKeys"));
  constraint.honors_affinity = text(object, "nodeAffinityPolicy") != "Ignore";
  constraint.honors_taints = text(object, "nodeTaintsPolicy") == "Honor";
  return constraint;
}

Pod read_pod(const Json& object) {
  Pod pod;
  pod.space = space_of(object);
  pod.name = name_of(object);
  pod.uid = text(child(object, "metadata"), "uid");
  pod.labels = read_labels(child(object, "metadata", "labels"));
  pod.controller = read_controller_reference(object);
  pod.terminating = is_deleting(object);
  const std::string phase = text(child(object, "status"), "phase");
  pod.terminal = phase == "Succeeded" || phase == "Failed";
  pod.nominated_node_name = text(child(object, "status"), "nominatedNodeName");
  const Json& spec = child(object, "spec");
  pod.node_name = text(spec, "nodeName");
  for (const Json& gate : child(spec, "schedulingGates")) {
    pod.scheduling_gates.push_back(text(gate, "name"));
  }
  pod.node_selector = read_labels(child(spec, "nodeSelector"));
  pod.node_affinity = read_node_affinity(child(spec, "affinity", "nodeAffinity"));
  pod.affinity = read_pod_affinity(child(spec, "affinity", "podAffinity"));
  pod.anti_affinity = read_pod_affinity(child(spec, "affinity", "podAntiAffinity"));
  pod.tolerations = read_tolerations(child(spec, "tolerations"));
  for (const Json& constraint : child(spec, "topologySpreadConstraints")) {
    pod.spread_constraints.push_back(read_spread_constraint(constraint));
  }
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : child(spec, list)) pod.images.push_back(text(container, "image"));
  }
  for (const Json& volume : child(spec, "volumes")) pod.volumes.push_back(read_volume(volume));
  pod.object = std::make_shared<const Json>(object);
  return pod;
}

Service read_service(const Json& object) {
  Service service{space_of(object), std::nullopt};
  const Json& selector = child(object, "spec", "selector");
  if (selector.is_object()) service.selector = read_labels(selector);
  return service;
}

Controller read_controller(const Json& object) {
  Controller controller;
  controller.space = space_of(object);
  const Json& selector = child(object, "spec", "selector");
  if (text(object, "kind") == "ReplicationController") {
    controller.map = read_labels(selector);
  } else {
    controller.selector = read_label_selector(selector);
  }
  return controller;
}

PersistentVolume read_persistent_volume(const Json& object) {
  const Json& spec = child(object, "spec");
  const Json& claim = child(spec, "claimRef");
  PersistentVolume volume;
  volume.name = name_of(object);
  volume.labels = read_labels(child(object, "metadata", "labels"));
  volume.storage_class = read_storage_class_name(object);
  volume.capacity_bytes = read_bytes(child(spec, "capacity"), "storage").value_or(0);
  volume.access_modes = read_texts(child(spec, "accessModes"));
  volume.volume_mode = read_volume_mode(spec);
  volume.attributes_class = text(spec, "volumeAttributesClassName");
  const Json& required = child(spec, "nodeAffinity", "required");
  if (required.is_object()) volume.node_affinity = read_node_selector(required);
  volume.claim_space = text(claim, "namespace");
  volume.claim_name = text(claim, "name");
  volume.claim_uid = text(claim, "uid");
  volume.available = text(child(object, "status"), "phase") == "Available";
  volume.deleting = is_deleting(object);
  volume.csi_driver = text(child(spec, "csi"), "driver");
  volume.csi_handle = text(child(spec, "csi"), "volumeHandle");
  volume.disk = read_disk(spec);
  return volume;
}

Claim read_claim(const Json& object) {
  const Json& spec = child(object, "spec");
  Claim claim;
  claim.space = space_of(object);
  claim.name = name_of(object);
  claim.uid = text(child(object, "metadata"), "uid");
  claim.controller = read_controller_reference(object);
  claim.storage_class = read_storage_class_name(object);
  claim.volume_name = text(spec, "volumeName");
  claim.volume_mode = read_volume_mode(spec);
  claim.attributes_class = text(spec, "volumeAttributesClassName");
  claim.access_modes = read_texts(child(spec, "accessModes"));
  claim.request_bytes = read_bytes(child(spec, "resources", "requests"), "storage");
  claim.selector = read_label_selector(child(spec, "selector"));
  claim.lost = text(child(object, "status"), "phase") == "Lost";
  claim.deleting = is_deleting(object);
  claim.bind_completed = annotation(object, "pv.kubernetes.io/bind-completed").has_value();
  claim.selected_node = annotation(object, "volume.kubernetes.io/selected-node");
  return claim;
}

StorageClass read_storage_class(const Json& object) {
  StorageClass result;
  result.name = name_of(object);
  result.provisioner = text(object, "provisioner");
  result.waits_for_first_consumer = text(object, "volumeBindingMode") == "WaitForFirstConsumer";
  for (const Json& term : child(object, "allowedTopologies")) {
    std::vector<Requirement> requirements;
    for (const Json& entry : child(term, "matchLabelExpressions")) {
      requirements.push_back({text(entry, "key"), "In", read_texts(child(entry, "values"))});
    }
    result.allowed_topologies.push_back(std::move(requirements));
  }
  return result;
}

CsiNode read_csi_node(const Json& object) {
  CsiNode node;
  for (const Json& driver : child(object, "spec", "drivers")) {
    node.drivers.push_back({text(driver, "name"), integer(child(driver, "allocatable"), "count")});
  }
  return node;
}

CsiDriver read_csi_driver(const Json& object) {
  const Json& spec = child(object, "spec");
  return {child(spec, "storageCapacity") == true,
          child(spec, "preventPodSchedulingIfMissing") == true};
}

CsiStorageCapacity read_csi_storage_capacity(const Json& object) {
  return {text(object, "storageClassName"), read_label_selector(child(object, "nodeTopology")),
          read_bytes(object, "capacity"), read_bytes(object, "maximumVolumeSize")};
}

}  // namespace oracle::defaults
