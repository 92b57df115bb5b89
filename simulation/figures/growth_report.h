// GrowthReport: what the autoscaler's pods and nodes of a simulation came to. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/autoscaler/autoscaler_answers.h"

namespace headroom {

struct GrowthReport {
  AutoscalerReport autoscaler;
  std::int64_t begin_us = 0, end_us = 0;  // of the simulation
  // Pods that found no place when they came or lost theirs, each time that they had to wait.
  std::uint64_t waited = 0;
  std::uint64_t waiting_at_end = 0;
  std::vector<std::int64_t> waits_us;  // of those that found one, sorted
};

}  // namespace headroom
