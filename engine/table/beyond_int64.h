// Sums beyond int64. A single quantity fits int64 (one that does not is refused); what pods add up
// to may not. Such a sum is kept exactly, so that adding and taking away again is exact in any
// order; where int64 is asked for, it counts as the mode says.
#pragma once

#include <cstdint>

#include "objects/int128.h"

namespace headroom {

enum class BeyondInt64 : std::uint8_t {
  kSaturates,  // mode Proposal: as the nearest that int64 has
  kWraps,      // mode Upstream: as Go's int64
};

inline std::int64_t in_int64(Int128 sum, BeyondInt64 beyond) {
  return beyond == BeyondInt64::kWraps ? static_cast<std::int64_t>(sum) : saturated(sum);
}

}  // namespace headroom
