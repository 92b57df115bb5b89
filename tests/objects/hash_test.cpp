// The hash of tables: names that collide in hash_bytes cost what other names cost.
#include "objects/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/colliding_names.h"

namespace headroom::hash_test {
namespace {

constexpr std::size_t kNames = 9000;
constexpr std::string_view kPrefix = "default/";

std::vector<std::string> keys(const std::vector<std::string>& names) {
  std::vector<std::string> keys;
  for (const std::string& name : names) keys.push_back(std::string(kPrefix) + name);
  return keys;
}

std::vector<std::string> ordinary_keys() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames; ++i) {
    std::string name = "web-" + std::to_string(i);
    names.push_back(name + std::string(224 - name.size(), 'x'));
  }
  return keys(names);
}

std::uint64_t comparisons = 0;
struct CountedEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    ++comparisons;
    return a == b;
  }
};

// How many comparisons `names` cost a table, found again once more each, and how many buckets.
template <typename Hash>
std::pair<std::uint64_t, std::size_t> cost(const std::vector<std::string>& names) {
  tsl::robin_map<std::string, int, Hash, CountedEqual, std::allocator<std::pair<std::string, int>>,
                 true>
      map;
  comparisons = 0;
  for (const std::string& name : names) map.emplace(name, 0);
  for (const std::string& name : names) EXPECT_TRUE(map.contains(name));
  return {comparisons, map.bucket_count()};
}

struct OpenHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const { return hash_bytes(bytes); }
};

TEST(Hash, CollidingNamesCostWhatOthersCost) {
  const std::vector<std::string> colliding = keys(colliding_names(kPrefix, kNames));
  ASSERT_EQ(std::set<std::string>(colliding.begin(), colliding.end()).size(), kNames);
  std::set<std::uint64_t> open, keyed;
  for (const std::string& key : colliding) {
    EXPECT_EQ(key.size(), 232u);
    open.insert(hash_bytes(key));
    keyed.insert(BytesHash()(key));
  }
  EXPECT_EQ(open.size(), 1u);  // the attack is one
  EXPECT_EQ(keyed.size(), kNames);

  // Each name is found with one comparison, and hardly any other.
  const auto [ordinary, ordinary_buckets] = cost<BytesHash>(ordinary_keys());
  const auto [attacked, attacked_buckets] = cost<BytesHash>(colliding);
  EXPECT_EQ(attacked_buckets, ordinary_buckets);
  EXPECT_GE(ordinary, kNames);
  EXPECT_LE(ordinary, 2 * kNames);
  EXPECT_LE(attacked, 2 * kNames);
  // What it was: every name meets every other.
  const std::vector<std::string> some(colliding.begin(), colliding.begin() + 1000);
  EXPECT_GT(cost<OpenHash>(some).first, 100 * some.size());
}

TEST(Hash, IsTheSameWithinARunWhateverTheLength) {
  std::set<std::uint64_t> seen;
  std::string text;
  for (int length = 0; length < 300; ++length, text += 'x') {
    EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(text)));
    EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << length;
  }
}

// Digests and state files hold it: it stays what it is.
TEST(Hash, OfDigestsNeverChanges) {
  EXPECT_EQ(hash_bytes(""), mix(0));
  EXPECT_EQ(hash_bytes("default/web-1"), 13514962102948165416u);
}

}  // namespace
}  // namespace headroom::hash_test
