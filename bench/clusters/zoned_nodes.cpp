#include "bench/clusters/zoned_nodes.h"

#include <fmt/format.h>

#include "objects/labels.h"

namespace headroom {

std::string node_name(std::uint32_t n) { return fmt::format("node-{}", n); }

std::string zone_name(std::uint32_t zone) { return fmt::format("zone-{}", zone); }

Node zoned_node(std::uint32_t n, std::uint32_t zones, std::int64_t cores) {
  Node node;
  node.name = node_name(n);
  node.labels = {{kHostnameLabel, node.name}, {kZoneLabel, zone_name(n % zones)}};
  node.allocatable = {{"cpu", Quantity::from_value(cores)},
                      {"memory", Quantity::from_value((cores * 4) << 30)},
                      {"pods", Quantity::from_value(110)}};
  node.capacity = node.allocatable;
  return node;
}

}  // namespace headroom
