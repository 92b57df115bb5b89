// The node annotation node.koordinator.sh/limit-to-allocatable: percent of allocatable that limits
// may reach, by resource. Pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/profile/profile.h"

namespace headroom {

// A JSON map of resource to percent. Mode Proposal: a non-negative integer (125) or digits and %
// ("125%"); one bad value makes the whole bad: nullopt. Mode Upstream: as Go reads
// map[ResourceName]intstr.IntOrString and takes its percentage: nullopt where the JSON is bad;
// resources whose value is no percentage are listed in `bad`.
struct LimitRatio {
  ResourcePercents percents;
  std::vector<std::string> bad;
};
std::optional<LimitRatio> parse_limit_ratio(std::string_view json, Mode mode);

}  // namespace headroom
