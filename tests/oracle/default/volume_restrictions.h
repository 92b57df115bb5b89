// VolumeRestrictions: disks that only one pod of a node may use, and ReadWriteOncePod claims.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class VolumeRestrictionsPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;

 private:
  bool is_read_write_once_pod_claim_used() const;
};

}  // namespace oracle::defaults
