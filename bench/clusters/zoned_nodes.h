// Nodes in zones and their names, for the rows that measure kube-scheduler's default profile.
#pragma once

#include <cstdint>
#include <string>

#include "objects/objects.h"

namespace headroom {

std::string node_name(std::uint32_t n);
std::string zone_name(std::uint32_t zone);
// Node n in one of so many zones, in turns; it has 4 GiB a core, and room for 110 pods.
Node zoned_node(std::uint32_t n, std::uint32_t zones, std::int64_t cores);

}  // namespace headroom
