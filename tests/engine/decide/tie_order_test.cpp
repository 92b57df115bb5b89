// The order between equal totals.
#include <gtest/gtest.h>

#include <set>

#include "engine/decide/cached_shape.h"

namespace headroom::tie_order_test {
namespace {

constexpr std::uint32_t kRows = 200'000;

TEST(TieOrder, NoTwoRowsAreEqual) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{UINT64_MAX}}) {
    const TieOrder order{seed};
    std::set<std::uint64_t> keys;
    for (std::uint32_t row = 0; row < kRows; ++row) keys.insert(order.key({row, 7}));
    EXPECT_EQ(keys.size(), kRows) << "seed " << seed;
    EXPECT_GT(order.key({kRows, 8}), *keys.rbegin());
    EXPECT_LT(order.key({0, 6}), *keys.begin());
  }
}

// Of so many pairs of rows some half are the other way round.
TEST(TieOrder, DependsOnTheSeed) {
  const TieOrder first{1}, second{2};
  int reversed = 0;
  for (std::uint32_t row = 0; row < 1'000; ++row) {
    const bool one = first.key({row, 7}) < first.key({row + 1, 7});
    const bool other = second.key({row, 7}) < second.key({row + 1, 7});
    reversed += one != other ? 1 : 0;
  }
  EXPECT_GT(reversed, 300);
  EXPECT_LT(reversed, 700);
}

}  // namespace
}  // namespace headroom::tie_order_test
