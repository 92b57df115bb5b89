// LabelBits: whom a selector means is met, whoever asks; and most of the others are not.
#include "engine/applications/label_bits.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "tests/support/draws.h"
#include "tests/support/seed.h"

namespace headroom::label_bits_test {
namespace {

constexpr int kPairs = 20'000;

StringMap labels_of(Draws& draws) {
  StringMap labels;
  for (const char* key : {"app", "tier", "track"}) {
    if (!draws.one_in(3)) labels.emplace_back(key, std::to_string(draws.below(20)));
  }
  return labels;
}

LabelSelector selector_of(Draws& draws) {
  static const std::array<std::string, 3> kKeys{"app", "tier", "track"};
  static const std::array<std::string, 4> kOps{"In", "NotIn", "Exists", "DoesNotExist"};
  LabelSelector selector;
  for (std::uint64_t left = draws.below(3); left > 0; --left) {
    NodeSelectorRequirement& requirement = selector.emplace_back();
    requirement.key = draws.pick(kKeys);
    requirement.op = draws.one_in(2) ? "In" : draws.pick(kOps);
    for (std::uint64_t values = requirement.op.ends_with("In") ? 1 + draws.below(2) : 0; values > 0;
         --values) {
      requirement.values.push_back(std::to_string(draws.below(20)));
    }
  }
  return selector;
}

TEST(LabelBits, WhoIsMeantIsMet) {
  Draws draws(test_seed());
  int meant = 0, met = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    const LabelSelector one = selector_of(draws), other = selector_of(draws);
    const StringMap labels = labels_of(draws);
    LabelBits asks, has;
    asks.add(std::optional(one));
    asks.add(std::optional(other));
    has.add(labels);
    const bool means = matches(one, labels) || matches(other, labels);
    ASSERT_TRUE(!means || (may_meet(asks, has) && may_meet(has, asks))) << "pair " << pair;
    meant += means;
    met += may_meet(asks, has);
  }
  EXPECT_GT(meant, kPairs / 100);
  EXPECT_LT(met, kPairs);
}

TEST(LabelBits, WhoAsksForNobodyMeetsNobody) {
  LabelBits one, other;
  one.add(StringMap{{"app", "web"}});
  one.add(std::optional<LabelSelector>());
  other.add(StringMap{{"app", "web"}});
  EXPECT_FALSE(may_meet(one, other));
  other.add(std::optional(LabelSelector()));
  EXPECT_TRUE(may_meet(one, other)) << "an empty selector means everybody";
}

}  // namespace
}  // namespace headroom::label_bits_test
