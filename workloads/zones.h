// The zones of synthetic clusters, and the labels that say where a node is.
#pragma once

#include <array>

namespace headroom {

inline constexpr std::array kZones = {"zone-a", "zone-b", "zone-c"};
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";

}  // namespace headroom
