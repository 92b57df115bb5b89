// Attack "resources": names of resources that pods invent. No node has them, so they cost no column
// and keep no node out; what they leave behind when the pods are gone is nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::resources_test {
namespace {

using Names = std::vector<std::string>;

Profile profile_of(Mode mode) {
  Profile profile;
  profile.mode = mode;
  profile.filters = {PluginId::kNodeResourcesFit, PluginId::kLimitAware};
  profile.scores = {{PluginId::kNodeResourcesFit}, {PluginId::kLimitAware}};
  profile.capacity_scheduling = true;
  return profile;
}

Node node_of(const std::string& name, const Names& more = {}, std::int64_t amount = 2) {
  ResourceList allocatable = cores(64);
  for (const std::string& resource : more) {
    allocatable.emplace_back(resource, Quantity::from_value(amount));
  }
  return headroom::node_of(name, std::move(allocatable));
}

Engine make_engine(Mode mode = Mode::kProposal) {
  Result<Engine> engine = Engine::create(profile_of(mode), {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  for (const std::string name : {"n1", "n2"}) EXPECT_TRUE(engine->upsert(node_of(name)));
  return std::move(*engine);
}

Pod pod_of(const std::string& name, const Names& more, std::int64_t amount = 1,
           const std::string& node_name = "") {
  ResourceList amounts = millicores(100);
  for (const std::string& resource : more) {
    amounts.emplace_back(resource, Quantity::from_value(amount));
  }
  std::sort(amounts.begin(), amounts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return headroom::pod_of("evil", name, amounts, {.limits = amounts, .node_name = node_name});
}

std::string invented(int i) { return fmt::format("evil.example/r{:03}", i); }

// The node's code and reasons.
std::string says(Engine& engine, const Pod& pod, const std::string& node) {
  const NodeDetail detail = engine.filter(pod, node).value();
  std::string text = to_string(detail.code);
  for (const std::string& reason : detail.reasons) text += "; " + reason;
  return text;
}

void check(const Engine& engine) {
  const Result<void> valid = engine.validate();
  EXPECT_TRUE(valid) << valid.error().message;
}

TEST(ResourcesAttack, InventedNamesKeepNoNodeOutAndLeaveNothing) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(mode);
    const std::uint64_t digest = engine.digest();
    const std::uint32_t resources = engine.stats().resources;
    Names many;
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(engine.upsert(
          pod_of("evil" + std::to_string(i), {invented(i)}, 1, i % 2 == 0 ? "" : "n1")));
      many.push_back(invented(1000 + i));
      ASSERT_TRUE(engine.evaluate(pod_of("asks", {invented(2000 + i)})));
    }
    many.resize(20);
    ASSERT_TRUE(engine.evaluate(pod_of("asks", many)));
    EXPECT_EQ(engine.stats().resources, resources);
    // A node with a name not seen so far, and a heartbeat with one that cordons.
    ASSERT_TRUE(engine.upsert(node_of("gpu1", {"amd.com/gpu"})));
    Node cordoned = node_of("n2", {"intel.com/gpu"});
    cordoned.unschedulable = true;
    ASSERT_TRUE(engine.upsert(cordoned));
    EXPECT_EQ(engine.stats().nodes, 3u);
    EXPECT_EQ(engine.stats().resources, resources + 2);
    EXPECT_EQ(says(engine, pod_of("gpu", {"amd.com/gpu"}, 2), "gpu1"), "Success");
    check(engine);
    // A quota may name what it likes.
    ElasticQuota quota;
    quota.namespace_name = "evil";
    quota.name = "quota";
    quota.min = quota.max =
        ResourceList{{"cpu", Quantity::from_value(1000)}, {invented(77), Quantity::from_value(1)}};
    ASSERT_TRUE(engine.upsert(quota));
    EXPECT_EQ(engine.pre_filter(pod_of("one more", {invented(77)})).value().code,
              Code::kUnschedulable);
    check(engine);
    engine.remove_elastic_quota("evil", "quota");
    for (int i = 0; i < 200; ++i) engine.remove_pod("evil", "evil" + std::to_string(i));
    engine.remove_node("gpu1");
    ASSERT_TRUE(engine.upsert(node_of("n2")));
    EXPECT_EQ(engine.stats().resources, resources);
    EXPECT_EQ(engine.digest(), digest);
    check(engine);
  }
}

// In the words for a node that does not have what another has.
TEST(ResourcesAttack, APodIsToldTheSameWhetherSomeNodeHasItOrNone) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine none = make_engine(mode), some = make_engine(mode);
    ASSERT_TRUE(some.upsert(node_of("other", {invented(1), invented(2)})));
    for (const std::int64_t amount : {0, 1}) {
      for (const Names& names : {Names{invented(1)}, Names{invented(2), invented(1)}}) {
        const Pod pod = pod_of("asks", names, amount);
        EXPECT_EQ(says(none, pod, "n1"), says(some, pod, "n1"));
      }
    }
    EXPECT_EQ(says(none, pod_of("asks", {invented(2), invented(1)}), "n1"),
              "UnschedulableAndUnresolvable; Insufficient evil.example/r001; Insufficient "
              "evil.example/r002");
    const Decision decision = none.evaluate(pod_of("asks", {invented(1)})).value();
    EXPECT_EQ(decision.message(), "0/2 nodes are available: 2 Insufficient evil.example/r001.");
  }
}

