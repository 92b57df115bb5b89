// CapacityQuotas through the service: facts, checks, plans, reservations and what a resync keeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "objects/annotations.h"
#include "server/answers/encode_capacity_quota.h"
#include "tests/support/objects.h"
#include "tests/support/read_back.h"
#include "tests/support/seed.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_capacity_quota_test {
namespace {

class CapacityFacts : public ServiceTest {};
class CapacityChecking : public ServiceTest {};
class CapacityPlanning : public ServiceTest {};
class CapacityReserving : public ServiceTest {};
class CapacityStatus : public ServiceTest {};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSoonUs = kNowUs + 60 * kSecondUs;

// A node, or what one would be, of the pool and with so many cores.
Node sized(const std::string& name, std::int64_t cpu, const std::string& pool = "a") {
  Node node = node_of(name, cpu);
  node.labels = {{"pool", pool}};
  node.capacity = cpu_and_memory(cpu * 1'000, 1 << 20);
  return node;
}

Node reserved_as(const std::string& id, Node node) {
  node.annotations = {{std::string(kReservationAnnotation), id}};
  return node;
}

// Of the nodes of the pool; of all where that is empty.
CapacityQuota capacity_quota_of(const std::string& name, StringMap limits,
                                const std::string& pool = "") {
  LabelSelector selector;
  if (!pool.empty()) selector = {{"pool", "In", {pool}}};
  return capacity_quota(name, std::move(limits), std::move(selector));
}

CapacityQuota unusable(const std::string& name, std::int64_t generation = 1) {
  CapacityQuota quota = capacity_quota_of(name, {{"cpu", "4x"}});
  quota.generation = generation;
  return quota;
}

std::string text_of(const flatbuffers::Vector<Offset<wire::CapacityQuotaRow>>* rows) {
  std::string all;
  for (std::uint32_t r = 0; rows != nullptr && r < rows->size(); ++r) {
    const wire::CapacityQuotaRow& row = *rows->Get(r);
    all += fmt::format(
        "{}{} {} limit {} used {} reserved {} need {} headroom {} shortfall {} max {}{}",
        r == 0 ? "" : "; ", text(row.quota()), text(row.resource()), row.limit(), row.used(),
        row.reserved(), row.need(), row.headroom(), row.shortfall(), row.max_nodes(),
        row.binding() ? " binding" : "");
  }
  return all;
}

// "1: " and the rows.
std::string text_of(const wire::CapacityAnswer& answer) {
  return fmt::format("{}: {}", answer.allowed(), text_of(answer.rows()));
}

template <typename Reply>
std::string skipped_of(const Reply& reply) {
  std::string all;
  for (std::uint32_t s = 0; reply.skipped() != nullptr && s < reply.skipped()->size(); ++s) {
    const wire::SkippedCapacityQuota& quota = *reply.skipped()->Get(s);
    all += fmt::format("{}{}: {}", s == 0 ? "" : "; ", text(quota.quota()), text(quota.why()));
  }
  return all;
}
const char* const kUnusable =
    "CapacityQuota/broken: spec.limits.resources.cpu: \"4x\" is not a quantity";

// "item 0 fits 2: " and the rows; "" where there is none.
std::string text_of(const wire::CapacityBreak* stopped) {
  if (stopped == nullptr) return "";
  return fmt::format("item {} fits {}: {}", stopped->item(), stopped->fits(),
                     text_of(stopped->rows()));
}

std::string text_of(const wire::CapacityPlanned& planned) {
  std::string all = fmt::format("net [{}] peak [{}]", text_of(planned.net_break()),
                                text_of(planned.peak_break()));
  for (std::uint32_t r = 0; planned.rows() != nullptr && r < planned.rows()->size(); ++r) {
    const wire::PlanRow& row = *planned.rows()->Get(r);
    all += fmt::format("; {} {} limit {} used {} reserved {} added {} removed {} net {} peak {}",
                       text(row.quota()), text(row.resource()), row.limit(), row.used(),
                       row.reserved(), row.added(), row.removed(), row.net(), row.peak());
  }
  return all;
}

// "accepted 2 0", or "refused 2 0".
std::string text_of(const wire::CapacityReserved& reserved) {
  std::string all = reserved.accepted() ? "accepted" : "refused";
  for (const std::int64_t allowed : *reserved.allowed()) all += fmt::format(" {}", allowed);
  return all;
}

// "CapacityQuota/q 1/1 nodes 2 cpu 8000 4000 0": generations, limit, used, reserved.
std::string text_of(const wire::CapacityQuotaStatusReply& reply) {
  std::string all;
  for (std::uint32_t q = 0; reply.quotas() != nullptr && q < reply.quotas()->size(); ++q) {
    const wire::CapacityQuotaState& quota = *reply.quotas()->Get(q);
    all += fmt::format("{}{} {}/{}{}{} nodes {}", q == 0 ? "" : "; ", text(quota.id()),
                       quota.generation_in_force(), quota.generation(),
                       quota.in_force() ? "" : " skipped",
                       quota.invalid() == nullptr ? "" : " invalid", quota.nodes());
    for (std::uint32_t a = 0; quota.amounts() != nullptr && a < quota.amounts()->size(); ++a) {
      const wire::CapacityAmount& amount = *quota.amounts()->Get(a);
      all += fmt::format(" {} {} {} {}", text(amount.resource()), amount.limit(), amount.used(),
                         amount.reserved());
    }
  }
  return all;
}

// "id left 2 registered 1", ...
std::string text_of(const wire::CapacityReservationsReply& reply) {
  std::string all;
  for (std::uint32_t r = 0; reply.reservations() != nullptr && r < reply.reservations()->size();
       ++r) {
    const wire::CapacityReservation& reservation = *reply.reservations()->Get(r);
    all += fmt::format("{}{} left {} registered {}", r == 0 ? "" : ", ", text(reservation.id()),
                       reservation.nodes_left(), reservation.nodes_registered());
  }
  return all;
}

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

// --- Reservations ------------------------------------------------------------------------------

TEST_F(CapacityReserving, AllOrNone) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}}), unusable("broken")});
  const wire::CapacityReserved& refused =
      client.capacity_reserved("r", {{sized("", 1), 2}, {sized("", 3), 1}}, kSoonUs);
  EXPECT_EQ(text_of(refused), "refused 2 0");
  EXPECT_EQ(text_of(refused.stopped()),
            "item 1 fits 0: CapacityQuota/q cpu limit 4000 used 0 reserved 2000 need 3000 headroom"
            " 2000 shortfall 1000 max 0 binding");
  EXPECT_EQ(refused.now_us(), kNowUs);
  EXPECT_EQ(skipped_of(refused), kUnusable);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
  const wire::CapacityReserved& accepted =
      client.capacity_reserved("r", {{sized("", 1), 2}, {sized("", 2), 1}}, kSoonUs);
  EXPECT_EQ(text_of(accepted), "accepted 2 1");
  EXPECT_EQ(accepted.stopped(), nullptr);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  const wire::CapacityReservationsReply& live = client.capacity_reservations();
  EXPECT_EQ(text_of(live), "r left 3 registered 0");
  EXPECT_EQ(live.reservations()->Get(0)->expires_us(), kSoonUs);
  EXPECT_EQ(live.now_us(), kNowUs);
  EXPECT_FALSE(live.more());
}

