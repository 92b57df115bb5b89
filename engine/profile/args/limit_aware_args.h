// The arguments of LimitAware; args.h has the contract.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

struct LimitAwareArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  // Percent of allocatable by resource; nullopt where none is configured.
  std::optional<ResourcePercents> default_limit_to_allocatable_ratio;
  // Mode Upstream only: resources whose configured ratio is no percentage, and its text. As there,
  // a node that would use one (the resource is cpu, memory or ephemeral-storage, or the node has
  // it) answers Error; a node with an annotation of its own does not use it.
  std::map<std::string, std::string> bad_default_ratios;
  friend bool operator==(const LimitAwareArgs&, const LimitAwareArgs&) = default;
};

void fields(auto& state, const LimitAwareArgs& args) {
  const auto& [resources, default_ratio, bad_default_ratios] = args;
  state(resources, default_ratio, bad_default_ratios);
}

void read_args(const ConfigValue& value, const Profile& profile, LimitAwareArgs& args);
Result<void> check_args(const LimitAwareArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
