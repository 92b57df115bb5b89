// What a node has, and what a CapacityQuota's spec limits: thousandths of cpu, whole units of all
// else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "objects/objects.h"
#include "oracle/quantity.h"

namespace oracle {

inline constexpr std::string_view kNodesResource = "nodes";

// Every capacity key but `nodes`, each rounded up, those above 0 only; and one of `nodes`. Nullopt
// where an amount does not fit int64.
std::optional<std::map<std::string, std::int64_t>> node_amounts(const headroom::Node& node);

// Label type=virtual-kubelet: such nodes and templates touch no quota.
bool is_virtual(const headroom::Node& node);
// deletionTimestamp, or a taint of an autoscaler that is about to remove the node.
bool is_marked_for_deletion(const headroom::Node& node);

// One entry of spec.limits.resources.
struct SpecLimit {
  std::string resource;  // as the quota names it
  std::string counted;   // the resource that it counts: another by an alias
  Int128 limit = 0;      // in the counted resource's units, rounded down
};

// The limits of a spec that can be used, by resource; nullopt where it cannot be: an invalid
// selector, more than 20 limits, a key above 63 characters, a limit that is no quantity (also one
// beyond int64), or a negative one.
std::optional<std::map<std::string, SpecLimit>> spec_limits(const headroom::CapacityQuota& quota,
                                                            const headroom::StringMap& aliases);

}  // namespace oracle
