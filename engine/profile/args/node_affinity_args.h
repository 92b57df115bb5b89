// The arguments of NodeAffinity; args.h has the contract.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/profile/args/args.h"
#include "objects/objects.h"

namespace headroom {

// Of a preferred term of addedAffinity: what the field holds. Sums of 40 million terms are exact.
inline constexpr std::int64_t kAddedWeightMax = INT32_MAX;

struct NodeAffinityArgs {
  // addedAffinity: what every pod of the profile asks for besides.
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<PreferredSchedulingTerm> preferred;  // weights in [0, kAddedWeightMax]
  friend bool operator==(const NodeAffinityArgs&, const NodeAffinityArgs&) = default;
};

void fields(auto& state, const NodeAffinityArgs& args) {
  const auto& [required, preferred] = args;
  state(required, preferred);
}

void read_args(const ConfigValue& value, const Profile& profile, NodeAffinityArgs& args);
Result<void> check_args(const NodeAffinityArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
