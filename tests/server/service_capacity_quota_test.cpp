// CapacityQuotas through the service: facts, what a resync keeps of them, their status, options.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "tests/server/capacity_texts.h"
#include "tests/support/objects.h"
#include "tests/support/read_back.h"
#include "tests/support/seed.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::capacity_test {
namespace {

class CapacityFacts : public ServiceTest {};
class CapacityStatus : public ServiceTest {};

// --- Facts -------------------------------------------------------------------------------------

std::string decoded(const CapacityQuota& quota) {
  return read_back<wire::CapacityQuota>(quota, capacity_quota_of("other", {{"gpu", "7"}}, "b"));
}
std::string decoded(const Node& node) {
  Node other = sized("other", 7, "b");
  other.deleting = true;
  return read_back<wire::Node>(node, other);
}

TEST_F(CapacityFacts, ComeBackAsTheyWere) {
  Node node = sized("n1", 3);
  EXPECT_EQ(decoded(node), "ok");
  node.deleting = true;
  node.capacity.clear();
  EXPECT_EQ(decoded(node), "ok");
  CapacityQuota quota = capacity_quota_of("q", {{"cpu", "10"}, {"nodes", "3"}}, "a");
  EXPECT_EQ(decoded(quota), "ok");
  // Whether it can be used is not the decoder's to say.
  quota.selector = {{"", "Near", {}}, {"pool", "", {"a", "a"}}};
  quota.limits = {{"", ""}, {"cpu", "4x"}};
  quota.generation = -1;
  EXPECT_EQ(decoded(quota), "ok");
  quota.selector.clear();
  quota.limits.clear();
  EXPECT_EQ(decoded(quota), "ok");
}

TEST_F(CapacityFacts, ErrorsNameTheField) {
  Node node = sized("n1", 3);
  node.capacity = {{"cpu", {}}, {"cpu", {}}};
  EXPECT_EQ(decoded(node), "Invalid: node n1: capacity: \"cpu\" comes twice");
  node.capacity.assign(kResourcesPerListMax + 1, {"r", {}});
  EXPECT_EQ(decoded(node),
            "LimitExceeded: node n1: capacity: 65 resources: kResourcesPerListMax is 64");
  CapacityQuota quota = capacity_quota_of("q", {{"cpu", "1"}, {"cpu", "2"}});
  EXPECT_EQ(decoded(quota), "Invalid: capacityquota q: limits: \"cpu\" comes twice");
  quota.limits = {{"cpu", "1"}, {std::string(kTextBytesMax, 'r'), "1"}};
  EXPECT_EQ(decoded(quota), "ok");
  quota.limits[1].first += "r";
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: capacityquota q: limits[1].key: 1025 bytes: kTextBytesMax is 1024");
  quota.limits = {{"cpu", std::string(kTextBytesMax + 1, '1')}};
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: capacityquota q: limits[0].value: 1025 bytes: kTextBytesMax is 1024");
  quota.limits.resize(kItemsPerListMax + 1);
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: capacityquota q: limits: 4097 items: kItemsPerListMax is 4096");
  quota = capacity_quota_of("q", {}, "a");
  quota.selector[0].values.emplace_back(kTextBytesMax + 1, 'v');
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: capacityquota q: selector[0].values[1]: 1025 bytes: kTextBytesMax is"
            " 1024");
  quota.selector.assign(kItemsPerListMax + 1, {});
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: capacityquota q: selector: 4097 items: kItemsPerListMax is 4096");
  quota = capacity_quota_of(std::string(kTextBytesMax + 1, 'q'), {});
  EXPECT_NE(decoded(quota).find("name: 1025 bytes: kTextBytesMax is 1024"), std::string::npos);
}

TEST_F(CapacityFacts, AnUnknownClassIsRefused) {
  feeder.feed({});
  const auto unknown = static_cast<wire::CapacityQuotaClass>(9);
  const std::uint64_t id = feeder.facts(
      {ClassedCapacityQuota{capacity_quota_of("q", {{"cpu", "1"}}), unknown},
       removed_capacity_quota("q", unknown), capacity_quota_of("r", {{"nodes", "1"}})});
  EXPECT_EQ(
      feeder.error(id),
      "Unsupported: capacityquota q: quotaClass: 9 is not known; accepted: 0 to 3 (change 0)");
  EXPECT_EQ(
      feeder.error(id),
      "Unsupported: capacityquota q: quotaClass: 9 is not known; accepted: 0 to 3 (change 1)");
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/r 1/1 nodes 0 nodes 1 0 0");
}

