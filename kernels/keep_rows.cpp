// The bound of a preemption: rows that cannot have room whoever goes are let go.
#include "kernels/parts.h"
#include "objects/assert.h"

namespace headroom::HEADROOM_ISA {

// The true headroom is below the float after the narrow one. Every rounding here, that one and a
// sum's at most kGivenBackMax + 2, is below 2^-23 of the terms' magnitudes.
constexpr float kBoundSlack = 0x1p-19f;
static_assert(kGivenBackMax + 3 <= 1 << 4);

void keep_rows(const float* headroom, std::span<const float* const> given_back, float need_low,
               std::uint32_t count, std::uint64_t* rows) {
  HEADROOM_ASSERT(given_back.size() <= kGivenBackMax);
  const Float need(need_low);
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    Float most(0.0f), magnitude(0.0f);
    if (headroom != nullptr) {
      most = Float::load_unaligned(headroom + i);
      magnitude = xsimd::abs(most);
    }
    for (const float* column : given_back) {
      const Float back = Float::load_unaligned(column + i);
      most = most + back;
      magnitude = magnitude + back;
    }
    const std::uint64_t short_of = bits(fma(magnitude, Float(kBoundSlack), most) < need);
    rows[i / 64] &= ~(short_of << (i % 64));
  }
}

}  // namespace headroom::HEADROOM_ISA
