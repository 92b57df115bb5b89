// The arguments of NodeResourcesBalancedAllocation; args.h has the contract.
#pragma once

#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

// Up to Kubernetes 1.35: the balance with the pod. From 1.36: the change of balance around 75.
struct BalancedAllocationArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  friend bool operator==(const BalancedAllocationArgs&, const BalancedAllocationArgs&) = default;
};

void fields(auto& state, const BalancedAllocationArgs& args) {
  const auto& [resources] = args;
  state(resources);
}

void read_args(const ConfigValue& value, const Profile& profile, BalancedAllocationArgs& args);
Result<void> check_args(const BalancedAllocationArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
