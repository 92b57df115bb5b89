// Reads memory as fast as the machine can: what benchmarks hold the kernels against.
#include "kernels/parts.h"

namespace headroom::HEADROOM_ISA {

std::uint64_t read_bytes(const void* bytes, std::size_t size) {
  const auto* values = static_cast<const std::int32_t*>(bytes);
  Int sums[4] = {Int(0), Int(0), Int(0), Int(0)};
  for (std::size_t i = 0; i + 4 * kLanes <= size / sizeof(std::int32_t); i += 4 * kLanes) {
    for (std::uint32_t k = 0; k < 4; ++k) {
      sums[k] = sums[k] ^ Int::load_unaligned(values + i + k * kLanes);
    }
  }
  std::int32_t lanes[kLanes];
  (sums[0] ^ sums[1] ^ sums[2] ^ sums[3]).store_unaligned(lanes);
  std::uint64_t sum = 0;
  for (const std::int32_t lane : lanes) {
    sum = sum * 31 + static_cast<std::uint32_t>(lane);
  }
  return sum;
}

}  // namespace headroom::HEADROOM_ISA
