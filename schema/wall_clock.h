// The machine's clock as both ends of a connection write it down.
//
// Thread safety: any number of threads. It may jump, as such clocks do. Cost: one look at the
// clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace headroom {

// Microseconds since the Unix epoch.
inline std::int64_t wall_clock_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace headroom
