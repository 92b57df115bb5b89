// The arguments of CapacityScheduling; args.h has the contract.
#pragma once

#include "engine/profile/args/args.h"

namespace headroom {

struct CapacitySchedulingArgs {
  // Mode Proposal only: where no single node's victims help, victims on other nodes too.
  bool cross_node_preemption = false;
  friend bool operator==(const CapacitySchedulingArgs&, const CapacitySchedulingArgs&) = default;
};

void fields(auto& state, const CapacitySchedulingArgs& args) {
  const auto& [cross_node_preemption] = args;
  state(cross_node_preemption);
}

void read_args(const ConfigValue& value, const Profile& profile, CapacitySchedulingArgs& args);
Result<void> check_args(const CapacitySchedulingArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
