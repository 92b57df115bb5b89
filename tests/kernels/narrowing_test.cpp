// What the engine hands to the kernels: columns and needs in float32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "tests/kernels/kernels_rig.h"

namespace headroom::kernels_test {
namespace {

// Rounding of columns and needs, at powers of two and their neighbours.
TEST(Narrowing, RoundsTowardsTheSafeSide) {
  for (int bit = 0; bit < 63; ++bit) {
    for (std::int64_t off = -300; off <= 300; ++off) {
      for (const std::int64_t sign : {1, -1}) {
        const std::int64_t value = sign * ((std::int64_t{1} << bit) + off);
        EXPECT_EQ(round_down(value), floor_float(value)) << value;
        EXPECT_EQ(round_up(value), ceil_float(value)) << value;
        EXPECT_TRUE(static_cast<__int128>(round_down(value)) <= value);
        EXPECT_TRUE(static_cast<__int128>(round_up(value)) >= value);
      }
    }
  }
  EXPECT_EQ(round_down(kUnlimited), HUGE_VALF);
  EXPECT_EQ(round_down(INT64_MIN), -0x1p63F);
  EXPECT_EQ(round_up(INT64_MIN), -0x1p63F);
  EXPECT_EQ(round_down(kUnlimited - 1), 0x1.fffffep62F);
  EXPECT_EQ(percent_scale(0), 0.0F);
  EXPECT_EQ(percent_scale(100), 1.0F);
  EXPECT_TRUE(std::isnan(percent_scale(-1)));
}

}  // namespace
}  // namespace headroom::kernels_test
