#include "simulation/figures/speed_report.h"

#include <algorithm>
#include <cstddef>

namespace headroom {
namespace {

// The one that `permille` of the sorted latencies do not exceed.
double rank_us(const std::vector<std::int64_t>& latencies_ns, std::uint32_t permille) {
  if (latencies_ns.empty()) return 0;
  const std::size_t rank = (latencies_ns.size() * permille + 999) / 1000;
  return static_cast<double>(latencies_ns[std::max<std::size_t>(rank, 1) - 1]) / 1000;
}

}  // namespace

double SpeedReport::latency_us(std::uint32_t permille) const {
  return rank_us(latencies_ns, permille);
}
double SpeedReport::preemption_latency_us(std::uint32_t permille) const {
  return rank_us(preemption_latencies_ns, permille);
}

}  // namespace headroom