TEST_F(CapacityReserving, AsManyAsFit) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}})});
  const auto up_to = wire::ReserveMode::UpTo;
  const wire::CapacityReserved& some =
      client.capacity_reserved("r", {{sized("", 3), 2}, {sized("", 1), 2}}, kSoonUs, up_to);
  EXPECT_TRUE(some.accepted());
  EXPECT_EQ(some.allowed()->Get(0), 1);
  ASSERT_NE(some.stopped(), nullptr);
  EXPECT_EQ(some.stopped()->item(), 0U);
  EXPECT_EQ(some.stopped()->fits(), 1);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 5), 2}}, kSoonUs, up_to)),
            "refused 0");
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
}

TEST_F(CapacityReserving, ReleasingGivesBack) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 2), 2}}, kSoonUs)), "accepted 2");
  EXPECT_FALSE(client.capacity_released("other"));
  EXPECT_FALSE(client.capacity_released(""));
  EXPECT_EQ(client.allowed(sized("", 2), 2), 0);
  Client other(*service);
  other.greet("other");
  EXPECT_EQ(other.error(other.capacity_release("r")), "Forbidden: id: r was reserved by test");
  EXPECT_EQ(client.allowed(sized("", 2), 2), 0);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_FALSE(client.capacity_released("r"));
  EXPECT_EQ(client.allowed(sized("", 2), 2), 2);
}

