// NameIndex against a map: names come and go, some of them with the same hash.
#include "layout/name_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace headroom::name_index_test {
namespace {

TEST(NameIndex, FindsWhatIsThere) {
  std::mt19937_64 random{test_seed()};
  NameIndex index;
  std::map<std::uint32_t, NameIndex::Hash> hashes;  // by number, which is the name too
  // Few values, and all at one end: long runs, that begin at the end and go on at the start.
  const auto draw_hash = [&] {
    return static_cast<NameIndex::Hash>(random() % 64 * 0x0800'0001 - 8);
  };
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    if (step == 10'000) {
      const std::size_t before = index.bytes();
      index.reserve(1'500'000);
      EXPECT_EQ(index.bytes(), std::size_t{8} << 21) << "three quarters of it are for names";
      EXPECT_GT(index.bytes(), before);
      index.reserve(1);
      EXPECT_EQ(index.bytes(), std::size_t{8} << 21);
    }
    const auto number = static_cast<std::uint32_t>(random() % 300);
    const auto known = hashes.find(number);
    if (known != hashes.end()) {
      index.erase(known->second, number);
      hashes.erase(known);
    } else {
      index.insert(hashes[number] = draw_hash(), number);
    }
    ASSERT_EQ(index.size(), hashes.size());
    const auto asked = static_cast<std::uint32_t>(random() % 300);
    const auto its = hashes.find(asked);
    const NameIndex::Hash hash = its != hashes.end() ? its->second : draw_hash();
    EXPECT_EQ(index.find(hash, [&](std::uint32_t other) { return other == asked; }),
              its != hashes.end() ? asked : NameIndex::kNone)
        << "step " << step;
  }
  for (const auto& [number, hash] : hashes) {
    EXPECT_EQ(index.find(hash, [&, name = number](std::uint32_t other) { return other == name; }),
              number);
  }
}

}  // namespace
}  // namespace headroom::name_index_test
