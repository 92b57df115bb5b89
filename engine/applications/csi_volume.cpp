#include "engine/applications/csi_volume.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "objects/labels.h"

namespace headroom {

namespace {

struct Migration {
  std::string_view disk;         // the field of the volume source
  std::string_view provisioner;  // the in-tree one
  std::string_view driver;
  bool counted;  // what NodeVolumeLimits takes for migrated
};
constexpr std::array<Migration, 7> kMigrations = {{
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true},
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", true},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", true},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", true},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com", true},
    {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com", false},
    {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", false},
}};

const Migration* of_disk(std::string_view kind) {
  for (const Migration& migration : kMigrations) {
    if (migration.disk == kind) {
      return &migration;
    }
  }
  return nullptr;
}

const Migration* of_provisioner(std::string_view name) {
  for (const Migration& migration : kMigrations) {
    if (migration.provisioner == name) {
      return &migration;
    }
  }
  return nullptr;
}

// europe-west1 of europe-west1-b; empty where it is no such name.
std::string gce_region(std::string_view zone) {
  const std::size_t first = zone.find('-');
  const std::size_t second = first == zone.npos ? zone.npos : zone.find('-', first + 1);
  const bool three = second != zone.npos && zone.find('-', second + 1) == zone.npos;
  return three ? std::string(zone.substr(0, second)) : std::string();
}

// zones/ZONE or regions/REGION, by the volume's zone label; nullopt: no handle can be made.
std::optional<std::string> gce_place(const StringMap& labels) {
  std::string_view zones;
  for (const std::string_view key : {"failure-domain.beta.kubernetes.io/zone", kZoneLabel}) {
    if (const std::string* label = find(labels, key); zones.empty() && label != nullptr) {
      zones = *label;
    }
  }
  constexpr std::string_view kBetween = "__";
  if (zones.find(kBetween) == zones.npos) {
    return "zones/" + (zones.empty() ? std::string("UNSPECIFIED") : std::string(zones));
  }
  std::set<std::string> regions;
  for (std::size_t from = 0; from != zones.npos;) {
    const std::size_t end = zones.find(kBetween, from);
    regions.insert(gce_region(zones.substr(from, end == zones.npos ? end : end - from)));
    from = end == zones.npos ? end : end + kBetween.size();
  }
  return regions.size() != 1 || regions.contains("") ? std::nullopt
                                                     : std::optional("regions/" + *regions.begin());
}

// vol-ID of aws://ZONE/vol-ID.
std::optional<std::string> aws_handle(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) {
    return id;
  }
  const std::size_t slash = id.find('/', kScheme.size());
  if (slash == std::string::npos) {
    return std::nullopt;
  }
  std::string_view volume = std::string_view(id).substr(slash + 1);
  while (volume.starts_with('/')) {
    volume.remove_prefix(1);
  }
  while (volume.ends_with('/')) {
    volume.remove_suffix(1);
  }
  return volume.starts_with("vol-") && volume.find('/') == volume.npos
             ? std::optional(std::string(volume))
             : std::nullopt;
}

std::optional<CsiVolume> translated(const Disk& disk, const StringMap& labels, bool has_csi_node) {
  const Migration* migration = of_disk(disk.kind);
  if (migration == nullptr || !migration->counted || !has_csi_node) {
    return std::nullopt;
  }
  std::optional<std::string> handle = disk.id;
  if (disk.kind == "awsElasticBlockStore") {
    handle = aws_handle(disk.id);
  } else if (disk.kind == "gcePersistentDisk") {
    handle = gce_place(labels);
    if (handle) {
      handle = "projects/UNSPECIFIED/" + *handle + "/disks/" + disk.id;
    }
  }
  return handle ? std::optional(CsiVolume{std::string(migration->driver), *handle}) : std::nullopt;
}

// Before a claim has its volume it counts as one of its own, of its class's provisioner.
std::optional<CsiVolume> by_class(const ReferredObjects& referred,
                                  const PersistentVolumeClaim& claim, bool has_csi_node) {
  const auto* storage_class =
      referred.find<StorageClass>(ReferredKind::kStorageClass, claim.storage_class);
  if (claim.storage_class.empty() || storage_class == nullptr) {
    return std::nullopt;
  }
  std::string driver = storage_class->provisioner;
  if (const Migration* migration = of_provisioner(driver); migration != nullptr) {
    if (!migration->counted || !has_csi_node) {
      return std::nullopt;
    }
    driver = migration->driver;
  }
  // No volume's handle begins so.
  return CsiVolume{driver, "claim " + pod_key(claim.namespace_name, claim.name)};
}

}  // namespace

const CsiNode::Driver* driver_of(const CsiNode* csi_node, std::string_view name) {
  if (csi_node == nullptr) {
    return nullptr;
  }
  const auto found =
      std::find_if(csi_node->drivers.begin(), csi_node->drivers.end(),
                   [&](const CsiNode::Driver& driver) { return driver.name == name; });
  return found == csi_node->drivers.end() ? nullptr : &*found;
}

bool is_migratable(const Disk& disk) { return of_disk(disk.kind) != nullptr; }

std::optional<CsiVolume> csi_volume_of(const ReferredObjects& referred,
                                       const PersistentVolumeClaim& claim, bool has_csi_node) {
  const auto* volume =
      claim.volume_name.empty()
          ? nullptr
          : referred.find<PersistentVolume>(ReferredKind::kPersistentVolume, claim.volume_name);
  if (volume == nullptr) {
    return by_class(referred, claim, has_csi_node);
  }
  if (volume->disk) {
    return translated(*volume->disk, volume->labels, has_csi_node);
  }
  return volume->csi_driver.empty() || volume->csi_handle.empty()
             ? std::nullopt
             : std::optional(CsiVolume{volume->csi_driver, volume->csi_handle});
}

std::optional<CsiVolume> csi_volume_of(const Disk& disk, bool has_csi_node) {
  return translated(disk, {}, has_csi_node);
}

}  // namespace headroom
