// Int128: sums and products of int64 that overflow nowhere.
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

// Wide enough for nanos: |int64| * 1e9 < 2^94, so sums of billions of quantities cannot overflow.
__extension__ typedef __int128 Int128;
// The nearest that int64 has.
constexpr std::int64_t saturated(Int128 sum) {
  return static_cast<std::int64_t>(std::clamp<Int128>(sum, INT64_MIN, INT64_MAX));
}

}  // namespace headroom