// Pods that asked for it before any node had it count once one has it, and no more when it goes.
TEST(ResourcesAttack, ANameThatComesCountsThePodsThatAskedForIt) {
  for (const bool bulk : {false, true}) {
    Engine engine = make_engine();
    const auto scope = bulk ? std::optional(engine.bulk()) : std::nullopt;
    const std::string fpga = "example.com/fpga";
    ASSERT_TRUE(engine.upsert(pod_of("there", {fpga}, 1, "n1")));
    const std::uint64_t digest = engine.digest();
    const Pod one = pod_of("one", {fpga}, 1), two = pod_of("two", {fpga}, 2);
    EXPECT_EQ(says(engine, one, "n1"), "UnschedulableAndUnresolvable; Insufficient " + fpga);
    ASSERT_TRUE(engine.evaluate(one));
    Node limited = node_of("n1", {fpga});
    limited.annotations = {
        {"node.koordinator.sh/limit-to-allocatable", R"({"example.com/fpga":50})"}};
    for (int again = 0; again < 3; ++again) {
      ASSERT_TRUE(engine.upsert(node_of("n1", {fpga})));
      EXPECT_EQ(says(engine, one, "n1"), "Success");
      EXPECT_EQ(engine.evaluate(one).value().feasible, 1u);
      EXPECT_EQ(says(engine, two, "n1"), "Unschedulable; Insufficient " + fpga);
      EXPECT_EQ(engine.node_figures(fpga).value().requested[0], 1);
      check(engine);
      ASSERT_TRUE(engine.upsert(limited));
      EXPECT_EQ(says(engine, one, "n1"), "Unschedulable; Insufficient " + fpga + " limit");
      check(engine);
      engine.fork();
      ASSERT_TRUE(engine.upsert(node_of("n1")));
      EXPECT_EQ(says(engine, one, "n1"), "UnschedulableAndUnresolvable; Insufficient " + fpga);
      EXPECT_EQ(engine.evaluate(one).value().feasible, 0u);
      check(engine);
      engine.rollback();
      check(engine);
      ASSERT_TRUE(engine.upsert(node_of("n1")));
      EXPECT_EQ(engine.digest(), digest);
      EXPECT_FALSE(engine.node_figures(fpga));
    }
  }
}

// Quotas number what pods name beyond what nodes have.
TEST(ResourcesAttack, APodThatWaitsMayNameWhatNoNodeHas) {
  Engine engine = make_engine();
  Pod waits = pod_of("waits", {invented(1), invented(2)});
  waits.nominated_node_name = "n1";
  ASSERT_TRUE(engine.upsert(waits));
  check(engine);
  engine.remove_pod("evil", "waits");
  check(engine);
}

// By the rules a limit is checked where its resource has a ratio: no node has one for what no node
// has. Where there is one that is not kept, its node rejects: no limit is ignored in silence.
TEST(ResourcesAttack, LimitAwareAloneRejectsWhatItDoesNotKeep) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Profile profile;
    profile.mode = mode;
    profile.filters = {PluginId::kLimitAware};
    profile.scores = {{PluginId::kLimitAware}};
    Engine engine = *Engine::create(profile, {.threads = 1});
    ASSERT_TRUE(engine.upsert(node_of("n1")));
    EXPECT_EQ(says(engine, pod_of("asks", {invented(1)}, 9), "n1"), "Success");
    const auto limited = [&](int first, int last) {
      Names names;
      std::string ratios;
      for (int i = first; i <= last; ++i) {
        names.push_back(invented(i));
        ratios += fmt::format("{}\"{}\":50", i == first ? "" : ",", invented(i));
      }
      Node node = node_of("limited", names);
      node.annotations = {{"node.koordinator.sh/limit-to-allocatable", "{" + ratios + "}"}};
      ASSERT_TRUE(engine.upsert(node));
    };
    const auto expect_kept = [&](int i) {
      EXPECT_EQ(says(engine, pod_of("fits", {invented(i)}), "limited"), "Success");
      EXPECT_EQ(says(engine, pod_of("asks", {invented(i)}, 2), "limited"),
                "Unschedulable; Insufficient " + invented(i) + " limit");
    };
    for (int again = 0; again < 2; ++again) {
      limited(0, 99);
      expect_kept(0);
      Pod last = pod_of("asks", {invented(99)});
      EXPECT_EQ(
          says(engine, last, "limited"),
          "Unschedulable; node(s) have more than kResourcesMax (64) resources: the limit of " +
              invented(99) + " is not kept");
      EXPECT_EQ(engine.evaluate(last).value().feasible, 1u);
      EXPECT_EQ(says(engine, last, "n1"), "Success");
      last.daemon_set = true;
      EXPECT_EQ(says(engine, last, "limited"), "Success");
      check(engine);
      limited(90, 99);
      expect_kept(99);
      check(engine);
    }
  }
}

