// Zeroed: zeros of any size, and memory for what is touched alone.
#include "layout/zeroed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <string>

namespace headroom::zeroed_test {
namespace {

// Of this process, in KiB.
std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      std::size_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

TEST(Zeroed, IsAllZerosWhereverItsMemoryComesFrom) {
  for (const std::size_t bytes : {std::size_t{8}, kMappedBytes - 8, kMappedBytes,
                                  kHugePageBytes - 8, kHugePageBytes, 3 * kHugePageBytes + 8}) {
    SCOPED_TRACE(bytes);
    for (int time = 0; time < 2; ++time) {  // and where it was used before
      Zeroed<std::uint64_t> values(bytes / 8);
      ASSERT_EQ(values.size(), bytes / 8);
      EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](auto value) { return value == 0; }));
      std::fill(values.begin(), values.end(), ~std::uint64_t{0});
    }
  }
}

TEST(Zeroed, MovesItsMemory) {
  Zeroed<int> first(100), second(20'000);
  first[99] = 1;
  second[19'999] = 2;
  const int* const data = second.data();
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(first[19'999], 2);
  const Zeroed<int> third = std::move(first);
  EXPECT_EQ(third.size(), 20'000u);
  EXPECT_EQ(Zeroed<int>().size(), 0u);
}

TEST(Zeroed, WhatIsNotTouchedTakesNoMemory) {
  const std::size_t before = resident_kib();
  Zeroed<char> values(std::size_t{1} << 30);
  values[std::size_t{1} << 29] = 1;
  EXPECT_LT(resident_kib(), before + (32U << 10));
}

TEST(Zeroed, ThrowsWhatIsNotToBeHad) {
  EXPECT_THROW(Zeroed<char>(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
}

}  // namespace
}  // namespace headroom::zeroed_test
