// RawHistogram against a multiset: the extremes of raw scores after every change, in the bins,
// below them and across their border.
#include "engine/decide/raw_histogram.h"

#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "tests/support/seed.h"

namespace headroom::raw_histogram_test {
namespace {

constexpr std::int32_t kLeast = RawHistogram::kLeastBin;
constexpr std::int32_t kGreatest = RawHistogram::kGreatestBin;

void fill(RawHistogram& histogram, const std::vector<std::int32_t>& raws) {
  histogram.fill(static_cast<std::uint32_t>(raws.size()), [&](std::uint32_t i) { return raws[i]; });
}

RawHistogram with(const std::vector<std::int32_t>& raws) {
  RawHistogram histogram;
  fill(histogram, {});
  for (const std::int32_t raw : raws) {
    histogram.add(raw);
  }
  return histogram;
}

TEST(RawHistogram, OneScore) {
  for (const std::int32_t raw :
       {kGreatest, 0, -1, kLeast + 1, kLeast, kLeast - 1, -(1 << 28), INT32_MIN}) {
    RawHistogram histogram = with({raw});
    EXPECT_EQ(histogram.lo(), raw);
    EXPECT_EQ(histogram.hi(), raw);
  }
}

TEST(RawHistogram, ExtremesOfBothSidesOfTheBins) {
  RawHistogram histogram = with({INT32_MIN, -5000, kLeast, 7});
  EXPECT_EQ(histogram.lo(), INT32_MIN);
  EXPECT_EQ(histogram.hi(), 7);
  histogram.remove(7);
  EXPECT_EQ(histogram.hi(), kLeast);
  histogram.remove(kLeast);
  EXPECT_EQ(histogram.hi(), -5000);
  histogram.remove(INT32_MIN);
  EXPECT_EQ(histogram.lo(), -5000);
}

TEST(RawHistogram, AScoreCountsAsOftenAsItWasAdded) {
  for (const std::int32_t raw : {50, -2000}) {
    RawHistogram histogram = with({raw, raw});
    histogram.remove(raw);
    EXPECT_EQ(histogram.lo(), raw);
    EXPECT_EQ(histogram.hi(), raw);
  }
}

// The cursors run over bins that emptied, and must come back for scores beyond them.
TEST(RawHistogram, CursorsReturn) {
  RawHistogram histogram = with({-1000, 0, 100});
  histogram.remove(-1000);
  histogram.remove(100);
  EXPECT_EQ(histogram.lo(), 0);
  EXPECT_EQ(histogram.hi(), 0);
  histogram.add(-1000);
  histogram.add(100);
  EXPECT_EQ(histogram.lo(), -1000);
  EXPECT_EQ(histogram.hi(), 100);
}

// Emptied without being asked, then filled on the far side of where the cursors stood.
TEST(RawHistogram, EmptiedAndFilledAgain) {
  RawHistogram histogram = with({90, 95});
  histogram.remove(90);
  histogram.remove(95);
  histogram.add(-800);
  EXPECT_EQ(histogram.lo(), -800);
  EXPECT_EQ(histogram.hi(), -800);
  histogram.remove(-800);
  histogram.add(99);
  EXPECT_EQ(histogram.lo(), 99);
  EXPECT_EQ(histogram.hi(), 99);
}

TEST(RawHistogram, FilledAtOnceAsOneByOne) {
  constexpr std::int32_t kNone = RawHistogram::kNone;
  RawHistogram histogram;
  fill(histogram, {kNone, INT32_MIN, kLeast - 1, kLeast, kNone, kGreatest, kGreatest, kLeast});
  EXPECT_EQ(histogram.lo(), INT32_MIN);
  EXPECT_EQ(histogram.hi(), kGreatest);
  histogram.remove(INT32_MIN);
  histogram.remove(kGreatest);
  EXPECT_EQ(histogram.lo(), kLeast - 1);
  EXPECT_EQ(histogram.hi(), kGreatest);
  histogram.remove(kLeast - 1);
  histogram.remove(kGreatest);
  histogram.remove(kLeast);
  EXPECT_EQ(histogram.lo(), kLeast);
  EXPECT_EQ(histogram.hi(), kLeast);
}

TEST(RawHistogram, FillForgetsEverything) {
  RawHistogram histogram = with({-1 << 20, kLeast, 100});
  fill(histogram, {});
  histogram.add(-3);
  EXPECT_EQ(histogram.lo(), -3);
  EXPECT_EQ(histogram.hi(), -3);
}

TEST(RawHistogram, AgainstAMultiset) {
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int32_t>(random() % bound);
  };
  for (int round = 0; round < 40; ++round) {
    // Ranges within the bins, beyond them, and across the border.
    constexpr std::array<std::array<std::int32_t, 2>, 5> kRanges = {{{0, 100},
                                                                     {kLeast, kGreatest},
                                                                     {kLeast - 3, kLeast + 3},
                                                                     {-(1 << 28), -5000},
                                                                     {-3000, 100}}};
    const std::array<std::int32_t, 2>& range =
        kRanges[static_cast<std::size_t>(round) % kRanges.size()];
    const auto drawn = [&] {
      return range[0] + below(static_cast<std::uint64_t>(std::int64_t{range[1]} - range[0]) + 1);
    };
    std::vector<std::int32_t> first;
    std::multiset<std::int32_t> expected;
    for (int i = 0; i < 20; ++i) {
      first.push_back(below(3) == 0 ? RawHistogram::kNone : drawn());
      if (first.back() != RawHistogram::kNone) expected.insert(first.back());
    }
    RawHistogram histogram;
    fill(histogram, first);
    for (int step = 0; step < 2000; ++step) {
      if (expected.size() < 30 && (expected.empty() || below(2) == 0)) {
        const std::int32_t raw = drawn();
        histogram.add(raw);
        expected.insert(raw);
      } else {
        // Often an extreme, so that the cursors have to move.
        const int which = below(3);
        const auto victim = which == 0   ? expected.begin()
                            : which == 1 ? std::prev(expected.end())
                                         : std::next(expected.begin(), below(expected.size()));
        histogram.remove(*victim);
        expected.erase(victim);
      }
      if (!expected.empty() && below(4) != 0) {
        ASSERT_EQ(histogram.lo(), *expected.begin()) << "round " << round << " step " << step;
        ASSERT_EQ(histogram.hi(), *expected.rbegin()) << "round " << round << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::raw_histogram_test