TEST_F(CapacityFacts, ARefusedOneStopsNoOther) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "5"}})});
  Node nameless = sized("", 1);
  const std::uint64_t id =
      feeder.facts({nameless, capacity_quota_of("", {{"cpu", "1"}}), sized("n1", 1)});
  EXPECT_EQ(feeder.error(id), "Invalid: Node: metadata.name is empty (change 0)");
  EXPECT_EQ(feeder.error(id), "Invalid: CapacityQuota: metadata.name is empty (change 1)");
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 1 nodes 5 1 0");
}

TEST_F(CapacityFacts, TheirNumberHasALimit) {
  if (kThreadSanitizer) GTEST_SKIP() << kManyOfOneThread;
  std::vector<Fact> quotas;
  for (std::uint32_t q = 0; q < kCapacityQuotasMax; ++q) {
    quotas.emplace_back(capacity_quota_of(fmt::format("quota-{:06}", q), {{"nodes", "7"}}));
  }
  feeder.feed(quotas);
  const std::uint64_t id = feeder.facts(
      {capacity_quota_of("quota-000000", {{"nodes", "6"}}), capacity_quota_of("more", {})});
  const std::string error = feeder.error(id);
  EXPECT_EQ(error.rfind("LimitExceeded: ", 0), 0U);
  for (const char* part : {"more", "kCapacityQuotasMax", "(change 1)"}) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
  EXPECT_FALSE(feeder.has_answer());
  const wire::CapacityChecked& checked =
      client.capacity_checked({{sized("", 1), 9}, {sized("", 1), 8}});
  EXPECT_EQ(checked.answers()->Get(0)->allowed(), 6);
  EXPECT_EQ(checked.answers()->Get(0)->rows()->size(), kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(checked.answers()->Get(0)->rows_left_out(),
            kCapacityQuotasMax - kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(checked.answers()->Get(1)->allowed(), 6);
  EXPECT_EQ(checked.answers()->Get(1)->rows_left_out(), kCapacityQuotasMax);
}

// A node that one of them refuses is in neither, and one that may not change stays as it was.
TEST_F(CapacityFacts, EngineAndQuotasHaveTheSameNodes) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "90"}}), sized("n1", 1)});
  Node engine_refuses = sized("n2", 2), quotas_refuse = sized("n3", 4), changed = sized("n1", 8);
  engine_refuses.allocatable = changed.allocatable = {{"cpu", Quantity::from_value(-1)}};
  // cpu is counted in thousandths.
  quotas_refuse.capacity = {{"cpu", *Quantity::parse("9223372036854775807")}};
  const std::uint64_t id = feeder.facts({engine_refuses, quotas_refuse, changed});
  EXPECT_EQ(feeder.error(id).rfind("Invalid: Node n2: status.allocatable", 0), 0U);
  const std::string too_large = feeder.error(id);
  EXPECT_EQ(too_large.rfind("LimitExceeded: ", 0), 0U);
  EXPECT_NE(too_large.find("cpu"), std::string::npos);
  EXPECT_EQ(feeder.error(id).rfind("Invalid: Node n1: status.allocatable", 0), 0U);
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), 1U);
  EXPECT_EQ(text_of(client.capacity_quota_status()),
            "CapacityQuota/q 1/1 nodes 1 cpu 90000 1000 0");
}

TEST_F(CapacityFacts, ClassesHaveNamesOfTheirOwn) {
  using wire::CapacityQuotaClass;
  feeder.feed(
      {sized("n1", 1), capacity_quota_of("q", {{"cpu", "2"}}),
       ClassedCapacityQuota{capacity_quota_of("q", {{"cpu", "3"}}), CapacityQuotaClass::NodeGroup},
       ClassedCapacityQuota{capacity_quota_of("any", {{"nodes", "4"}}),
                            CapacityQuotaClass::MaxNodes},
       ClassedCapacityQuota{capacity_quota_of("", {{"cpu", "5"}}),
                            CapacityQuotaClass::ClusterWide}});
  EXPECT_EQ(
      text_of(client.capacity_quota_status()),
      "cluster-wide 1/1 nodes 1 cpu 5000 1000 0; max-nodes 1/1 nodes 1 nodes 4 1 0;"
      " NodeGroup/q 1/1 nodes 1 cpu 3000 1000 0; CapacityQuota/q 1/1 nodes 1 cpu 2000 1000 0");
  EXPECT_EQ(client.allowed(sized("new", 1), 9), 1);
  const wire::CapacityQuotaStatusReply& reply = client.capacity_quota_status();
  EXPECT_EQ(reply.quotas()->Get(1)->quota_class(), CapacityQuotaClass::MaxNodes);
  EXPECT_EQ(text(reply.quotas()->Get(2)->name()), "q");
  feeder.facts({removed_capacity_quota("q"),
                removed_capacity_quota("other", CapacityQuotaClass::MaxNodes),
                removed_capacity_quota("q", CapacityQuotaClass::NodeGroup)});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.capacity_quota_status()), "cluster-wide 1/1 nodes 1 cpu 5000 1000 0");
}

