// The arguments of VolumeBinding; args.h has the contract.
#pragma once

#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

struct VolumeBindingArgs {
  // Kubernetes 1.37 and later: the score by utilization; as for NodeResourcesFit.
  std::vector<ShapePoint> shape = {{0, 10}, {100, 0}};
  friend bool operator==(const VolumeBindingArgs&, const VolumeBindingArgs&) = default;
};

void fields(auto& state, const VolumeBindingArgs& args) {
  const auto& [shape] = args;
  state(shape);
}

void read_args(const ConfigValue& value, const Profile& profile, VolumeBindingArgs& args);
Result<void> check_args(const VolumeBindingArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
