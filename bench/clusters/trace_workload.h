// The trace's pods, repeated, and nodes of its shapes: what the place rows put where.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "objects/objects.h"

namespace headroom {

// The trace's pods, each under its own name; and the order of arrivals and departures.
struct TraceWorkload {
  struct Step {
    std::int64_t second;
    bool arrival;  // a pod that leaves when another arrives leaves first
    std::uint32_t pod;
  };
  std::vector<Pod> pods;
  std::vector<Step> steps;
};

TraceWorkload make_trace_workload(std::uint32_t pods, bool departures, std::uint64_t seed);

// Nodes of the trace's shapes with a metric each, of 5 to 30 percent of the node.
void for_each_trace_node(std::uint32_t nodes, std::uint64_t seed,
                         const std::function<void(const Node&, const NodeMetric&)>& use);

}  // namespace headroom
