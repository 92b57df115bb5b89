// VolumeRestrictions: disks that only one pod of a node may use, and ReadWriteOncePod claims.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class VolumeRestrictionsPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
  void add_pod(const Pod& placed, const Node&) override { count(placed, 1); }
  void remove_pod(const Pod& placed, const Node&) override { count(placed, -1); }

 private:
  bool is_used(const std::string& claim) const;
  void count(const Pod& placed, std::int64_t change);

  // From PreFilter on: the pod's ReadWriteOncePod claims, and how many of them somebody uses.
  std::set<std::string> once_;
  std::int64_t conflicts_ = 0;
};

}  // namespace oracle::defaults