TEST_F(CapacityFacts, NeedNoOrder) {
  std::vector<Fact> facts = {capacity_quota_of("all", {{"cpu", "100"}, {"nodes", "9"}}),
                             capacity_quota_of("pool", {{"cpu", "50"}}, "b"),
                             unusable("broken"),
                             sized("n1", 1),
                             sized("n2", 2, "b"),
                             sized("n3", 4, "b")};
  CapacityQuotas expected;
  ASSERT_TRUE(expected.advance(kNowUs));
  for (const Fact& fact : facts) {
    if (const auto* node = std::get_if<Node>(&fact)) {
      ASSERT_TRUE(expected.upsert(*node));
    } else {
      ASSERT_TRUE(expected.upsert(std::get<CapacityQuota>(fact)));
    }
  }
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20; ++round) {
    std::shuffle(facts.begin(), facts.end(), random);
    feeder.feed({}, kNowUs);  // what was in force is forgotten with its quota
    feeder.feed(facts, kNowUs);
    EXPECT_EQ(client.stats(true).capacity_digest(), expected.digest());
  }
  const wire::StatsReply& stats = client.stats();
  EXPECT_EQ(stats.capacity_quotas(), 3U);
  EXPECT_EQ(stats.capacity_quotas_invalid(), 1U);
  EXPECT_EQ(stats.capacity_reservations(), 0U);
  EXPECT_EQ(stats.capacity_digest(), 0U);  // it was not asked for
}

TEST_F(CapacityFacts, NodesChangeAndGo) {
  feeder.feed({capacity_quota_of("a", {{"cpu", "10"}}, "a"),
               capacity_quota_of("b", {{"cpu", "10"}}, "b"), sized("n1", 1), sized("n2", 2)});
  EXPECT_EQ(
      text_of(client.capacity_quota_status()),
      "CapacityQuota/a 1/1 nodes 2 cpu 10000 3000 0; CapacityQuota/b 1/1 nodes 0 cpu 10000 0 0");
  feeder.facts({sized("n1", 4, "b"), removed_node("n2"), removed_node("nobody")});
  EXPECT_EQ(
      text_of(client.capacity_quota_status()),
      "CapacityQuota/a 1/1 nodes 0 cpu 10000 0 0; CapacityQuota/b 1/1 nodes 1 cpu 10000 4000 0");
}

TEST_F(CapacityFacts, AResyncReplacesThemAsAWhole) {
  feeder.feed({capacity_quota_of("old", {{"nodes", "2"}}), sized("n1", 1), sized("n2", 1)});
  const std::string old = "CapacityQuota/old 1/1 nodes 2 nodes 2 2 0";
  feeder.begin();
  feeder.facts({capacity_quota_of("new", {{"nodes", "3"}}), sized("n1", 1)});
  EXPECT_EQ(text_of(client.capacity_quota_status()), old);
  EXPECT_EQ(client.allowed(sized("more", 1), 9), 0);
  feeder.begin();  // that resync is dropped
  EXPECT_EQ(text_of(client.capacity_quota_status()), old);
  feeder.facts({capacity_quota_of("new", {{"nodes", "3"}}), sized("n1", 1)});
  feeder.end();
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/new 1/1 nodes 1 nodes 3 1 0");
  EXPECT_EQ(client.allowed(sized("more", 1), 9), 2);
}

