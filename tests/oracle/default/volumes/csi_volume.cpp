// See csi_volume.h. default-plugins.md says "distinct handles per driver"; that an in-tree disk
// counts as its CSI driver's on a node with a CSINode is decided by the cases (GCE disks) and by
// csi-translation-lib (the others).
#include "oracle/default/volumes/csi_volume.h"

#include <set>

namespace oracle::defaults {
namespace {

struct Migration {
  std::string driver;
  bool counted = false;  // nodevolumelimits' isCSIMigrationOn
};

// By the field of the volume source; and the name of its in-tree provisioner.
const std::map<std::string, Migration> kMigrations{
    {"gcePersistentDisk", {"pd.csi.storage.gke.io", true}},
    {"awsElasticBlockStore", {"ebs.csi.aws.com", true}},
    {"azureDisk", {"disk.csi.azure.com", true}},
    {"cinder", {"cinder.csi.openstack.org", true}},
    {"portworxVolume", {"pxd.portworx.com", true}},
    {"azureFile", {"file.csi.azure.com", false}},
    {"vsphereVolume", {"csi.vsphere.vmware.com", false}},
};
const std::map<std::string, std::string> kProvisioners{
    {"kubernetes.io/gce-pd", "gcePersistentDisk"},
    {"kubernetes.io/aws-ebs", "awsElasticBlockStore"},
    {"kubernetes.io/azure-disk", "azureDisk"},
    {"kubernetes.io/cinder", "cinder"},
    {"kubernetes.io/portworx-volume", "portworxVolume"},
    {"kubernetes.io/azure-file", "azureFile"},
    {"kubernetes.io/vsphere-volume", "vsphereVolume"},
};

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string::npos;
       at = text.find(separator, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + separator.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

// zones/ZONE or regions/REGION by the volume's zone label; nullopt where no region is to be had.
std::optional<std::string> gce_place(const Labels& labels) {
  std::string zones;
  for (const char* key :
       {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"}) {
    const auto found = labels.find(key);
    if (zones.empty() && found != labels.end()) zones = found->second;
  }
  const std::vector<std::string> listed = split(zones, "__");
  if (listed.size() == 1) return "zones/" + (zones.empty() ? "UNSPECIFIED" : zones);
  std::set<std::string> regions;
  for (const std::string& zone : listed) {
    const std::vector<std::string> parts = split(zone, "-");
    if (parts.size() != 3) return std::nullopt;
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() != 1) return std::nullopt;
  return "regions/" + *regions.begin();
}

// aws://ZONE/vol-ID is vol-ID.
std::optional<std::string> aws_volume(const std::string& id) {
  if (!id.starts_with("aws://")) return id;
  const std::size_t slash = id.find('/', 6);
  if (slash == std::string::npos) return std::nullopt;
  std::string volume = id.substr(slash + 1);
  while (volume.starts_with("/")) volume.erase(0, 1);
  while (volume.ends_with("/")) volume.pop_back();
  if (!volume.starts_with("vol-") || volume.find('/') != std::string::npos) return std::nullopt;
  return volume;
}

std::optional<CsiVolume> translate(const Disk& disk, const Labels& labels, bool has_csi_node) {
  const auto migration = kMigrations.find(disk.kind);
  if (migration == kMigrations.end() || !migration->second.counted || !has_csi_node) {
    return std::nullopt;
  }
  std::optional<std::string> handle = disk.id;
  if (disk.kind == "awsElasticBlockStore") handle = aws_volume(disk.id);
  if (disk.kind == "gcePersistentDisk") {
    const std::optional<std::string> place = gce_place(labels);
    handle = place ? std::optional("projects/UNSPECIFIED/" + *place + "/disks/" + disk.id)
                   : std::nullopt;
  }
  if (!handle) return std::nullopt;
  return CsiVolume{migration->second.driver, *handle};
}

// Before the claim has a volume it counts as one of its own, of its class's provisioner.
std::optional<CsiVolume> by_storage_class(const Facts& facts, const Claim& claim,
                                          bool has_csi_node) {
  const auto found = facts.storage_classes.find(claim.storage_class);
  if (claim.storage_class.empty() || found == facts.storage_classes.end()) return std::nullopt;
  const std::string handle = "claim " + claim.space + "/" + claim.name;
  const auto in_tree = kProvisioners.find(found->second.provisioner);
  if (in_tree == kProvisioners.end()) return CsiVolume{found->second.provisioner, handle};
  const Migration& migration = kMigrations.at(in_tree->second);
  if (!migration.counted || !has_csi_node) return std::nullopt;
  return CsiVolume{migration.driver, handle};
}

}  // namespace

bool is_migratable(const Disk& disk) { return kMigrations.contains(disk.kind); }

std::optional<CsiVolume> csi_volume_of(const Facts& facts, const Claim& claim, bool has_csi_node) {
  const auto found = facts.persistent_volumes.find(claim.volume_name);
  if (claim.volume_name.empty() || found == facts.persistent_volumes.end()) {
    return by_storage_class(facts, claim, has_csi_node);
  }
  const PersistentVolume& volume = found->second;
  if (volume.disk) return translate(*volume.disk, volume.labels, has_csi_node);
  if (volume.csi_driver.empty() || volume.csi_handle.empty()) return std::nullopt;
  return CsiVolume{volume.csi_driver, volume.csi_handle};
}

std::optional<CsiVolume> csi_volume_of_inline(const Disk& disk, bool has_csi_node) {
  return translate(disk, {}, has_csi_node);
}

}  // namespace oracle::defaults