TEST(ResourcesAttack, NamesThatComeAndGoUseNumbersAgain) {
  Engine engine = make_engine();
  for (int i = 0; i < 5 * static_cast<int>(kResourcesMax); ++i) {
    ASSERT_TRUE(engine.upsert(node_of("n1", {invented(i), invented(i + 1)})));
    EXPECT_EQ(says(engine, pod_of("asks", {invented(i)}), "n1"), "Success") << i;
    EXPECT_EQ(engine.stats().resources_beyond, 0u);
  }
  check(engine);
}

TEST(ResourcesAttack, MoreNamesOnNodesThanThereAreNumbers) {
  Engine engine = make_engine(), other = make_engine();
  Names names;
  for (int i = 0; i < 100; ++i) names.push_back(invented(i));
  const std::uint64_t digest = engine.digest();
  // In two orders: who has a number is a function of the facts.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(engine.upsert(pod_of("p" + std::to_string(i), {invented(i)}, 1, "m")));
    ASSERT_TRUE(engine.upsert(node_of("m" + std::to_string(i), {invented(i)})));
    ASSERT_TRUE(other.upsert(node_of("m" + std::to_string(99 - i), {invented(99 - i)})));
    ASSERT_TRUE(other.upsert(pod_of("p" + std::to_string(99 - i), {invented(99 - i)}, 1, "m")));
  }
  ASSERT_TRUE(engine.upsert(node_of("m", names)));
  ASSERT_TRUE(other.upsert(node_of("m", names)));
  EXPECT_EQ(engine.stats().nodes, 103u);
  EXPECT_EQ(engine.stats().resources, kResourcesMax);
  EXPECT_EQ(engine.stats().resources_beyond, 104u - kResourcesMax);
  EXPECT_EQ(engine.digest(), other.digest());
  check(engine);
  check(other);
  EXPECT_EQ(says(engine, pod_of("first", {invented(0)}), "m"), "Success");
  EXPECT_EQ(says(engine, pod_of("first", {invented(0)}, 2), "m"),
            "Unschedulable; Insufficient " + invented(0));
  const std::string last = says(engine, pod_of("last", {invented(99)}), "m");
  EXPECT_NE(last.find("kResourcesMax (64)"), std::string::npos) << last;
  EXPECT_EQ(says(other, pod_of("last", {invented(99)}), "m"), last);
  // The same after a file.
  const std::string path = testing::TempDir() + "resources_attack_state";
  ASSERT_TRUE(engine.save(path));
  Result<Engine> again = Engine::load(profile_of(Mode::kProposal), path, {.threads = 1});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(says(*again, pod_of("last", {invented(99)}), "m"), last);
  std::filesystem::remove(path);
  // Names go, and those that waited have their numbers.
  engine.fork();
  for (int i = 0; i < 50; ++i) {
    engine.remove_node("m" + std::to_string(i));
    names.erase(names.begin());
  }
  ASSERT_TRUE(engine.upsert(node_of("m", names)));
  EXPECT_EQ(engine.stats().resources_beyond, 0u);
  EXPECT_EQ(says(engine, pod_of("last", {invented(99)}), "m"), "Success");
  EXPECT_EQ(says(engine, pod_of("last", {invented(99)}, 2), "m"),
            "Unschedulable; Insufficient " + invented(99));
  check(engine);
  engine.rollback();
  EXPECT_EQ(engine.digest(), other.digest());
  check(engine);
  for (int i = 0; i < 100; ++i) {
    engine.remove_node("m" + std::to_string(i));
    engine.remove_pod("evil", "p" + std::to_string(i));
  }
  engine.remove_node("m");
  EXPECT_EQ(engine.digest(), digest);
  check(engine);
}

// It wrote before the bounds of all resources.
TEST(ResourcesAttack, AResourceWithoutANameBoundsNothing) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(mode);
    ElasticQuota quota;
    quota.namespace_name = quota.name = "evil";
    quota.min = ResourceList{{"", Quantity::from_value(3)}, {"cpu", Quantity::from_value(2)}};
    quota.max = ResourceList{{"", Quantity::from_value(0)}, {"cpu", Quantity::from_value(2)}};
    ASSERT_TRUE(engine.upsert(quota));
    EXPECT_EQ(says(engine, pod_of("p", {""}), "n1"), says(engine, pod_of("p", {}), "n1"));
    ASSERT_TRUE(engine.upsert(pod_of("p", {""}, 1, "n1")));
    ASSERT_TRUE(engine.upsert(node_of("n3", {""})));
    check(engine);
    const std::vector<ElasticQuotaStatus> status = engine.elastic_quota_status();
    ASSERT_EQ(status.size(), 1u);
    for (const auto& amount : status[0].amounts) EXPECT_FALSE(amount.resource.empty());
  }
}

}  // namespace
}  // namespace headroom::resources_test
