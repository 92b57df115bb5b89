// SpeedReport: how long the engine of a simulation took.
//
// Thread safety: a plain value. Cost of a question: O(1).
#pragma once

#include <cstdint>
#include <vector>

namespace headroom {

struct SpeedReport {
  // Decisions, departures, clock, metrics, autoscaler and who waits; not input or output.
  double seconds = 0;
  double autoscaler_seconds = 0;           // of it, what nodes to ask for
  std::vector<std::int64_t> latencies_ns;  // of every decision, sorted: evaluate and assume
  // Of every question who must go, sorted: post_filter alone.
  std::vector<std::int64_t> preemption_latencies_ns;
  // The latency that `permille` of the decisions do not exceed; 0 without any.
  double latency_us(std::uint32_t permille) const;
  double preemption_latency_us(std::uint32_t permille) const;
};

}  // namespace headroom
