// The arguments of PodTopologySpread; args.h has the contract.
#pragma once

#include <vector>

#include "engine/profile/args/args.h"
#include "objects/objects.h"

namespace headroom {

struct PodTopologySpreadArgs {
  // defaultingType System (default_constraints is empty then) or List.
  bool system_defaults = true;
  std::vector<TopologySpreadConstraint> default_constraints;  // without selectors
  friend bool operator==(const PodTopologySpreadArgs&, const PodTopologySpreadArgs&) = default;
};

void fields(auto& state, const PodTopologySpreadArgs& args) {
  const auto& [system_defaults, default_constraints] = args;
  state(system_defaults, default_constraints);
}

void read_args(const ConfigValue& value, const Profile& profile, PodTopologySpreadArgs& args);
Result<void> check_args(const PodTopologySpreadArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
