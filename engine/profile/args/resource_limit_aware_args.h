// The arguments of ResourceLimitAware; args.h has the contract.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/profile/args/args.h"
#include "objects/pod_resources.h"
#include "objects/quantity.h"

namespace headroom {

struct ResourceLimitAwareArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  // The limit of a container that states neither limit nor request; nullopt: the node's
  // allocatable.
  std::map<std::string, std::optional<Quantity>> default_limit = {
      {"cpu", Quantity::from_milli(kDefaultMilliCpu)},
      {"memory", Quantity::from_value(kDefaultMemoryBytes)}};
  friend bool operator==(const ResourceLimitAwareArgs&, const ResourceLimitAwareArgs&) = default;
};

void fields(auto& state, const ResourceLimitAwareArgs& args) {
  const auto& [resources, default_limit] = args;
  state(resources, default_limit);
}

void read_args(const ConfigValue& value, const Profile& profile, ResourceLimitAwareArgs& args);
Result<void> check_args(const ResourceLimitAwareArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
