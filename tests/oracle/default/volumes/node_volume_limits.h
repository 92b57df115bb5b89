// NodeVolumeLimits: how many volumes of a CSI driver a node may have.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class NodeVolumeLimitsPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
};

}  // namespace oracle::defaults
