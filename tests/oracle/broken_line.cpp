#include "oracle/broken_line.h"

namespace oracle {

std::int64_t broken_line(const Json& shape, std::int64_t utilization) {
  std::int64_t last_x = 0, last_y = 0;
  bool first = true;
  for (const Json& point : shape) {
    const std::int64_t x = integer(point, "utilization").value_or(0);
    const std::int64_t y = integer(point, "score").value_or(0) * 10;
    if (utilization <= x) {
      return first ? y : last_y + (y - last_y) * (utilization - last_x) / (x - last_x);
    }
    last_x = x;
    last_y = y;
    first = false;
  }
  return last_y;
}

}  // namespace oracle
