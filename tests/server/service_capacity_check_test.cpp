// Questions of capacity through the service: checks and plans.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "tests/server/capacity_texts.h"
#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::capacity_test {
namespace {

class CapacityChecking : public ServiceTest {};
class CapacityPlanning : public ServiceTest {};

// --- Checks ------------------------------------------------------------------------------------

TEST_F(CapacityChecking, SaysEveryNumber) {
  feeder.feed({sized("n1", 2), sized("n2", 1, "b"),
               capacity_quota_of("all", {{"cpu", "10"}, {"gpu", "4"}, {"memory", "1Gi"}}),
               capacity_quota_of("pool", {{"nodes", "3"}}, "a"),
               capacity_quota_of("other", {{"cpu", "0"}}, "b"), unusable("broken")});
  ASSERT_EQ(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs).accepted(), true);
  const wire::CapacityChecked& checked = client.capacity_checked({{sized("", 2), 4}});
  ASSERT_EQ(checked.answers()->size(), 1U);
  EXPECT_EQ(text_of(*checked.answers()->Get(0)),
            "1: CapacityQuota/all cpu limit 10000 used 3000 reserved 1000 need 8000 headroom 6000"
            " shortfall 2000 max 3; CapacityQuota/all memory limit 1073741824 used 2097152 reserved"
            " 1048576 need 4194304 headroom 1070596096 shortfall 0 max 1021; CapacityQuota/pool"
            " nodes limit 3 used 1 reserved 1 need 4 headroom 1 shortfall 3 max 1 binding");
  EXPECT_EQ(skipped_of(checked), kUnusable);
  EXPECT_EQ(checked.skipped_left_out(), 0U);
  EXPECT_EQ(checked.answers()->Get(0)->rows_left_out(), 0U);
  const std::uint64_t epoch = checked.epoch();
  EXPECT_EQ(epoch, client.evaluated({pod_of("p", 1)}).epoch());
}

TEST_F(CapacityChecking, EachItemStandsForItself) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "8"}})});
  const NodeCounts nodes = {{sized("", 2), 4}, {sized("", 3), 4}, {sized("", 9), 1}, {Node(), 7}};
  const wire::CapacityChecked& all = client.capacity_checked(nodes);
  ASSERT_EQ(all.answers()->size(), 4U);
  const auto rows = [](const wire::CapacityAnswer& answer) {
    return answer.rows() == nullptr ? 0 : answer.rows()->size();
  };
  for (const auto& [item, allowed, count] :
       {std::tuple{0U, 4, 1U}, {1U, 2, 1U}, {2U, 0, 1U}, {3U, 7, 0U}}) {
    EXPECT_EQ(all.answers()->Get(item)->allowed(), allowed);
    EXPECT_EQ(rows(*all.answers()->Get(item)), count);
  }
  const wire::CapacityChecked& binding = client.capacity_checked(nodes, true);
  for (const auto& [item, allowed, count] :
       {std::tuple{0U, 4, 0U}, {1U, 2, 1U}, {2U, 0, 1U}, {3U, 7, 0U}}) {
    EXPECT_EQ(binding.answers()->Get(item)->allowed(), allowed);
    EXPECT_EQ(rows(*binding.answers()->Get(item)), count);
    EXPECT_EQ(binding.answers()->Get(item)->rows_left_out(), 0U);
  }
}

TEST_F(CapacityChecking, NothingIsAllowedBeforeTheFirstResync) {
  const std::string error = "Conflict: items: no quota is known: no feeder has completed a resync";
  EXPECT_EQ(client.error(client.capacity_check({{sized("", 1), 1}})), error);
  EXPECT_EQ(client.error(client.capacity_reserve("r", {{sized("", 1), 1}}, kSoonUs)), error);
  EXPECT_EQ(client.error(client.capacity_plan({}, {})),
            "Conflict: add: no quota is known: no feeder has completed a resync");
  feeder.begin();
  feeder.facts({capacity_quota_of("q", {{"cpu", "1"}})});
  EXPECT_EQ(client.error(client.capacity_check({{sized("", 1), 1}})), error);
  EXPECT_EQ(text_of(client.capacity_quota_status()), "");
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
  EXPECT_FALSE(client.capacity_released("r"));
  feeder.end();
  EXPECT_EQ(client.allowed(sized("", 1), 2), 1);
}

