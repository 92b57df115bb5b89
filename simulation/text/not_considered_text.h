// What decisions left out, in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects/not_considered.h"

namespace headroom {

// "5 pods ask for required pod anti-affinity, which was not considered". `there`: pods that were on
// their nodes before.
std::string not_considered_text(NotConsidered what, std::uint64_t pods, bool there = false);
std::vector<std::string> names_of(NotConsideredSet set);

}  // namespace headroom