TEST_F(CapacityReserving, ErrorsNameTheField) {
  feeder.feed({});
  const NodeCounts one = {{sized("", 1), 1}};
  EXPECT_EQ(client.error(client.capacity_reserve("", one, kSoonUs)).rfind("Invalid: ", 0), 0U);
  const std::string longest(kTextBytesMax, 'i');
  EXPECT_EQ(text_of(client.capacity_reserved(longest, one, kSoonUs)), "accepted 1");
  EXPECT_EQ(client.error(client.capacity_reserve(longest + "i", one, kSoonUs)),
            "LimitExceeded: id: 1025 bytes: kTextBytesMax is 1024");
  EXPECT_EQ(
      client.error(client.capacity_reserve("r", one, kSoonUs, static_cast<wire::ReserveMode>(2))),
      "Unsupported: mode: 2 is not known; accepted: 0 to 1");
  for (const std::int64_t expires_us : {std::int64_t{0}, std::int64_t{-1}, kNowUs}) {
    const std::string error = client.error(client.capacity_reserve("r", one, expires_us));
    EXPECT_EQ(error.rfind("Invalid: ", 0), 0U) << error;
    EXPECT_NE(error.find(fmt::to_string(expires_us)), std::string::npos) << error;
  }
  const std::int64_t last_us = kNowUs + kNodeReservationSecondsMax * kSecondUs;
  EXPECT_EQ(client.error(client.capacity_reserve("r", one, last_us + 1)),
            fmt::format("LimitExceeded: expires_us: {}: it is {}, and kNodeReservationSecondsMax is"
                        " 604800",
                        last_us + 1, kNowUs));
  EXPECT_EQ(text_of(client.capacity_reserved("longest", one, last_us)), "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("r", one, kNowUs + 1)), "accepted 1");
  EXPECT_EQ(client.error(client.capacity_reserve("r", one, kSoonUs)).rfind("Conflict: ", 0), 0U);
  EXPECT_EQ(client.error(client.capacity_reserve("s", {{sized("", 1), kMost}, one[0]}, kSoonUs))
                .rfind("LimitExceeded: ", 0),
            0U);
}

TEST_F(CapacityReserving, OneOfTwoGetsTheLastNode) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  Client other(*service);
  other.greet();
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(other.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(other.capacity_reserved("b", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("a", {{sized("", 1), 1}}, kSoonUs)), "refused 0");
  other.disconnect();  // it holds on
  EXPECT_EQ(text_of(client.capacity_reserved("a", {{sized("", 1), 1}}, kSoonUs)), "refused 0");
}

TEST_F(CapacityReserving, LapsesByTheServersClock) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  wall_clock_us = kSoonUs - 1;
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 0");
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  wall_clock_us = kSoonUs;
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
  EXPECT_FALSE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs + 1)), "accepted 1");
}