TEST_F(CapacityChecking, ErrorsNameTheItem) {
  feeder.feed({});
  Node bad = sized("t", 1);
  bad.capacity = {{"cpu", {}}, {"cpu", {}}};
  EXPECT_EQ(client.error(client.capacity_check({{sized("", 1), 1}, {bad, 1}})),
            "Invalid: items[1]: node t: capacity: \"cpu\" comes twice");
  EXPECT_EQ(client.error(client.capacity_check({{sized("", 1), -1}})),
            "Invalid: items[0]: count: -1 is below 0");
  EXPECT_EQ(client.error(client.capacity_check({})), "Invalid: items: 0: at least 1");
  EXPECT_EQ(client.error(client.capacity_reserve("r", {}, kSoonUs)),
            "Invalid: items: 0: at least 1");
  EXPECT_EQ(client.error(client.capacity_reserve("r", {{sized("", 1), 1}, {bad, 1}}, kSoonUs)),
            "Invalid: items[1]: node t: capacity: \"cpu\" comes twice");
  EXPECT_EQ(client.error(client.capacity_plan({{sized("", 1), -7}}, {})),
            "Invalid: add[0]: count: -7 is below 0");
}

TEST_F(CapacityChecking, TheNumberOfItemsHasALimit) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "8"}})});
  NodeCounts nodes(kCapacityItemsPerRequestMax - 1, {sized("", 1), 1});
  EXPECT_EQ(client.capacity_checked(nodes).answers()->size(), kCapacityItemsPerRequestMax - 1);
  nodes.emplace_back(sized("", 1), 1);
  EXPECT_EQ(client.capacity_checked(nodes).answers()->size(), kCapacityItemsPerRequestMax);
  EXPECT_EQ(client.capacity_reserved("r", nodes, kSoonUs).allowed()->size(),
            kCapacityItemsPerRequestMax);
  client.take<wire::CapacityPlanned>(client.capacity_plan(nodes, {}));
  nodes.emplace_back(sized("", 1), 1);
  const std::string error = "1025: kCapacityItemsPerRequestMax is 1024";
  EXPECT_EQ(client.error(client.capacity_check(nodes)), "LimitExceeded: items: " + error);
  EXPECT_EQ(client.error(client.capacity_reserve("s", nodes, kSoonUs)),
            "LimitExceeded: items: " + error);
  EXPECT_EQ(client.error(client.capacity_plan(nodes, {})), "LimitExceeded: add: " + error);
}

TEST_F(CapacityChecking, ItemsTogetherHaveALimitOfBytes) {
  feeder.feed({});
  // A frame may say one node many times: 300 KB of labels, 112 times.
  Node large = sized("", 1);
  for (int l = 0; l < 300; ++l) {
    large.labels.emplace_back(fmt::format("label-{:03}", l), std::string(1000, 'v'));
  }
  const auto check = [&](std::uint32_t count) {
    return client.ask([&](Builder& builder) {
      const auto node = encode(builder, large);
      std::vector<Offset<wire::CapacityItem>> items;
      for (std::uint32_t i = 0; i < count; ++i) {
        items.push_back(wire::CreateCapacityItem(builder, node, 1));
      }
      return wire::CreateCapacityCheckDirect(builder, &items);
    });
  };
  EXPECT_EQ(client.take<wire::CapacityChecked>(check(100)).answers()->size(), 100U);
  const std::string error = client.error(check(112));
  EXPECT_EQ(error.rfind("LimitExceeded: items: more than 33554432 bytes in the first ", 0), 0U)
      << error;
}

// Amounts without bound become int64's ends.
TEST_F(CapacityChecking, AmountsSaturate) {
  feeder.feed({capacity_quota_of("greatest", {{"cpu", "9223372036854775807m"}}),
               capacity_quota_of("none", {{"cpu", "0"}, {"memory", "9223372036854775807"}})});
  Node huge = sized("n1", 0);
  huge.capacity = {{"cpu", *Quantity::parse("9223372036854775807m")},
                   {"memory", Quantity::from_value(kMost)}};
  EXPECT_EQ(
      text_of(*client.capacity_checked({{huge, kMost}}).answers()->Get(0)),
      fmt::format("0: CapacityQuota/greatest cpu limit {0} used 0 reserved 0 need {0} headroom"
                  " {0} shortfall {0} max 1; CapacityQuota/none cpu limit 0 used 0 reserved"
                  " 0 need {0} headroom 0 shortfall {0} max 0 binding; CapacityQuota/none"
                  " memory limit {0} used 0 reserved 0 need {0} headroom {0} shortfall {0} max"
                  " 1",
                  kMost));
  Node second = huge;
  second.name = "n2";
  feeder.facts({huge, second});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.capacity_quota_status()),
            fmt::format("CapacityQuota/greatest 1/1 nodes 2 cpu {0} {0} 0; CapacityQuota/none 1/1"
                        " nodes 2 cpu 0 {0} 0 memory {0} {0} 0",
                        kMost));
  const wire::CapacityChecked& over = client.capacity_checked({{sized("", 1), 1}});
  ASSERT_EQ(over.answers()->Get(0)->rows()->size(), 3U);
  EXPECT_EQ(over.answers()->Get(0)->rows()->Get(1)->headroom(),
            std::numeric_limits<std::int64_t>::min());
}

