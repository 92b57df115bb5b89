// The zones of synthetic clusters.
#pragma once

#include <array>

namespace headroom {

inline constexpr std::array kZones = {"zone-a", "zone-b", "zone-c"};

}  // namespace headroom
