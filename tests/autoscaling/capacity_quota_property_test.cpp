// Properties of CapacityQuotas over random sequences of nodes, quotas, reservations and forks: it
// agrees with the oracle after every event, its state depends on facts alone, and what it accepts
// never passes a limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "objects/annotations.h"
#include "tests/autoscaling/random_capacity_quotas.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace headroom {
namespace {

// Of the rounds that a release build runs.
int rounds(int in_release) { return std::max(1, in_release * HEADROOM_ROUNDS_PERCENT / 100); }

TEST(CapacityQuotaProperty, AgreesWithTheOracle) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(150); ++round) {
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const CapacityQuotaScript script = random_capacity_quota_script(draws, 100);
    if (run_capacity_quota_script(script)) {
      FAIL() << "round " << round << ", HEADROOM_SEED=" << seed + static_cast<std::uint64_t>(round)
             << "\n"
             << capacity_quota_failure_report(script);
    }
  }
}

// Templates that need different amounts under limits of different resources, so that no simple
// order finds the most: the oracle tries all choices.
CapacityQuotaScript hard_total(Draws& draws) {
  constexpr int kResources = 4, kTemplates = 6;
  CapacityQuota quota;
  quota.name = "q";
  CapacityQuotaScript script;
  MaxTotalStep question;
  const auto resource = [](int number) { return "example.com/r" + std::to_string(number); };
  for (int r = 0; r < kResources; ++r) {
    quota.limits.emplace_back(resource(r), std::to_string(draws.between(4, 24)));
  }
  for (int t = 0; t < kTemplates; ++t) {
    Node node;
    node.name = "t" + std::to_string(t);
    for (int r = 0; r < kResources; ++r) {
      node.capacity.emplace_back(resource(r), Quantity::from_value(draws.between(0, 7)));
    }
    question.items.push_back({node, draws.between(1, 4)});
  }
  script.steps = {CapacityQuotaEditStep{quota, CapacityQuotaClass::kCapacityQuota}, question};
  return script;
}

TEST(CapacityQuotaProperty, MaxTotalSaysWhetherItIsTheMost) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(1'000); ++round) {
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const CapacityQuotaScript script = hard_total(draws);
    if (run_capacity_quota_script(script))
      FAIL() << "round " << round << "\n" << capacity_quota_failure_report(script);
  }
}

Node small_node(const std::string& name) { return capacity_node_of(name, cores(1)); }

CapacityQuotas limited_to(std::int64_t nodes) {
  CapacityQuotas quotas;
  EXPECT_TRUE(quotas.upsert(capacity_quota("q", {{"nodes", std::to_string(nodes)}})));
  return quotas;
}

TEST(CapacityQuotaProperty, OneOfTwoFrontEndsWinsTheLastNode) {
  CapacityQuotas quotas = limited_to(3);
  const Node node = small_node("template");
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(quotas.upsert(small_node(name)));
  const PlanItem one[] = {{&node, 1}};
  EXPECT_EQ(quotas.check(node, 1)->allowed, 1);
  EXPECT_EQ(quotas.check(node, 1)->allowed, 1);
  EXPECT_TRUE(quotas.reserve("first", one, 1'000)->accepted);
  const ReserveAnswer second = quotas.reserve("second", one, 1'000).value();
  EXPECT_FALSE(second.accepted);
  ASSERT_TRUE(second.stopped);
  ASSERT_EQ(second.stopped->rows.size(), 1u);
  EXPECT_TRUE(second.stopped->rows[0].used == 2 && second.stopped->rows[0].reserved == 1);
}

// Who took from a reservation decides who may take from it later: it belongs to the state.
TEST(CapacityQuotaProperty, TheDigestKnowsWhoTookFromAReservation) {
  const auto digest = [](const char* name) {
    CapacityQuotas quotas;
    const Node node = small_node("template");
    const PlanItem two[] = {{&node, 2}};
    EXPECT_TRUE(quotas.reserve("r", two, 1'000)->accepted);
    Node made = small_node(name);
    made.annotations = {{std::string(kReservationAnnotation), "r"}};
    EXPECT_TRUE(quotas.upsert(made));
    quotas.remove_node(name);
    EXPECT_EQ(quotas.reservations().at(0).nodes_left, 1);
    return quotas.digest();
  };
  EXPECT_EQ(digest("n1"), digest("n1"));
  EXPECT_NE(digest("n1"), digest("n2"));
}

// A front-end that asks, reserves what was allowed, and creates the nodes, each in its own time.
struct FrontEnd {
  std::string id;
  std::int64_t allowed = 0, created = 0;
  enum class Next : std::uint8_t { kAsk, kReserve, kCreate, kNothing } next = Next::kAsk;

  void step(CapacityQuotas& quotas, ReserveMode mode, std::int64_t count) {
    const Node node = small_node("template");
    if (next == Next::kAsk) {
      allowed = quotas.check(node, count)->allowed;
      next = Next::kReserve;
    } else if (next == Next::kReserve) {
      const PlanItem items[] = {{&node, allowed}};
      const ReserveAnswer answer = quotas.reserve(id, items, 1'000, mode).value();
      allowed = answer.accepted ? answer.allowed.at(0) : 0;
      next = Next::kCreate;
    } else if (created < allowed) {
      Node made = small_node(id + "-" + std::to_string(++created));
      made.annotations = {{std::string(kReservationAnnotation), id}};
      EXPECT_TRUE(quotas.upsert(made));
    } else {
      next = Next::kNothing;
    }
  }
};

TEST(CapacityQuotaProperty, FrontEndsThatRaceNeverPassALimit) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(500); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const std::int64_t limit = draws.between(0, 12);
    CapacityQuotas quotas = limited_to(limit);
    std::vector<FrontEnd> front_ends;
    for (const char* id : {"a", "b", "c"}) front_ends.push_back({id});
    std::int64_t asked = 0, created = 0;
    while (true) {
      std::vector<FrontEnd*> busy;
      for (FrontEnd& one : front_ends) {
        if (one.next != FrontEnd::Next::kNothing) busy.push_back(&one);
      }
      if (busy.empty()) break;
      FrontEnd& one = *draws.pick(busy);
      const std::int64_t count = draws.between(1, 6);
      if (one.next == FrontEnd::Next::kAsk) asked += count;
      one.step(quotas, ReserveMode::kUpTo, count);
      const auto amount = quotas.status().at(0).amounts.at(0);
      ASSERT_LE(static_cast<std::int64_t>(amount.used + amount.reserved), limit);
      const Result<void> valid = quotas.validate();
      ASSERT_TRUE(valid) << valid.error().message;
    }
    for (const FrontEnd& one : front_ends) created += one.created;
    // Up to what each was allowed at first, nothing is left unused while one still wants it.
    EXPECT_LE(created, std::min(asked, limit));
    EXPECT_TRUE(created == limit || created == asked) << created << " of " << asked;
    for (const ReservationStatus& held : quotas.reservations()) EXPECT_EQ(held.nodes_left, 0);
  }
}

}  // namespace
}  // namespace headroom
