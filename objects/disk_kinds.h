// The disks that a volume may name itself, in-tree, and the field of each that says which disk it
// is. Internal to objects/.
#pragma once

#include <algorithm>
#include <string_view>

namespace headroom {

struct DiskKind {
  std::string_view kind, id;
};

inline constexpr std::string_view kRbd = "rbd";
inline constexpr DiskKind kDiskKinds[] = {
    {"gcePersistentDisk", "pdName"},
    {"awsElasticBlockStore", "volumeID"},
    {"azureDisk", "diskURI"},
    {"cinder", "volumeID"},
    {"portworxVolume", "volumeID"},
    {"azureFile", "shareName"},
    {"vsphereVolume", "volumePath"},
    {"iscsi", "iqn"},
    {kRbd, "image"},
};
// The pool of an RBD image that names none.
inline constexpr std::string_view kRbdPoolDefault = "rbd";

// nullptr: another field.
inline const DiskKind* find_disk_kind(std::string_view field) {
  const auto* found = std::find_if(std::begin(kDiskKinds), std::end(kDiskKinds),
                                   [&](const DiskKind& kind) { return kind.kind == field; });
  return found == std::end(kDiskKinds) ? nullptr : found;
}

}  // namespace headroom
