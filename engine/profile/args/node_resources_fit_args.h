// The arguments of NodeResourcesFit; args.h has the contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

struct NodeResourcesFitArgs {
  enum class Strategy : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };
  using ShapePoint = headroom::ShapePoint;
  Strategy strategy = Strategy::kLeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;
  std::vector<std::string> ignored_resources;        // extended resources, by name
  std::vector<std::string> ignored_resource_groups;  // by prefix before "/"
  friend bool operator==(const NodeResourcesFitArgs&, const NodeResourcesFitArgs&) = default;
};

void fields(auto& state, const NodeResourcesFitArgs& args) {
  const auto& [strategy, resources, shape, ignored_resources, ignored_resource_groups] = args;
  state(strategy, resources, shape, ignored_resources, ignored_resource_groups);
}

void read_args(const ConfigValue& value, const Profile& profile, NodeResourcesFitArgs& args);
Result<void> check_args(const NodeResourcesFitArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
