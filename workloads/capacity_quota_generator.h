// CapacityQuotaGenerator: CapacityQuotas over the labels of a synthetic cluster's nodes.
//
// The first quota is for all nodes, then come one for each zone and each pool; the others take a
// zone and a pool, a machine type, a machine type in two zones, or all pools but one, of a node
// drawn from the seed. So they nest and overlap, and each selects some node. Each limits two to
// four of cpu, memory, nodes and nvidia.com/gpu to 2 to 25 percent more than the nodes have that it
// selects.
//
// Any object is made on its own, from the nodes and its index. Thread safety: const after the last
// add(). Cost: add() O(log kinds), a quota O(kinds of nodes).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "objects/objects.h"

namespace headroom {

class CapacityQuotaGenerator {
 public:
  explicit CapacityQuotaGenerator(std::uint64_t seed) : seed_(seed) {}

  // A node of zone, pool and machine type, and of that capacity.
  struct Kind {
    std::string zone, pool, instance_type;
    auto operator<=>(const Kind&) const = default;
  };
  struct Amounts {
    std::int64_t nodes = 0, cpu_milli = 0, memory_mib = 0, gpu = 0;
  };
  void add(const Kind& kind, const Amounts& capacity);

  // Some node was added.
  CapacityQuota capacity_quota(std::uint32_t index) const;

 private:
  const std::uint64_t seed_;
  std::map<Kind, Amounts> kinds_;
};

}  // namespace headroom
