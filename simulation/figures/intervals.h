// Intervals: how many pods had to go, for how many, and came back, over a simulation's time.
//
// Thread safety: one thread at a time. Cost: O(log moments) for at().
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace headroom {

// Equal parts of a simulation's time.
inline constexpr std::uint32_t kReportIntervals = 10;

// What happened from begin_us on, before end_us; the last interval has its end too.
struct IntervalReport {
  std::int64_t begin_us = 0, end_us = 0;
  std::uint64_t preemptors = 0, victims = 0, victims_placed_again = 0;
};

class Intervals {
 public:
  // To add to what is counted at this moment; its begin and end mean nothing.
  IntervalReport& at(std::int64_t time_us) { return at_[time_us]; }
  // kReportIntervals of them; one where no time passes.
  std::vector<IntervalReport> over(std::int64_t begin_us, std::int64_t end_us) const;

 private:
  std::map<std::int64_t, IntervalReport> at_;
};

}  // namespace headroom
