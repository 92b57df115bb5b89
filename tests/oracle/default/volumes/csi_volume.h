// Which CSI volume a claim or an inline disk is, for counting: a driver and a handle.
#pragma once

#include "oracle/default/facts.h"

namespace oracle::defaults {

struct CsiVolume {
  std::string driver, handle;

  auto operator<=>(const CsiVolume&) const = default;
};

// Whether CSI drivers have taken over disks of that kind, so that they may be counted.
bool is_migratable(const Disk& disk);

// nullopt for what is not counted. `has_csi_node`: whether the node has a CSINode object, without
// which in-tree disks are not counted.
std::optional<CsiVolume> csi_volume_of(const Facts& facts, const Claim& claim, bool has_csi_node);
std::optional<CsiVolume> csi_volume_of_inline(const Disk& disk, bool has_csi_node);

}  // namespace oracle::defaults
