// The limit-to-allocatable ratio of a node: annotation or default, in percent, by resource.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "oracle/cycle.h"

namespace oracle {

// A percentage, or nullopt for a value that Upstream only finds bad when it uses it.
using Ratio = std::map<std::string, std::optional<std::int64_t>>;

// proposal-rules.md, LimitAware: a bad annotation is ignored as a whole, a bad default throws
// std::invalid_argument. Upstream: nullopt when the JSON does not fit the type (an Error).
std::optional<Ratio> node_ratio(const Cycle& cycle, const Json& node);

}  // namespace oracle