TEST_F(CapacityReserving, LapsesByTheFeedersClock) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1000);
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, 2000)), "accepted 1");
  wall_clock_us = kSoonUs;
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.facts({}, 1999);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.facts({}, 2000);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(client.capacity_reservations().now_us(), 2000);
}

TEST_F(CapacityReserving, ANodeThatNamesItTakesOneOff) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "3"}}), sized("n0", 1)});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 2}}, kSoonUs)), "accepted 2");
  const Node first = reserved_as("r", sized("n1", 1));
  feeder.facts({first});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 1");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 2 nodes 3 2 1");
  feeder.facts({first, reserved_as("other", sized("n0", 1))});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 1");
  feeder.facts({reserved_as("r", sized("n2", 1))});
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 3 nodes 3 3 0");
}

// --- Reservations over a resync ------------------------------------------------------------------

TEST_F(CapacityReserving, OutlivesAResync) {
  const std::vector<Fact> facts = {capacity_quota_of("q", {{"nodes", "5"}}), sized("n0", 1)};
  feeder.feed(facts);
  EXPECT_EQ(text_of(client.capacity_reserved("before", {{sized("", 1), 1}}, kSoonUs)),
            "accepted 1");
  feeder.begin();
  EXPECT_EQ(text_of(client.capacity_reserved("during", {{sized("", 1), 1}}, kSoonUs)),
            "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("gone", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  feeder.facts(facts);
  EXPECT_TRUE(client.capacity_released("gone"));
  feeder.end();
  EXPECT_EQ(text_of(client.capacity_reservations()),
            "before left 1 registered 0, during left 1 registered 0");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 1 nodes 5 1 2");
  EXPECT_EQ(client.error(client.capacity_reserve("before", {{sized("", 1), 1}}, kSoonUs))
                .rfind("Conflict: ", 0),
            0U);
  EXPECT_EQ(client.stats().capacity_reservations(), 2U);
  EXPECT_TRUE(client.capacity_released("before"));
  EXPECT_EQ(client.allowed(sized("", 1), 9), 3);
  wall_clock_us = kSoonUs;  // it still knows when
  EXPECT_EQ(client.allowed(sized("", 1), 9), 4);
}

// A node that was there before the resync has taken its part already; a new one takes it now.
TEST_F(CapacityReserving, AResyncCountsEveryNodeOnce) {
  const Fact quota = capacity_quota_of("q", {{"nodes", "9"}});
  const Fact one = reserved_as("r", sized("n1", 1)), two = reserved_as("r", sized("n2", 1));
  feeder.feed({quota});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 3}}, kSoonUs)), "accepted 3");
  feeder.facts({one});
  feeder.feed({quota, one});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 2 registered 1");
  feeder.feed({one, two, quota});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 2");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 2 nodes 9 2 1");
  feeder.feed({quota});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 2");
}

TEST_F(CapacityReserving, AResyncThatLimitsMoreKeepsIt) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "9"}})});
  EXPECT_EQ(
      text_of(client.capacity_reserved("r", {{sized("", 1), 1}, {sized("", 4, "b"), 2}}, kSoonUs)),
      "accepted 1 2");
  // Another limit, and a selector that reads a label which none read before.
  feeder.feed({capacity_quota_of("q", {{"cpu", "2"}}, "b")});
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 cpu 2000 0 8000");
  EXPECT_EQ(client.allowed(sized("", 1, "b"), 1), 0);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 cpu 2000 0 0");
}

TEST_F(CapacityReserving, AResyncLaterThanItEndsIt) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1000);
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, 2000)), "accepted 1");
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1999);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 2000);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
}

TEST_F(CapacityReserving, AnAbortedResyncChangesNothing) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "5"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 2}}, kSoonUs)), "accepted 2");
  {
    Client other(*service);
    other.greet();
    other.begin();
    other.facts({reserved_as("r", sized("n1", 1))});
  }
  EXPECT_EQ(feeder.stopped().rfind("Replaced", 0), 0U);
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 2 registered 0");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 nodes 5 0 2");
}

