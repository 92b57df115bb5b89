#include "simulation/figures/intervals.h"

#include "objects/int128.h"

namespace headroom {

std::vector<IntervalReport> Intervals::over(std::int64_t begin_us, std::int64_t end_us) const {
  const std::int64_t count = end_us > begin_us ? kReportIntervals : 1;
  const auto border = [&](std::int64_t number) {
    return begin_us + static_cast<std::int64_t>(Int128{end_us - begin_us} * number / count);
  };
  std::vector<IntervalReport> intervals;
  auto at = at_.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    IntervalReport& interval = intervals.emplace_back();
    interval.begin_us = border(i);
    interval.end_us = border(i + 1);
    for (; at != at_.end() && (i + 1 == count || at->first < interval.end_us); ++at) {
      interval.preemptors += at->second.preemptors;
      interval.victims += at->second.victims;
      interval.victims_placed_again += at->second.victims_placed_again;
    }
  }
  return intervals;
}

}  // namespace headroom
