#include "simulation/figures/speed_report.h"

#include "simulation/figures/ranks.h"

namespace headroom {

double SpeedReport::latency_us(std::uint32_t permille) const {
  return static_cast<double>(at_permille(latencies_ns, permille)) / 1000;
}
double SpeedReport::preemption_latency_us(std::uint32_t permille) const {
  return static_cast<double>(at_permille(preemption_latencies_ns, permille)) / 1000;
}

}  // namespace headroom
