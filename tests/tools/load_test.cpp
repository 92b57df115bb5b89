// The load test's own instruments: its histogram and its picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/seed.h"
#include "tools/load/latency_histogram.h"
#include "tools/load/latency_plot.h"
#include "workloads/random.h"

namespace headroom::load_test {
namespace {

TEST(LatencyHistogram, QuantilesAreThoseOfTheSortedTimesWithinAPercent) {
  const std::uint64_t seed = test_seed();
  Random random{seed, 1};
  LatencyHistogram histogram;
  std::vector<std::int64_t> times;
  for (int i = 0; i < 20'000; ++i) {
    // From nanoseconds to minutes, each power of ten as often as the others.
    const double exponent = random.below(1'100'000) / 100'000.0;
    times.push_back(static_cast<std::int64_t>(std::pow(10, exponent)));
    histogram.record(times.back());
  }
  std::sort(times.begin(), times.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 20'000)) - 1;
    const double exact = static_cast<double>(times[rank]) / 1000;
    EXPECT_GE(histogram.quantile_us(share), exact) << share;
    EXPECT_LE(histogram.quantile_us(share), exact * 1.01 + 0.001) << share;
  }
  EXPECT_EQ(histogram.count(), 20'000U);
  EXPECT_EQ(histogram.max_us(), static_cast<double>(times.back()) / 1000);
}

TEST(LatencyHistogram, SmallTimesAreExactAndOddOnesCount) {
  LatencyHistogram histogram;
  histogram.record(-5);  // a clock that went back
  histogram.record(127);
  histogram.record(INT64_MAX);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.quantile_us(0.3), 0);
  EXPECT_EQ(histogram.quantile_us(0.6), 0.127);
  EXPECT_EQ(histogram.quantile_us(1), histogram.max_us());
  LatencyHistogram sum;
  sum.record(1000, 2);
  sum.add(histogram);
  EXPECT_EQ(sum.count(), 5U);
  std::uint64_t counted = 0;
  double before = 0;
  for (const LatencyHistogram::Bucket& bucket : sum.buckets()) {
    counted += bucket.count;
    EXPECT_GT(bucket.up_to_us, before);
    before = bucket.up_to_us;
  }
  EXPECT_EQ(counted, 5U);
  EXPECT_EQ(LatencyHistogram().quantile_us(0.5), 0);
}

TEST(LatencyPlot, DrawsALineForEachHistogramThatHasTimes) {
  LatencyHistogram some, none;
  for (int i = 1; i < 5000; ++i) some.record(i * 1000);
  const std::string svg = latency_plot("a < b & c", {{"served", &some}, {"empty", &none}});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find(">served<"), std::string::npos);
  EXPECT_EQ(svg.find(">empty<"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 1U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(latency_plot("", {{"empty", &none}}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace headroom::load_test
