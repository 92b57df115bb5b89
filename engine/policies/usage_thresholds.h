// The node annotations that LoadAwareScheduling reads as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/profile/profile.h"
#include "objects/objects.h"

namespace headroom {

// scheduling.koordinator.sh/usage-thresholds
struct UsageThresholds {
  ResourcePercents usage, prod, aggregated;
  std::string aggregation_type;
  std::int64_t aggregated_duration_us = 0;
};

// As Go reads it into koordinator's CustomUsageThresholds: keys match whatever their case; nullopt
// where anything is of the wrong kind. Mode Proposal: also where a threshold is negative.
std::optional<UsageThresholds> parse_usage_thresholds(std::string_view json, Mode mode);

// node.koordinator.sh/raw-allocatable: a map of resource to quantity; nullopt where it is none, or
// where a quantity is below 0. Mode Upstream: as Go reads a ResourceList: a number is a quantity,
// null is 0, and blanks around a quantity do not count. Mode Proposal: texts and whole numbers.
std::optional<ResourceList> parse_resource_list(std::string_view json, Mode mode);

}  // namespace headroom