// The last spec that could be used stays in force, over a resync as well.
TEST_F(CapacityFacts, WhatCannotBeUsedLeavesTheLastThatCould) {
  CapacityQuota quota = capacity_quota_of("q", {{"cpu", "4"}});
  feeder.feed({sized("n1", 1), quota, unusable("broken")});
  EXPECT_EQ(text_of(client.capacity_quota_status()),
            "CapacityQuota/broken 0/1 skipped invalid nodes 0; CapacityQuota/q 1/1 nodes 1 cpu 4000"
            " 1000 0");
  feeder.facts({unusable("q", 2)});
  const std::string in_force =
      "CapacityQuota/broken 0/1 skipped invalid nodes 0; CapacityQuota/q 1/2 invalid nodes 1 cpu"
      " 4000 1000 0";
  EXPECT_EQ(text_of(client.capacity_quota_status()), in_force);
  EXPECT_EQ(client.allowed(sized("new", 1), 9), 3);
  EXPECT_EQ(client.stats().capacity_quotas_invalid(), 2U);
  feeder.feed({sized("n1", 1), unusable("q", 2), unusable("broken")});
  EXPECT_EQ(text_of(client.capacity_quota_status()), in_force);
  const wire::CapacityChecked& checked = client.capacity_checked({{sized("new", 1), 9}});
  EXPECT_EQ(checked.answers()->Get(0)->allowed(), 3);
  EXPECT_EQ(skipped_of(checked), kUnusable);
  EXPECT_EQ(text(client.capacity_quota_status().quotas()->Get(1)->invalid()),
            "spec.limits.resources.cpu: \"4x\" is not a quantity");
  // Gone is gone: a new one of that name begins without.
  feeder.feed({sized("n1", 1)});
  feeder.feed({sized("n1", 1), unusable("q", 2)});
  EXPECT_EQ(client.allowed(sized("new", 1), 9), 9);
}

// --- Status ------------------------------------------------------------------------------------

