// CsiVolume: a volume as NodeVolumeLimits counts it, by driver and handle.
//
// Source: kube-scheduler v1.37 plugins/nodevolumelimits and csi-translation-lib: an in-tree disk
// counts as its CSI driver's on a node that has a CSINode. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/kept/referred_objects.h"
#include "objects/objects.h"

namespace headroom {

struct CsiVolume {
  std::string driver, handle;
  friend auto operator<=>(const CsiVolume&, const CsiVolume&) = default;
};

// Whether a CSI driver has taken over disks of that kind.
bool is_migratable(const Disk& disk);

// What the node's CSINode says of a driver; nullptr: nothing, or there is no CSINode.
const CsiNode::Driver* driver_of(const CsiNode* csi_node, std::string_view name);

// nullopt for what is not counted.
std::optional<CsiVolume> csi_volume_of(const ReferredObjects& referred,
                                       const PersistentVolumeClaim& claim, bool has_csi_node);
std::optional<CsiVolume> csi_volume_of(const Disk& disk, bool has_csi_node);

}  // namespace headroom
