// CapacityQuotas of a running headroomd: what an autoscaler, its rival and a feeder do, over
// sockets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "objects/annotations.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"
#include "tools/load/facts.h"
#include "tools/load/verify.h"

namespace headroom {
namespace {

constexpr std::int64_t kSoonUs = kTestNowUs + 60'000'000;

Node pool_node(const std::string& name, const std::string& cpu = "4") {
  Node node = small_node(name, cpu);
  node.labels = {{"pool", "a"}};
  node.capacity = {{"cpu", *Quantity::parse(cpu)}};
  return node;
}

CapacityQuota capacity_quota_of(const std::string& name, StringMap limits) {
  return capacity_quota(name, std::move(limits), {{"pool", "Exists", {}}});
}

// "CapacityQuota/q cpu 20000 4000 8000, ": limit, used, reserved.
std::string capacity_quotas_text(Client& client) {
  std::string all;
  for (const answers::CapacityQuotaState& quota : must(client.capacity_quota_status()).quotas) {
    for (const answers::CapacityAmount& amount : quota.amounts) {
      all += fmt::format("{} {} {} {} {}, ", quota.id, amount.resource, amount.limit, amount.used,
                         amount.reserved);
    }
  }
  return all;
}

// From the check to the nodes' registration, with a resync between.
TEST(DaemonCapacityQuotas, FromTheCheckToTheNodes) {
  const TestDaemon daemon;
  std::vector<Object> objects = {pool_node("n1"), capacity_quota_of("q", {{"cpu", "20"}})};
  const auto feeder = daemon.feeder(objects);
  Client client = daemon.client();
  EXPECT_EQ(client.capacity_check(pool_node(""), 1).error().code, ErrorCode::kConflict);
  must(feeder->resync());
  must(feeder->barrier());

  const Node wanted = pool_node("");
  const answers::CapacityChecked checked = must(client.capacity_check(wanted, 9));
  EXPECT_EQ(checked.answers[0].allowed, 4);
  EXPECT_TRUE(checked.answers[0].rows[0].binding);
  const std::vector<CapacityItem> items = {{.node = &wanted, .count = 3}};
  const std::vector<std::string> removed = {"n1"};
  EXPECT_FALSE(must(client.capacity_plan(items, removed)).peak_break);
  const answers::CapacityReserved reserved =
      must(client.capacity_reserve({.id = "up-1", .items = items, .expires_us = kSoonUs}));
  EXPECT_TRUE(reserved.accepted);
  EXPECT_EQ(
      client.capacity_reserve({.id = "up-1", .items = items, .expires_us = kSoonUs}).error().code,
      ErrorCode::kConflict);
  EXPECT_EQ(capacity_quotas_text(client), "CapacityQuota/q cpu 20000 4000 12000, ");

  Node first = pool_node("n2");
  first.annotations = {{std::string(kReservationAnnotation), "up-1"}};
  must(feeder->upsert(first));
  must(feeder->barrier());
  EXPECT_EQ(capacity_quotas_text(client), "CapacityQuota/q cpu 20000 8000 8000, ");
  objects.emplace_back(first);
  Node second = first;
  second.name = "n3";
  objects.emplace_back(second);  // came while nobody fed
  must(feeder->resync());
  EXPECT_EQ(must(feeder->barrier(false, true)).invalid, "");
  EXPECT_EQ(capacity_quotas_text(client), "CapacityQuota/q cpu 20000 12000 4000, ");
  const answers::CapacityReservations live = must(client.capacity_reservations());
  ASSERT_EQ(live.reservations.size(), 1u);
  EXPECT_EQ(live.reservations[0].nodes_left, 1);
  EXPECT_EQ(live.reservations[0].nodes_registered, 2);
  EXPECT_TRUE(must(client.capacity_release("up-1")));
  EXPECT_FALSE(must(client.capacity_release("up-1")));
  EXPECT_EQ(capacity_quotas_text(client), "CapacityQuota/q cpu 20000 12000 0, ");
}

TEST(DaemonCapacityQuotas, OtherLimitsAreCheckedAlike) {
  const TestDaemon daemon;
  const std::vector<Object> objects = {pool_node("n1")};
  const CapacityQuota own = capacity_quota_of("group-a", {{"cpu", "8"}});
  Feeder::Options options;
  options.clock = [] { return kTestNowUs; };
  Feeder feeder(daemon.endpoint(), std::move(options), [&](const Feeder::Emit& emit) {
    emit(objects[0]);
    emit(own, wire::CapacityQuotaClass::NodeGroup);
  });
  must(feeder.resync());
  must(feeder.upsert(capacity_quota_of("", {{"nodes", "9"}}), wire::CapacityQuotaClass::MaxNodes));
  must(feeder.barrier());
  Client client = daemon.client();
  EXPECT_EQ(capacity_quotas_text(client),
            "max-nodes nodes 9 1 0, NodeGroup/group-a cpu 8000 4000 0, ");
  must(feeder.remove_capacity_quota("group-a"));  // there is no object of that name
  must(feeder.remove_capacity_quota("", wire::CapacityQuotaClass::MaxNodes));
  must(feeder.barrier());
  EXPECT_EQ(capacity_quotas_text(client), "NodeGroup/group-a cpu 8000 4000 0, ");
  EXPECT_EQ(must(client.capacity_check(pool_node(""), 5)).answers[0].allowed, 1);
}

TEST(DaemonCapacityQuotas, AreCountedAsTheOptionsSay) {
  const TestDaemon daemon(
      {.arguments = {"--capacity-quota-ignore-deleting", "--capacity-quota-alias",
                     "gpu=nvidia.com/gpu", "--capacity-quota-alias", "ram=memory"}});
  Node kept = pool_node("n1"), deleted = pool_node("n2");
  kept.capacity = {{"cpu", Quantity::from_value(4)},
                   {"memory", Quantity::from_value(7)},
                   {"nvidia.com/gpu", Quantity::from_value(8)}};
  deleted.capacity = kept.capacity;
  deleted.deleting = true;
  daemon.feed({kept, deleted, capacity_quota_of("q", {{"gpu", "16"}, {"ram", "9"}})});
  Client client = daemon.client();
  EXPECT_EQ(capacity_quotas_text(client),
            "CapacityQuota/q gpu 16 8 0, CapacityQuota/q ram 9 7 0, ");
}

TEST(DaemonCapacityQuotas, OneOfTwoAutoscalersGetsTheLastNode) {
  const TestDaemon daemon;
  daemon.feed({pool_node("n1"), capacity_quota_of("q", {{"nodes", "2"}})});
  constexpr int kRounds = 50;
  std::barrier<> line(2);
  std::array<std::array<bool, kRounds>, 2> won{};
  const auto race = [&](std::size_t me) {
    Client client = daemon.client(fmt::format("autoscaler-{}", me));
    const Node wanted = pool_node("");
    const std::vector<CapacityItem> items = {{.node = &wanted, .count = 1}};
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::string id = fmt::format("up-{}-{}", me, round);
      line.arrive_and_wait();
      const auto reserved =
          client.capacity_reserve({.id = id, .items = items, .expires_us = kSoonUs});
      won[me][round] = reserved.has_value() && reserved->accepted;
      line.arrive_and_wait();
      if (won[me][round]) must(client.capacity_release(id));
    }
  };
  std::thread other([&] { race(1); });
  race(0);
  other.join();
  for (std::size_t round = 0; round < kRounds; ++round) {
    EXPECT_NE(won[0][round], won[1][round]) << "round " << round;
  }
}

// As `headroom load` feeds what a dump has of them, and holds the digests against each other.
TEST(DaemonCapacityQuotas, AreFedAndVerifiedByTheLoadTest) {
  const TestDaemon daemon;
  LoadFacts::Objects objects;
  objects.now_us = kTestNowUs;
  objects.nodes = {pool_node("n1"), pool_node("n2", "8")};
  objects.pods = {small_pod("asked")};
  objects.capacity_quotas = {capacity_quota_of("q", {{"cpu", "20"}}),
                             capacity_quota_of("broken", {{"cpu", "4x"}})};
  const auto facts = must(LoadFacts::create(std::move(objects), Profile::standard(), 1));
  EXPECT_EQ(facts->object_count(), 5u);
  Feeder::Options options;
  options.clock = [&] { return facts->now_us(); };
  Feeder feeder(daemon.endpoint(), std::move(options),
                [&](const Feeder::Emit& emit) { facts->for_each(emit); });
  must(feeder.resync());
  const ClientOptions asking;
  must(verify_server(daemon.endpoint(), asking, *facts, feeder, 2));
  must(feeder.upsert(capacity_quota_of("q", {{"cpu", "21"}})));
  const auto differs = verify_server(daemon.endpoint(), asking, *facts, feeder, 2);
  ASSERT_FALSE(differs);
  EXPECT_NE(differs.error().message.find("capacity digest "), std::string::npos)
      << differs.error().message;
}

}  // namespace
}  // namespace headroom
