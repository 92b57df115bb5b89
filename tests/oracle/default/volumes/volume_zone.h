// VolumeZone: zone and region labels of bound volumes against the node's.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class VolumeZonePlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;

 private:
  struct Topology {
    std::string key;
    std::set<std::string> values;
  };

  // Of all bound volumes, or why the pod cannot be placed.
  Status find_topologies(std::vector<Topology>& topologies) const;
  static void add_topologies(const PersistentVolume& volume, std::vector<Topology>& topologies);
};

}  // namespace oracle::defaults