TEST_F(CapacityStatus, ManyQuotasComeInPages) {
  const std::uint32_t count = kQuotasPerReplyMax + 100;
  std::vector<Fact> facts = {ClassedCapacityQuota{capacity_quota_of("", {{"cpu", "1"}}),
                                                  wire::CapacityQuotaClass::ClusterWide},
                             ClassedCapacityQuota{capacity_quota_of("", {{"cpu", "1"}}),
                                                  wire::CapacityQuotaClass::MaxNodes}};
  for (std::uint32_t q = 0; q < count - 2; ++q) {
    const CapacityQuota quota =
        capacity_quota_of(fmt::format("quota-{:05}", count - q), {{"cpu", "1"}});
    facts.emplace_back(ClassedCapacityQuota{quota, q % 2 == 0
                                                       ? wire::CapacityQuotaClass::NodeGroup
                                                       : wire::CapacityQuotaClass::CapacityQuota});
  }
  feeder.feed(facts);
  std::string after;
  std::vector<std::pair<wire::CapacityQuotaClass, std::string>> seen;
  for (const std::uint32_t size : {kQuotasPerReplyMax, 100U, 0U}) {
    const wire::CapacityQuotaStatusReply& page = client.capacity_quota_status(after);
    ASSERT_EQ(page.quotas() == nullptr ? 0 : page.quotas()->size(), size);
    EXPECT_EQ(page.more(), size == kQuotasPerReplyMax);
    for (std::uint32_t q = 0; q < size; ++q) {
      const wire::CapacityQuotaState& quota = *page.quotas()->Get(q);
      seen.emplace_back(quota.quota_class(), quota.name()->str());
      after = quota.id()->str();
    }
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST_F(CapacityStatus, GoesOnAfterAnyId) {
  using wire::CapacityQuotaClass;
  feeder.feed({ClassedCapacityQuota{capacity_quota_of("", {}), CapacityQuotaClass::ClusterWide},
               ClassedCapacityQuota{capacity_quota_of("", {}), CapacityQuotaClass::MaxNodes},
               ClassedCapacityQuota{capacity_quota_of("b", {}), CapacityQuotaClass::NodeGroup},
               capacity_quota_of("a", {}), capacity_quota_of("c", {})});
  const auto after = [&](const std::string& id) {
    std::string ids;
    const wire::CapacityQuotaStatusReply& reply = client.capacity_quota_status(id);
    for (std::uint32_t q = 0; reply.quotas() != nullptr && q < reply.quotas()->size(); ++q) {
      ids += fmt::format("{}{}", q == 0 ? "" : " ", text(reply.quotas()->Get(q)->id()));
    }
    return ids;
  };
  const std::string capacity = "CapacityQuota/a CapacityQuota/c";
  EXPECT_EQ(after(""), "cluster-wide max-nodes NodeGroup/b " + capacity);
  EXPECT_EQ(after("cluster-wide"), "max-nodes NodeGroup/b " + capacity);
  EXPECT_EQ(after("max-nodes"), "NodeGroup/b " + capacity);
  EXPECT_EQ(after("NodeGroup/a"), "NodeGroup/b " + capacity);
  EXPECT_EQ(after("NodeGroup/b"), capacity);
  EXPECT_EQ(after("CapacityQuota/a"), "CapacityQuota/c");
  EXPECT_EQ(after("CapacityQuota/b"), "CapacityQuota/c");  // one that is gone
  EXPECT_EQ(after("CapacityQuota/c"), "");
  EXPECT_EQ(client.error(client.ask_capacity_quota_status("a")),
            "Invalid: after: \"a\" is not the id of a quota");
}

TEST_F(CapacityStatus, ManyReservationsComeInPages) {
  feeder.feed({});
  const std::uint32_t count = kReservationsPerReplyMax + 1;
  for (std::uint32_t r = 0; r < count; ++r) {
    client.capacity_reserved(fmt::format("r-{:05}", count - r), {{sized("", 1), 1}}, kSoonUs);
  }
  std::string after;
  std::vector<std::string> seen;
  for (const std::uint32_t size : {kReservationsPerReplyMax, 1U, 0U}) {
    const wire::CapacityReservationsReply& page = client.capacity_reservations(after);
    ASSERT_EQ(page.reservations() == nullptr ? 0 : page.reservations()->size(), size);
    EXPECT_EQ(page.more(), size == kReservationsPerReplyMax);
    for (std::uint32_t r = 0; r < size; ++r) {
      seen.push_back(page.reservations()->Get(r)->id()->str());
    }
    after = seen.back();
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(CapacityStatus, IsCountedInTheMetrics) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "2"}}), unusable("broken")});
  client.capacity_checked({{sized("", 1), 2}, {sized("", 1), 3}});
  client.take<wire::CapacityPlanned>(client.capacity_plan({{sized("", 1), 3}}, {}));
  client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs);
  client.capacity_reserved("s", {{sized("", 1), 2}}, kSoonUs);
  client.error(client.capacity_check({}));  // none was asked for
  client.capacity_released("t");
  client.capacity_quota_status();
  client.capacity_reservations();
  service->tick();
  const std::string all = metrics.text();
  for (const char* sample :
       {"headroomd_request_duration_seconds_count{request=\"capacity_check\"} 2\n",
        "headroomd_request_duration_seconds_count{request=\"capacity_plan\"} 1\n",
        "headroomd_request_duration_seconds_count{request=\"capacity_reserve\"} 2\n",
        "headroomd_request_duration_seconds_count{request=\"capacity_release\"} 1\n",
        "headroomd_request_duration_seconds_count{request=\"capacity_quota_status\"} 1\n",
        "headroomd_request_duration_seconds_count{request=\"capacity_reservations\"} 1\n",
        "headroomd_capacity_asked_total{result=\"fits\"} 2\n",
        "headroomd_capacity_asked_total{result=\"limited\"} 3\n", "headroomd_capacity_quotas 2\n",
        "headroomd_capacity_quotas_invalid 1\n", "headroomd_capacity_reservations 1\n"}) {
    EXPECT_NE(all.find(sample), std::string::npos) << sample;
  }
}

// --- Options -----------------------------------------------------------------------------------

TEST(CapacityOptions, AreThoseOfTheQuotas) {
  Metrics metrics;
  ServiceOptions options;
  options.engine.threads = 1;
  options.quotas.ignore_deleting = true;
  options.quotas.aliases = {{"gpu", "nvidia.com/gpu"}};
  auto service = RequestService::create(std::move(options), metrics);
  ASSERT_TRUE(service);
  Client feeder(**service);
  feeder.greet();
  Node kept = sized("n1", 1), deleted = sized("n2", 1);
  kept.capacity.emplace_back("nvidia.com/gpu", Quantity::from_value(8));
  deleted.capacity = kept.capacity;
  deleted.deleting = true;
  for (int round = 0; round < 2; ++round) {  // the next cluster has them as well
    feeder.feed({capacity_quota_of("q", {{"gpu", "16"}}), kept, deleted});
    EXPECT_EQ(text_of(feeder.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 1 gpu 16 8 0");
  }
}

}  // namespace
}  // namespace headroom::in_memory::capacity_test