TEST_F(CapacityReserving, AProfileForgetsNoQuota) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  feeder.disconnect();
  EXPECT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  EXPECT_TRUE(service->set_profiles({Profile::standard()}));
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 nodes 1 0 1");
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

// --- Answers have limits -------------------------------------------------------------------------

Offset<wire::CapacityPlanned> encode(Builder& builder, const PlanAnswer& answer,
                                     std::uint64_t epoch) {
  CapacityPlanEncoder reply(builder);
  while (reply.add_rows(answer)) {
  }
  return reply.finish(answer, epoch);
}

CapacityQuotaRow row_of(std::string_view id, bool binding) {
  CapacityQuotaRow row;
  row.quota = id;
  row.resource = "cpu";
  row.binding = binding;
  return row;
}

TEST(CapacityAnswers, LeaveOutWhatIsAboveTheirLimits) {
  Builder builder;
  const auto checked = [&](const std::vector<CapacityCheck>& answers,
                           bool binding_only) -> const wire::CapacityChecked& {
    builder.Clear();
    CapacityCheckEncoder reply(builder, binding_only);
    for (const CapacityCheck& answer : answers) reply.add(answer);
    builder.Finish(reply.finish(1, answers.back().skipped));
    return *flatbuffers::GetRoot<wire::CapacityChecked>(builder.GetBufferPointer());
  };
  std::vector<CapacityCheck> answers(2);
  answers[0].rows.assign(kCapacityQuotaRowsPerReplyMax - 1, row_of("q", false));
  answers[1].rows.assign(3, row_of("q", true));
  answers[1].rows.resize(1);
  answers[1].skipped.assign(kSkippedCapacityQuotasPerReplyMax, {"q", "because"});
  const wire::CapacityChecked& full = checked(answers, false);
  EXPECT_EQ(full.answers()->Get(0)->rows()->size(), kCapacityQuotaRowsPerReplyMax - 1);
  EXPECT_EQ(full.answers()->Get(1)->rows()->size(), 1U);
  EXPECT_EQ(full.answers()->Get(1)->rows_left_out(), 0U);
  EXPECT_EQ(full.skipped()->size(), kSkippedCapacityQuotasPerReplyMax);
  EXPECT_EQ(full.skipped_left_out(), 0U);
  answers[1].rows.assign(3, row_of("q", true));
  answers[1].skipped.resize(kSkippedCapacityQuotasPerReplyMax + 2);
  const wire::CapacityChecked& over = checked(answers, false);
  EXPECT_EQ(over.answers()->Get(1)->rows()->size(), 1U);
  EXPECT_EQ(over.answers()->Get(1)->rows_left_out(), 2U);
  EXPECT_EQ(over.skipped_left_out(), 2U);
  const wire::CapacityChecked& binding = checked(answers, true);
  EXPECT_EQ(binding.answers()->Get(0)->rows(), nullptr);
  EXPECT_EQ(binding.answers()->Get(0)->rows_left_out(), 0U);
  EXPECT_EQ(binding.answers()->Get(1)->rows()->size(), 3U);

  PlanAnswer plan;
  plan.rows.resize(kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(written<wire::CapacityPlanned>(builder,
                                           [&] { return encode(builder, plan, std::uint64_t{1}); })
                .rows_left_out(),
            0U);
  plan.rows.resize(kCapacityQuotaRowsPerReplyMax + 3);
  plan.net_break.emplace();
  plan.net_break->rows.assign(kBreakRowsMax, row_of("q", true));
  plan.peak_break.emplace();
  plan.peak_break->rows.assign(kBreakRowsMax + 1, row_of("q", true));
  const auto& planned = written<wire::CapacityPlanned>(
      builder, [&] { return encode(builder, plan, std::uint64_t{1}); });
  EXPECT_EQ(planned.rows()->size(), kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(planned.rows_left_out(), 3U);
  EXPECT_EQ(planned.net_break()->rows()->size(), kBreakRowsMax);
  EXPECT_EQ(planned.net_break()->rows_left_out(), 0U);
  EXPECT_EQ(planned.peak_break()->rows()->size(), kBreakRowsMax);
  EXPECT_EQ(planned.peak_break()->rows_left_out(), 1U);
}

TEST(CapacityAnswers, ReasonsAreCut) {
  Builder builder;
  const std::string why(kMessageBytesMax + 1, 'w');
  PlanAnswer plan;
  plan.skipped = {{"q", why}};
  const auto& planned = written<wire::CapacityPlanned>(
      builder, [&] { return encode(builder, plan, std::uint64_t{1}); });
  EXPECT_EQ(planned.skipped()->Get(0)->why()->size(), kMessageBytesMax);
  std::vector<CapacityQuotaStatus> quotas(1);
  quotas[0].invalid = why;
  const auto& status = written<wire::CapacityQuotaStatusReply>(builder, [&] {
    return encode(builder, std::span<const CapacityQuotaStatus>(quotas), std::uint64_t{1});
  });
  EXPECT_EQ(status.quotas()->Get(0)->invalid()->size(), kMessageBytesMax);
}

// Ids and names as long as they may be, and lists that are full.
TEST(CapacityAnswers, TheLargestFitAFrame) {
  Builder builder;
  const auto fits = [&](const auto&... answer) {
    builder.Clear();
    finish_frame(builder, 1, encode(builder, answer...));
    EXPECT_LE(builder.GetSize(), kFrameBytesMax);
  };
  std::vector<std::string> ids, resources;
  for (std::uint32_t i = 0; i < kBreakRowsMax + kSkippedCapacityQuotasPerReplyMax; ++i) {
    ids.push_back(
        capacity_quota_id(CapacityQuotaClass::kCapacityQuota, fmt::format("{:01024}", i)));
    resources.push_back(fmt::format("{:01024}", i));
  }
  const std::string why(2 * kMessageBytesMax, 'w');
  ReserveAnswer reserved;
  reserved.allowed.assign(kCapacityItemsPerRequestMax, kMost);
  reserved.stopped.emplace();
  for (std::uint32_t r = 0; r < kBreakRowsMax; ++r) {
    reserved.stopped->rows.push_back(row_of(ids[r], true));
    reserved.stopped->rows.back().resource = resources[r];
  }
  for (std::uint32_t s = 0; s < kSkippedCapacityQuotasPerReplyMax; ++s) {
    reserved.skipped.push_back({ids[kBreakRowsMax + s], why});
  }
  fits(reserved, std::int64_t{1}, std::uint64_t{1});
  std::vector<CapacityQuotaStatus> quotas(kQuotasPerReplyMax);
  for (std::uint32_t q = 0; q < quotas.size(); ++q) {
    quotas[q].name = fmt::format("{:01024}", q);
    quotas[q].id = capacity_quota_id(CapacityQuotaClass::kCapacityQuota, quotas[q].name);
    quotas[q].invalid = fmt::format("{:03000}", q);
    for (std::uint32_t a = 0; a < 20; ++a) {
      quotas[q].amounts.push_back({fmt::format("{:063}", q * 20 + a), 1, 2, 3});
    }
  }
  fits(std::span<const CapacityQuotaStatus>(quotas), std::uint64_t{1});
  std::vector<ReservationStatus> reservations(kReservationsPerReplyMax);
  for (ReservationStatus& reservation : reservations) reservation.id.assign(kTextBytesMax, 'r');
  fits(std::span<const ReservationStatus>(reservations), std::int64_t{1}, std::uint64_t{1});
}

}  // namespace
}  // namespace headroom::in_memory::service_capacity_quota_test
