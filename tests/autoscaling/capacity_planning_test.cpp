// Plans and reservations in turns: what comes between two of them.
#include "autoscaling/capacity_planning.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "objects/objects.h"
#include "tests/support/objects.h"

namespace headroom::capacity_planning_test {
namespace {

constexpr std::int64_t kSoonUs = 1'000'000;
const std::function<bool()> kEveryPiece = [] { return true; };

Node node_of(const std::string& name, const std::string& team) {
  return capacity_node_of(name, cores(4), {{"team", team}});
}

CapacityQuota quota_of(const std::string& team, const std::string& cores) {
  return capacity_quota(team, {{"cpu", cores}}, {{"team", "In", {team}}});
}

template <typename Asked>
void finish(Asked& asked) {
  Result<bool> done = false;
  while (done && !*done) {
    done = asked.turn(kEveryPiece);
  }
  ASSERT_TRUE(done) << done.error().message;
}

class CapacityInTurns : public testing::Test {
 protected:
  void SetUp() override {
    upsert(quota_of("a", "20"));
    upsert(quota_of("b", "8"));
    ASSERT_TRUE(quotas_.upsert(node_of("n1", "a")));
    for (const char* team : {"a", "b", "c", "a"}) {
      nodes_.push_back(node_of("template", team));
    }
    for (const Node& node : nodes_) {
      items_.push_back({.node = &node, .count = 2});
    }
  }
  void upsert(const CapacityQuota& quota) { ASSERT_TRUE(quotas_.upsert(quota)); }
  void change_a_quota() { upsert(quota_of("b", changed_++ % 2 == 0 ? "9" : "8")); }
  // A quota changes before each of its turns.
  template <typename Asked>
  void finish_beside_changes(Asked& asked) {
    Result<bool> done = false;
    for (std::uint64_t turn = 0; done && !*done; ++turn) {
      ASSERT_LE(turn, kPlanningBeginningsMax);
      change_a_quota();
      done = asked.turn(kEveryPiece);
    }
    ASSERT_TRUE(done) << done.error().message;
  }
  std::unique_ptr<CapacityPlanning> planning() {
    return quotas_.planning({.count = items_.size(),
                             .item = [this](std::size_t item) { return items_[item]; },
                             .remove = {"n1"}});
  }
  ReservingRequest request(const char* id) const {
    return {.id = id, .items = items_, .expires_us = kSoonUs, .mode = ReserveMode::kUpTo};
  }
  // As many kinds of nodes as nobody has any more are held, and given back.
  void leave_idle_classes() {
    std::vector<Node> kinds;
    std::vector<PlanItem> items;
    for (int kind = 0; kind < 3'000; ++kind) {
      kinds.push_back(node_of("kind", fmt::format("team-{}-{}", changed_, kind)));
    }
    for (const Node& node : kinds) {
      items.push_back({.node = &node, .count = 1});
    }
    ASSERT_TRUE(quotas_.reserve("idle", items, kSoonUs));
    ASSERT_TRUE(quotas_.release("idle"));
    // Which looks whether most classes are such.
    ASSERT_TRUE(quotas_.upsert(node_of("late", "c")));
    ++changed_;
  }
  void expect_the_same(const PlanAnswer& answer) {
    const Result<PlanAnswer> truth = quotas_.plan({.add = items_, .remove = {"n1"}});
    ASSERT_TRUE(truth);
    ASSERT_EQ(answer.rows.size(), truth->rows.size());
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      EXPECT_EQ(answer.rows[i].quota, truth->rows[i].quota);
      EXPECT_TRUE(answer.rows[i].limit == truth->rows[i].limit) << i;
      EXPECT_TRUE(answer.rows[i].net == truth->rows[i].net) << i;
      EXPECT_TRUE(answer.rows[i].peak == truth->rows[i].peak) << i;
    }
    EXPECT_EQ(answer.net_break.has_value(), truth->net_break.has_value());
    EXPECT_EQ(answer.peak_break.has_value(), truth->peak_break.has_value());
  }

  CapacityQuotas quotas_;
  std::vector<Node> nodes_;
  std::vector<PlanItem> items_;
  int changed_ = 0;
};

TEST_F(CapacityInTurns, APlanEndsThoughQuotasChangeBeforeEachTurn) {
  const auto asked = planning();
  finish_beside_changes(*asked);
  EXPECT_EQ(asked->begun(), kPlanningBeginningsMax + 1);
  EXPECT_EQ(asked->copied(), asked->begun());
  expect_the_same(asked->answer());
}

TEST_F(CapacityInTurns, SoDoesAReservation) {
  const auto asked = quotas_.reserving(request("up"));
  finish_beside_changes(*asked);
  EXPECT_TRUE(asked->answer().accepted);
  EXPECT_TRUE(quotas_.is_reserved("up"));
  EXPECT_TRUE(quotas_.validate());
}

TEST_F(CapacityInTurns, ClassesThatAreNumberedAnewBetweenTurnsChangeNoAnswer) {
  for (std::uint64_t before = 0; before < 24; ++before) {
    const auto plan = planning();
    const auto reservation = quotas_.reserving(request("up"));
    for (std::uint64_t turn = 0; turn < before; ++turn) {
      ASSERT_TRUE(plan->turn(kEveryPiece));
    }
    bool reserved = false;
    for (std::uint64_t turn = 0; turn < before && !reserved; ++turn) {
      const Result<bool> done = reservation->turn(kEveryPiece);
      ASSERT_TRUE(done);
      reserved = *done;
    }
    leave_idle_classes();
    finish(*plan);
    EXPECT_EQ(plan->begun(), before == 0 ? 1U : 2U);
    if (!reserved) {
      expect_the_same(plan->answer());
      finish(*reservation);
    }
    EXPECT_TRUE(reservation->answer().accepted);
    EXPECT_TRUE(quotas_.is_reserved("up"));
    EXPECT_TRUE(quotas_.validate()) << before;
    ASSERT_TRUE(quotas_.release("up"));
  }
}

TEST_F(CapacityInTurns, NothingIsHeldWhereAQuotaLeftNoRoomMeanwhile) {
  const ReservingRequest all{
      .id = "up", .items = items_, .expires_us = kSoonUs, .mode = ReserveMode::kAll};
  const auto asked = quotas_.reserving(all);
  ASSERT_TRUE(asked->turn(kEveryPiece));
  upsert(quota_of("a", "10"));
  finish(*asked);
  EXPECT_FALSE(asked->answer().accepted);
  EXPECT_FALSE(quotas_.is_reserved("up"));
  EXPECT_TRUE(quotas_.validate());
}

}  // namespace
}  // namespace headroom::capacity_planning_test
