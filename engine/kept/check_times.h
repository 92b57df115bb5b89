// What times of objects may be: so far from 0 that no clock comes near, and no further, so that a
// time and a duration add up.
#pragma once

#include <cstdint>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// 36,000 years.
inline constexpr std::int64_t kTimeMaxUs = std::int64_t{1} << 60;
constexpr bool is_time(std::int64_t time_us) {
  return time_us >= -kTimeMaxUs && time_us <= kTimeMaxUs;
}

// kLimitExceeded, which names object, field and time.
Result<void> check_times(const Pod& pod);
Result<void> check_times(const NodeMetric& metric);

}  // namespace headroom