// What a client asks with leaves nothing behind: neither in the answers nor in what is full one
// day.
TEST_F(CapacityChecking, QuestionsLeaveNothingBehind) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "8"}}, "a"), sized("n1", 1)}, kNowUs);
  const std::uint64_t digest = client.stats(true).capacity_digest();
  for (std::uint32_t round = 0; round < 80; ++round) {
    Node asked = sized(fmt::format("t-{}", round), 1, fmt::format("pool-{}", round));
    asked.capacity.clear();
    for (std::uint32_t r = 0; r < kResourcesPerListMax; ++r) {
      asked.capacity.emplace_back(fmt::format("x-{:03}/{:02}", round, r), Quantity::from_value(1));
    }
    EXPECT_EQ(client.allowed(asked, 5), 5);
    client.take<wire::CapacityPlanned>(client.capacity_plan({{asked, 1}}, {"n1"}));
    EXPECT_EQ(text_of(client.capacity_reserved("r", {{asked, 1}}, kSoonUs)), "accepted 1");
    EXPECT_TRUE(client.capacity_released("r"));
  }
  EXPECT_EQ(client.stats(true).capacity_digest(), digest);
  Node fresh = sized("n2", 1);
  fresh.capacity.emplace_back("fresh", Quantity::from_value(1));
  feeder.facts({fresh});
  EXPECT_FALSE(feeder.has_answer());
}

// --- Plans -------------------------------------------------------------------------------------

TEST_F(CapacityPlanning, NamesHaveALimit) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "6"}})});
  EXPECT_EQ(client.error(client.capacity_plan({}, {std::string(kTextBytesMax + 1, 'n')})),
            "LimitExceeded: remove: 1025 bytes: kTextBytesMax is 1024");
}

TEST_F(CapacityPlanning, NetAndPeak) {
  feeder.feed(
      {capacity_quota_of("q", {{"cpu", "6"}}), sized("n1", 2), sized("n2", 2), unusable("broken")});
  const auto planned = [&](const NodeCounts& add, const std::vector<std::string>& remove) {
    return text_of(client.take<wire::CapacityPlanned>(client.capacity_plan(add, remove)));
  };
  EXPECT_EQ(planned({{sized("", 1), 2}}, {}),
            "net [] peak []; CapacityQuota/q cpu limit 6000 used 4000 reserved 0 added 2000 removed"
            " 0 net 6000 peak 6000");
  EXPECT_EQ(
      planned({{sized("", 1), 1}, {sized("", 3), 1}}, {"n1"}),
      "net [] peak [item 1 fits 0: CapacityQuota/q cpu limit 6000 used 4000 reserved 1000"
      " need 3000 headroom 1000 shortfall 2000 max 0 binding]; CapacityQuota/q cpu limit 6000 used"
      " 4000 reserved 0 added 4000 removed 2000 net 6000 peak 8000");
  EXPECT_EQ(planned({{sized("", 3), 2}}, {"n1", "n2"}).rfind("net [] peak [item 0 fits 0: ", 0),
            0U);
  EXPECT_EQ(planned({}, {}), "net [] peak []");
  const wire::CapacityPlanned& skipping =
      client.take<wire::CapacityPlanned>(client.capacity_plan({}, {"n1"}));
  EXPECT_EQ(skipped_of(skipping), kUnusable);
  EXPECT_EQ(skipping.rows()->size(), 1U);
  EXPECT_EQ(skipping.rows_left_out(), 0U);
  // Nothing has changed.
  EXPECT_EQ(client.allowed(sized("", 1), 9), 2);
}

TEST_F(CapacityPlanning, ErrorsNameWhatIsRemoved) {
  feeder.feed({sized("n1", 2)});
  EXPECT_EQ(client.error(client.capacity_plan({}, {"nobody"})).rfind("NotFound: ", 0), 0U);
  EXPECT_EQ(client.error(client.capacity_plan({}, {"n1", "n1"})).rfind("Invalid: ", 0), 0U);
  std::vector<std::string> many(kItemsPerListMax + 1, "n1");
  EXPECT_EQ(client.error(client.capacity_plan({}, many)),
            "LimitExceeded: remove: 4097 items: kItemsPerListMax is 4096");
  many.clear();
  std::vector<Fact> nodes;
  for (std::uint32_t n = 0; n < kItemsPerListMax; ++n) {
    many.push_back(fmt::format("n-{}", n));
    nodes.emplace_back(sized(many.back(), 1));
  }
  feeder.feed(nodes);
  client.take<wire::CapacityPlanned>(client.capacity_plan({}, many));
}

}  // namespace
}  // namespace headroom::in_memory::capacity_test
