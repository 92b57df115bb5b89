// The autoscaler of simulations: which nodes it asks for, what quotas refuse and for how long, and
// simulations that grow.
#include "simulation/autoscaler/cluster_autoscaler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/profile/profile_reader.h"
#include "objects/annotations.h"
#include "simulation/report/simulation_json.h"
#include "simulation/simulation.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"
#include "workloads/random.h"

namespace headroom::cluster_autoscaler_test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr const char* kZone = "topology.kubernetes.io/zone";

Node node(const std::string& name, std::int64_t cpus, StringMap labels = {}) {
  Node node = node_of(name, cores_and_memory(cpus), std::move(labels));
  node.capacity = node.allocatable;
  return node;
}

// Asks for cpu alone; the limit equals the request.
Pod pod(std::uint32_t index, std::int64_t cpu_milli) {
  return headroom::pod_of("default", "pod-" + std::to_string(index), millicores(cpu_milli),
                          {.limits = millicores(cpu_milli), .phase = "Pending"});
}

LabelSelector in(const std::string& key, const std::string& value) {
  return {{.key = key, .op = "In", .values = {value}}};
}

// An autoscaler and what it says, in a form to compare.
class Autoscaler {
 public:
  explicit Autoscaler(std::vector<Node> templates, std::vector<CapacityQuota> quotas = {},
                      std::vector<Node> nodes = {})
      : cluster_(Engine::create(Profile::standard(), {.threads = 1}).value()),
        autoscaler_(ClusterAutoscaler::create({.templates = std::move(templates),
                                               .quotas = std::move(quotas),
                                               .provision_seconds = 60},
                                              Profile::standard(), nodes, 0)
                        .value()) {
    for (const Node& there : nodes) EXPECT_TRUE(cluster_.upsert(there));
  }

  ClusterAutoscaler* operator->() { return &autoscaler_; }
  Engine& cluster() { return cluster_; }
  void add(std::uint32_t first, std::uint32_t count, std::int64_t cpu_milli) {
    for (std::uint32_t p = first; p < first + count; ++p) {
      autoscaler_.add(p, pod(p, cpu_milli));
    }
  }
  // "2/3 small CapacityQuota/q nodes": of three nodes asked for two came, and why.
  std::vector<std::string> step(std::int64_t second) {
    const std::uint64_t digest = cluster_.digest();
    Result<AutoscalerStep> step = autoscaler_.step(cluster_, second * kSecondUs);
    EXPECT_TRUE(step) << step.error().message;
    EXPECT_EQ(digest, cluster_.digest());
    EXPECT_TRUE(cluster_.validate());
    EXPECT_EQ(std::vector<std::string>(), autoscaler_.broken_rules());
    std::vector<std::string> said;
    for (const ScaleUp& scale_up : step->scale_ups) {
      EXPECT_EQ(scale_up.allowed < scale_up.asked, !scale_up.binding.empty());
      said.push_back(std::to_string(scale_up.allowed) + '/' + std::to_string(scale_up.asked) + ' ' +
                     scale_up.node_template);
      for (const ScaleUp::Binding& row : scale_up.binding) {
        said.back() += ' ' + row.quota + ' ' + row.resource;
      }
    }
    for (const NoTemplate& none : step->no_template) said.push_back("no template for " + none.pod);
    return said;
  }
  std::vector<std::string> ready(std::int64_t second) {
    Result<std::vector<Node>> nodes = autoscaler_.take_ready(second * kSecondUs);
    EXPECT_TRUE(nodes) << nodes.error().message;
    EXPECT_EQ(std::vector<std::string>(), autoscaler_.broken_rules());
    std::vector<std::string> names;
    for (const Node& node : *nodes) names.push_back(node.name);
    return names;
  }

 private:
  Engine cluster_;
  ClusterAutoscaler autoscaler_;
};

using Said = std::vector<std::string>;

// A pod whose volume is in a zone gets a node there: judges know the claim and its volume.
TEST(ClusterAutoscaler, KnowsWhatPodsReferTo) {
  const Profile profile = read_profile(
                              "apiVersion: kubescheduler.config.k8s.io/v1\n"
                              "kind: KubeSchedulerConfiguration\n"
                              "profiles: [{plugins: {}}]\n",
                              "profile")
                              .value();
  PersistentVolume volume;
  volume.name = "pv-1";
  volume.capacity_bytes = 1;
  volume.volume_mode = "Filesystem";
  volume.claim_namespace = "default";
  volume.claim_name = volume.claim_uid = "data";
  volume.node_affinity.emplace().emplace_back().match_expressions = in(kZone, "z2");
  PersistentVolumeClaim claim;
  claim.namespace_name = "default";
  claim.name = claim.uid = "data";
  claim.volume_name = volume.name;
  claim.volume_mode = volume.volume_mode;
  claim.bind_completed = true;
  Pod asking = pod(0, 1000);
  asking.volumes.emplace_back().claim = claim.name;
  for (const bool known : {true, false}) {
    AutoscalerOptions options{
        .templates = {node("a", 4, {{kZone, "z1"}}), node("b", 4, {{kZone, "z2"}})},
        .quotas = {},
        .provision_seconds = 60};
    if (known) options.referred_objects = {volume, claim};
    Result<ClusterAutoscaler> autoscaler =
        ClusterAutoscaler::create(std::move(options), profile, {}, 0);
    ASSERT_TRUE(autoscaler) << autoscaler.error().message;
    autoscaler->add(0, asking);
    Engine cluster = Engine::create(profile, {.threads = 1}).value();
    const Result<AutoscalerStep> step = autoscaler->step(cluster, kSecondUs);
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_EQ(step->scale_ups.size(), known ? 1u : 0u);
    EXPECT_EQ(step->no_template.size(), known ? 0u : 1u);
    if (known) {
      EXPECT_EQ(step->scale_ups[0].node_template, "b");
    }
  }
}

const LimitReport& limit(const AutoscalerReport& report, const std::string& quota_name,
                         const std::string& resource) {
  for (const CapacityQuotaReport& quota : report.quotas) {
    if (quota.id != "CapacityQuota/" + quota_name) continue;
    for (const LimitReport& limit : quota.limits) {
      if (limit.resource == resource) return limit;
    }
  }
  static const LimitReport none;
  ADD_FAILURE() << quota_name << ' ' << resource;
  return none;
}

// --- Pods that ask for others ---

Pod pod_of(const std::string& application, std::uint32_t index) {
  Pod made = pod(index, 500);
  made.labels = {{"app", application}};
  return made;
}

PodAffinityTerm near(const std::string& application, const std::string& key) {
  PodAffinityTerm term;
  term.selector = in("app", application);
  term.topology_key = key;
  return term;
}

Pod on(Pod bound, const std::string& node_name) {
  bound.node_name = node_name;
  return bound;
}

TEST(ClusterAutoscaler, WhoKeepsApartFromSiblingsGetsANodeEach) {
  Autoscaler autoscaler({node("small", 8)});
  for (std::uint32_t p = 0; p < 3; ++p) {
    Pod apart = pod_of("web", p);
    apart.pod_anti_affinity.required = {near("web", "kubernetes.io/hostname")};
    autoscaler->add(p, apart);
  }
  EXPECT_EQ(autoscaler.step(1), (Said{"1/1 small", "1/1 small", "1/1 small"}));
  // One more does not fit on those under way; a plain one does.
  Pod apart = pod_of("web", 3);
  apart.pod_anti_affinity.required = {near("web", "kubernetes.io/hostname")};
  autoscaler->add(3, apart);
  autoscaler->add(4, pod_of("batch", 4));
  EXPECT_EQ(autoscaler.step(2), Said{"1/1 small"});
}

TEST(ClusterAutoscaler, WhoWantsToBeNearPodsThatAreThereGetsANodeOfTheirZone) {
  Autoscaler autoscaler({node("a", 4, {{kZone, "z1"}}), node("b", 4, {{kZone, "z2"}})}, {},
                        {node("full", 1, {{kZone, "z2"}})});
  ASSERT_TRUE(autoscaler.cluster().upsert(on(pod_of("db", 9), "full")));
  Pod near_db = pod_of("web", 0);
  near_db.pod_affinity.required = {near("db", kZone)};
  autoscaler->add(0, near_db);
  Pod near_nobody = pod_of("web", 1);
  near_nobody.pod_affinity.required = {near("cache", kZone)};
  autoscaler->add(1, near_nobody);
  EXPECT_EQ(autoscaler.step(1), (Said{"1/1 b", "no template for default/pod-1"}));
}

TEST(ClusterAutoscaler, WhomNoTemplateTookForWantOfOthersIsLookedAtAgain) {
  Autoscaler autoscaler({node("a", 4, {{kZone, "z1"}})}, {}, {node("full", 1, {{kZone, "z1"}})});
  Pod near_db = pod_of("web", 0);
  near_db.pod_affinity.required = {near("db", kZone)};
  autoscaler->add(0, near_db);
  Pod too_large = pod(1, 5000);
  autoscaler->add(1, too_large);
  EXPECT_EQ(autoscaler.step(1),
            (Said{"no template for default/pod-1", "no template for default/pod-0"}));
  ASSERT_TRUE(autoscaler.cluster().upsert(on(pod_of("cache", 8), "full")));
  EXPECT_EQ(autoscaler.step(2), Said{}) << "it was said";
  EXPECT_EQ(autoscaler->report(2 * kSecondUs).pods_without_template, 2u);
  ASSERT_TRUE(autoscaler.cluster().upsert(on(pod_of("db", 9), "full")));
  EXPECT_EQ(autoscaler.step(3), Said{"1/1 a"});
  const AutoscalerReport report = autoscaler->report(3 * kSecondUs);
  EXPECT_EQ(report.pods_without_template, 1u);
  EXPECT_EQ(report.first_without_template.pod, "default/pod-1");
}

TEST(ClusterAutoscaler, HardSpreadCountsWhatIsThereAndWhatComes) {
  Autoscaler autoscaler({node("a", 4, {{kZone, "z1"}}), node("b", 4, {{kZone, "z2"}})}, {},
                        {node("one", 1, {{kZone, "z1"}}), node("two", 1, {{kZone, "z2"}})});
  ASSERT_TRUE(autoscaler.cluster().upsert(on(pod_of("web", 9), "one")));
  TopologySpreadConstraint even;
  even.hard = true;
  even.max_skew = 1;
  even.topology_key = kZone;
  even.selector = in("app", "web");
  for (std::uint32_t p = 0; p < 2; ++p) {
    Pod spread = pod_of("web", p);
    spread.topology_spread = {even};
    autoscaler->add(p, spread);
  }
  // One and none are there: the first has to go to z2, the second may go anywhere then, where the
  // node that is under way has room.
  EXPECT_EQ(autoscaler.step(1), Said{"1/1 b"});
}

TEST(ClusterAutoscaler, NodesComeAfterTheProvisioningTime) {
  Autoscaler autoscaler({node("small", 8)});
  autoscaler.add(0, 3, 3000);
  EXPECT_EQ(INT64_MAX, autoscaler->next_ready_us());
  EXPECT_EQ((Said{"1/1 small", "1/1 small"}), autoscaler.step(100));
  EXPECT_EQ(160 * kSecondUs, autoscaler->next_ready_us());
  EXPECT_EQ(Said{}, autoscaler.ready(159));
  EXPECT_EQ((Said{"small-0001", "small-0002"}), autoscaler.ready(160));
  EXPECT_EQ(INT64_MAX, autoscaler->next_ready_us());
  const AutoscalerReport report = autoscaler->report(200 * kSecondUs);
  EXPECT_EQ(2u, report.templates[0].nodes);
  EXPECT_EQ(160 * kSecondUs, report.templates[0].first_us);
  ASSERT_EQ(2u, report.scale_ups.size());
  EXPECT_EQ(100 * kSecondUs, report.scale_ups[0].time_us);
}

TEST(ClusterAutoscaler, ANodeIsItsTemplateUnderItsOwnName) {
  Node node_template = node("small", 8, {{"a", "b"}, {"kubernetes.io/hostname", "x"}, {"z", "z"}});
  node_template.allocatable.clear();
  Autoscaler autoscaler({node_template}, {}, {node("small-0001", 4)});
  autoscaler.add(0, 1, 3000);
  autoscaler.step(0);
  const std::vector<Node> nodes = autoscaler->take_ready(60 * kSecondUs).value();
  ASSERT_EQ(1u, nodes.size());
  EXPECT_EQ("small-0002", nodes[0].name);  // the cluster has a small-0001
  EXPECT_EQ((StringMap{{"a", "b"}, {"kubernetes.io/hostname", "small-0002"}, {"z", "z"}}),
            nodes[0].labels);
  EXPECT_EQ("scale-up-1", *find(nodes[0].annotations, kReservationAnnotation));
  EXPECT_EQ(node_template.capacity, nodes[0].allocatable);
}

TEST(ClusterAutoscaler, TheSamePodsDoNotAskTwiceAndOthersUseTheRoomThatIsLeft) {
  Autoscaler autoscaler({node("small", 8)});
  autoscaler.add(0, 3, 3000);
  autoscaler.add(0, 3, 3000);
  EXPECT_EQ((Said{"1/1 small", "1/1 small"}), autoscaler.step(0));
  autoscaler.add(0, 3, 3000);
  EXPECT_EQ(Said{}, autoscaler.step(1));
  autoscaler.add(3, 1, 1000);  // on the first that has room, beside two others
  EXPECT_EQ(Said{}, autoscaler.step(2));
  autoscaler.add(4, 1, 5000);  // beside the third
  EXPECT_EQ(Said{}, autoscaler.step(2));
  autoscaler.add(6, 1, 5000);
  EXPECT_EQ(Said{"1/1 small"}, autoscaler.step(3));
  // Who leaves leaves room.
  autoscaler->remove(0);
  autoscaler.add(5, 1, 4000);
  EXPECT_EQ(Said{}, autoscaler.step(4));
}

TEST(ClusterAutoscaler, ManyAlikeAreOneRequest) {
  Autoscaler autoscaler({node("small", 8)});
  autoscaler.add(0, 101, 3000);
  EXPECT_EQ((Said{"50/50 small", "1/1 small"}), autoscaler.step(0));
}

// First fit decreasing: the large ones first, whatever the order of their coming.
TEST(ClusterAutoscaler, LargePodsArePackedFirst) {
  Autoscaler autoscaler({node("small", 8)});
  autoscaler.add(0, 2, 2000);
  autoscaler.add(2, 2, 6000);
  EXPECT_EQ(Said{"2/2 small"}, autoscaler.step(0));
}

TEST(ClusterAutoscaler, TheTemplateThatTakesTheMostPodsIsAskedForAndOfEqualOnesTheFirst) {
  Autoscaler autoscaler({node("small", 8), node("large", 32), node("huge", 64)});
  autoscaler.add(0, 10, 3000);
  // All ten on one node of either of the larger ones.
  EXPECT_EQ(Said{"1/1 large"}, autoscaler.step(0));
  autoscaler.add(10, 1, 3000);  // two cores are left on that one
  EXPECT_EQ(Said{"1/1 small"}, autoscaler.step(1));
}

TEST(ClusterAutoscaler, TheRulesOfTheProfileDecideWhatFits) {
  // LimitAware: two pods of one core whose limits are six do not share eight.
  Node limited = node("small", 8);
  limited.annotations = {{std::string(kLimitToAllocatableAnnotation), R"({"cpu": 100})"}};
  Autoscaler autoscaler({limited});
  for (std::uint32_t p = 0; p < 2; ++p) {
    Pod its = pod(p, 1000);
    its.containers[0].limits = {{"cpu", Quantity::from_value(6)}};
    autoscaler->add(p, its);
  }
  EXPECT_EQ(Said{"2/2 small"}, autoscaler.step(0));

  // Taints and selectors.
  Node tainted = node("tainted", 64);
  tainted.taints = {{"dedicated", "batch", "NoSchedule"}};
  Autoscaler other(
      {tainted, node("zone-a", 8, {{"zone", "a"}}), node("zone-b", 8, {{"zone", "b"}})});
  Pod in_b = pod(0, 1000);
  in_b.node_selector = {{"zone", "b"}};
  other->add(0, in_b);
  EXPECT_EQ(Said{"1/1 zone-b"}, other.step(0));
}

TEST(ClusterAutoscaler, AQuotaStopsGrowthAndIsNamed) {
  Autoscaler autoscaler({node("small", 8)},
                        {capacity_quota("total", {{"cpu", "24"}, {"nodes", "10"}})},
                        {node("n1", 8)});
  autoscaler.add(0, 6, 3000);
  EXPECT_EQ(Said{"2/3 small CapacityQuota/total cpu"}, autoscaler.step(100));
  EXPECT_EQ(2u, autoscaler.ready(160).size());
  for (const std::uint32_t p : {0u, 1u, 2u, 3u}) autoscaler->remove(p);
  EXPECT_EQ(Said{}, autoscaler.step(160));
  autoscaler->remove(4);
  autoscaler.step(170);
  autoscaler->remove(5);
  autoscaler.step(200);
  const AutoscalerReport report = autoscaler->report(300 * kSecondUs);
  const LimitReport& cpu = limit(report, "total", "cpu");
  EXPECT_EQ(24'000, cpu.limit);
  EXPECT_EQ(8'000, cpu.used_at_start);
  EXPECT_EQ(24'000, cpu.used);
  EXPECT_EQ(0, cpu.reserved);
  EXPECT_EQ(100 * kSecondUs, cpu.block.blocked_us);
  EXPECT_EQ(100 * kSecondUs, cpu.block.first_us);
  EXPECT_EQ(200 * kSecondUs, cpu.block.last_us);
  EXPECT_EQ(1u, cpu.block.stretches);
  EXPECT_EQ(2u, cpu.block.pods);
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{0, 1}}), cpu.block.nodes);
  const LimitReport& nodes = limit(report, "total", "nodes");
  EXPECT_EQ(3, nodes.used);
  EXPECT_EQ(0u, nodes.block.stretches);

  // With a higher limit nothing is in the way.
  Autoscaler raised({node("small", 8)}, {capacity_quota("total", {{"cpu", "32"}})},
                    {node("n1", 8)});
  raised.add(0, 6, 3000);
  EXPECT_EQ(Said{"3/3 small"}, raised.step(0));
  EXPECT_EQ(0u, limit(raised->report(1), "total", "cpu").block.stretches);
}

// Pods come one by one; what was refused for one has room for another.
TEST(ClusterAutoscaler, RefusedNodesAreCountedAsPodsWouldFillThem) {
  Autoscaler autoscaler({node("small", 8)}, {capacity_quota("none", {{"nodes", "0"}})});
  for (std::uint32_t p = 0; p < 5; ++p) {
    autoscaler.add(p, 1, 3000);
    EXPECT_EQ(Said{"0/1 small CapacityQuota/none nodes"}, autoscaler.step(10 * p));
  }
  for (const std::uint32_t p : {0u, 1u, 2u, 3u}) autoscaler->remove(p);
  autoscaler.step(100);
  for (std::uint32_t p = 5; p < 8; ++p) autoscaler.add(p, 1, 3000);
  autoscaler.step(110);
  const AutoscalerReport report = autoscaler->report(120 * kSecondUs);
  const LimitReport& nodes = limit(report, "none", "nodes");
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{0, 3}}), nodes.block.nodes);
  EXPECT_EQ(8u, nodes.block.pods);
  EXPECT_EQ(1u, nodes.block.stretches);
  EXPECT_EQ(120 * kSecondUs, nodes.block.blocked_us);
}

// The pod that they want to be near is not there, where refused nodes are counted.
TEST(ClusterAutoscaler, WhoAsksForOthersIsRefusedAsManyNodesAsItWouldFill) {
  Autoscaler autoscaler({node("small", 8, {{kZone, "z"}})},
                        {capacity_quota("total", {{"nodes", "1"}})},
                        {node("full", 1, {{kZone, "z"}})});
  ASSERT_TRUE(autoscaler.cluster().upsert(on(pod_of("db", 9), "full")));
  for (std::uint32_t p = 0; p < 5; ++p) {
    Pod near_db = pod_of("web", p);
    near_db.pod_affinity.required = {near("db", kZone)};
    TopologySpreadConstraint even;
    even.hard = true;
    even.min_domains = 3;
    even.topology_key = kZone;
    even.selector = in("app", "web");
    near_db.topology_spread = {even};
    autoscaler->add(p, near_db);
  }
  EXPECT_EQ(Said{"0/1 small CapacityQuota/total nodes"}, autoscaler.step(0));
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{0, 1}}),
            limit(autoscaler->report(0), "total", "nodes").block.nodes);
  // Those that keep apart would have one each.
  for (std::uint32_t p = 5; p < 8; ++p) {
    Pod apart = pod_of("apart", p);
    apart.pod_anti_affinity.required = {near("apart", "kubernetes.io/hostname")};
    autoscaler->add(p, apart);
  }
  EXPECT_EQ(Said{"0/1 small CapacityQuota/total nodes"}, autoscaler.step(1));
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{0, 3}}),
            limit(autoscaler->report(1), "total", "nodes").block.nodes);
}

TEST(ClusterAutoscaler, BlockedTimeHasGaps) {
  Autoscaler autoscaler({node("small", 8)}, {capacity_quota("none", {{"nodes", "0"}})});
  autoscaler.add(0, 1, 3000);
  autoscaler.step(10);
  autoscaler->remove(0);
  autoscaler.step(20);
  autoscaler.add(1, 1, 3000);
  autoscaler.step(50);
  const AutoscalerReport report = autoscaler->report(55 * kSecondUs);
  const CapacityQuotaBlock& block = limit(report, "none", "nodes").block;
  EXPECT_EQ(2u, block.stretches);
  EXPECT_EQ(15 * kSecondUs, block.blocked_us);
  EXPECT_EQ(10 * kSecondUs, block.first_us);
  EXPECT_EQ(55 * kSecondUs, block.last_us);
}

TEST(ClusterAutoscaler, WhatOneTemplateIsRefusedAnotherGets) {
  Autoscaler autoscaler(
      {node("gpu", 32, {{"pool", "gpu"}}), node("small", 8, {{"pool", "general"}})},
      {capacity_quota("gpus", {{"nodes", "1"}}, in("pool", "gpu")),
       capacity_quota("general", {{"nodes", "2"}}, in("pool", "general"))});
  autoscaler.add(0, 26, 3000);  // ten on a gpu node, two on a small one
  EXPECT_EQ((Said{"1/2 gpu CapacityQuota/gpus nodes", "2/8 small CapacityQuota/general nodes"}),
            autoscaler.step(0));
  const AutoscalerReport report = autoscaler->report(10 * kSecondUs);
  // Twelve pods wait: two gpu nodes would do, or six small ones.
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{0, 2}}),
            limit(report, "gpus", "nodes").block.nodes);
  EXPECT_EQ((std::map<std::uint32_t, std::int64_t>{{1, 6}}),
            limit(report, "general", "nodes").block.nodes);
  EXPECT_EQ(12u, limit(report, "gpus", "nodes").block.pods);
}

// Both limits hold one node; the second quota is the wider one.
TEST(ClusterAutoscaler, OverlappingQuotasBlockTogetherOrOneAfterTheOther) {
  const std::vector<Node> templates = {node("a", 8, {{"zone", "a"}}),
                                       node("b", 8, {{"zone", "b"}})};
  const auto to_zone = [](std::uint32_t index, const char* zone) {
    Pod its = pod(index, 6000);
    its.node_selector = {{"zone", zone}};
    return its;
  };
  Autoscaler together(templates, {capacity_quota("all", {{"nodes", "1"}}),
                                  capacity_quota("zone-a", {{"cpu", "8"}}, in("zone", "a"))});
  together->add(0, to_zone(0, "a"));
  together->add(1, to_zone(1, "a"));
  EXPECT_EQ(Said{"1/2 a CapacityQuota/all nodes CapacityQuota/zone-a cpu"}, together.step(0));

  Autoscaler later(templates, {capacity_quota("all", {{"nodes", "2"}}),
                               capacity_quota("zone-a", {{"cpu", "8"}}, in("zone", "a"))});
  later->add(0, to_zone(0, "a"));
  later->add(1, to_zone(1, "a"));
  EXPECT_EQ(Said{"1/2 a CapacityQuota/zone-a cpu"}, later.step(10));
  later->add(2, to_zone(2, "b"));
  EXPECT_EQ(Said{"1/1 b"}, later.step(30));  // now `all` is full as well
  const AutoscalerReport report = later->report(100 * kSecondUs);
  EXPECT_EQ(90 * kSecondUs, limit(report, "zone-a", "cpu").block.blocked_us);
  EXPECT_EQ(70 * kSecondUs, limit(report, "all", "nodes").block.blocked_us);
  EXPECT_EQ(1u, limit(report, "all", "nodes").block.pods);
}

TEST(ClusterAutoscaler, APodThatNoTemplateTakesIsSaid) {
  Autoscaler autoscaler({node("small", 8), node("large", 32)});
  autoscaler.add(0, 1, 33'000);
  EXPECT_EQ(Said{"no template for default/pod-0"}, autoscaler.step(0));
  autoscaler.add(0, 1, 33'000);
  EXPECT_EQ(Said{}, autoscaler.step(1));
  const AutoscalerReport report = autoscaler->report(1);
  EXPECT_EQ(1u, report.pods_without_template);
  ASSERT_EQ(2u, report.first_without_template.reasons.size());
  EXPECT_EQ("small", report.first_without_template.reasons[0].first);
  EXPECT_EQ(Said{"Insufficient cpu"}, report.first_without_template.reasons[0].second);
}

TEST(ClusterAutoscaler, WhoseNodeCameInVainAsksAgainButNotForever) {
  Autoscaler autoscaler({node("small", 8)});
  autoscaler.add(0, 1, 3000);
  std::int64_t second = 0;
  for (std::uint32_t i = 0; i < kPromisesPerPodMax; ++i, second += 60) {
    EXPECT_EQ(Said{"1/1 small"}, autoscaler.step(second));
    EXPECT_EQ(1u, autoscaler.ready(second + 60).size());
  }
  EXPECT_EQ(Said{}, autoscaler.step(second));
  EXPECT_EQ(1u, autoscaler->report(second).pods_given_up);
}

TEST(ClusterAutoscaler, AQuotaThatIsOverItsLimitIsNoBrokenRule) {
  Autoscaler autoscaler({node("small", 8)}, {capacity_quota("total", {{"nodes", "1"}})},
                        {node("n1", 8), node("n2", 8)});
  autoscaler.add(0, 1, 3000);
  EXPECT_EQ(Said{"0/1 small CapacityQuota/total nodes"}, autoscaler.step(0));
}

TEST(ClusterAutoscaler, AQuotaThatCannotBeUsedIsSkippedAndSaid) {
  Autoscaler autoscaler({node("small", 8)}, {capacity_quota("bad", {{"nodes", "-1"}})});
  autoscaler.add(0, 1, 3000);
  EXPECT_EQ(Said{"1/1 small"}, autoscaler.step(0));
  const AutoscalerReport report = autoscaler->report(0);
  ASSERT_EQ(1u, report.quotas.size());
  EXPECT_NE("", report.quotas[0].skipped);
}

TEST(ClusterAutoscaler, RefusesTemplatesThatSayTooLittle) {
  const auto refusal = [](std::vector<Node> templates) {
    const auto created = ClusterAutoscaler::create(
        {.templates = std::move(templates), .quotas = {}}, Profile::standard(), {}, 0);
    return created ? std::string("created") : created.error().message;
  };
  EXPECT_EQ("0 node templates: at least 1 and at most 100", refusal({}));
  EXPECT_EQ("101 node templates: at least 1 and at most 100",
            refusal(std::vector<Node>(kTemplatesMax + 1, node("a", 1))));
  Node bare = node("bare", 8);
  bare.capacity.clear();
  EXPECT_EQ("Node bare: status.capacity is missing; a template needs it, since quotas count it",
            refusal({node("small", 8), bare}));
}

// The first would be replaced, and its limit forgotten.
TEST(ClusterAutoscaler, RefusesTwoQuotasOfOneName) {
  SimulationInput input;
  input.nodes = {node("n1", 4)};
  input.capacity_quotas = {capacity_quota("total", {{"nodes", "1"}})};
  SimulationOptions options;
  options.autoscaler = AutoscalerOptions{.templates = {node("small", 8)},
                                         .quotas = {capacity_quota("total", {{"nodes", "9"}})}};
  const Result<SimulationReport> report = simulate(input, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kConflict);
  EXPECT_EQ(report.error().message,
            "CapacityQuota total: there are two of this name, of which one would count for "
            "nothing; take one out");
}

// --- Simulations -------------------------------------------------------------------------------

struct Growth {
  SimulationInput input;
  std::vector<Pod> pods;
  SimulationOptions options;
  std::vector<std::string> lines;
  SimulationReport report;

  explicit Growth(AutoscalerOptions autoscaler) {
    options.autoscaler = std::move(autoscaler);
    options.validate = true;
  }
  void arrive(const Pod& pod, std::int64_t second, std::int64_t departure = -1) {
    input.arrivals.push_back({.time_us = second * kSecondUs,
                              .departure_us = departure < 0 ? kNeverUs : departure * kSecondUs,
                              .pod = static_cast<std::uint32_t>(pods.size())});
    pods.push_back(pod);
  }
  // "60 default/pod-0 on small-0001"
  void play() {
    input.make_pod = [this](std::uint32_t index) { return pods[index]; };
    options.on_decision = [this](const std::string& text) {
      const nlohmann::json line = nlohmann::json::parse(text);
      if (!line.contains("pod")) {
        lines.push_back(line.begin().key());
        return;
      }
      std::string said = line.at("pod").get<std::string>();
      if (line.contains("again")) said += " again";
      said += line.at("node").is_null() ? " waits" : " on " + line.at("node").get<std::string>();
      if (line.contains("waited_seconds")) {
        said += " after " + std::to_string(line.at("waited_seconds").get<std::int64_t>());
      }
      lines.push_back(said);
    };
    Result<SimulationReport> simulated = simulate(input, options);
    ASSERT_TRUE(simulated) << simulated.error().message;
    report = std::move(*simulated);
    EXPECT_EQ(std::vector<std::string>(), report.violations);
    ASSERT_TRUE(report.growth);
    EXPECT_EQ(report.growth->waited,
              report.growth->waits_us.size() + report.growth->waiting_at_end);
  }
};

TEST(SimulationThatGrows, PodsWaitForNodesAndTakeThem) {
  Growth growth({.templates = {node("small", 8)}, .quotas = {}, .provision_seconds = 60});
  growth.input.nodes = {node("n1", 4)};
  growth.arrive(pod(0, 3000), 1);
  growth.arrive(pod(1, 3000), 10, 1000);
  growth.arrive(pod(2, 3000), 20, 1000);
  growth.arrive(pod(3, 3000), 500);
  growth.play();
  EXPECT_EQ((Said{"default/pod-0 on n1", "default/pod-1 waits", "scale_up", "default/pod-2 waits",
                  "default/pod-1 on small-0001 after 60", "default/pod-2 on small-0001 after 50",
                  "default/pod-3 waits", "scale_up", "default/pod-3 on small-0002 after 60"}),
            growth.lines);
  EXPECT_EQ(4u, growth.report.placed);
  EXPECT_EQ(0u, growth.report.failed);
  EXPECT_EQ((std::vector<std::int64_t>{50 * kSecondUs, 60 * kSecondUs, 60 * kSecondUs}),
            growth.report.growth->waits_us);
  EXPECT_EQ(560 * kSecondUs, growth.report.growth->end_us);
  // Peaks are against all nodes that came.
  EXPECT_EQ(20'000, growth.report.resources.at(0).allocatable);
}

// The pods that leave make room for those that the quota keeps waiting; these leave later, then.
TEST(SimulationThatGrows, WhoLeavesEndsTheBlockAndWhoWaitedLeavesLater) {
  Growth growth({.templates = {node("small", 8)},
                 .quotas = {capacity_quota("total", {{"nodes", "1"}})},
                 .provision_seconds = 60});
  growth.input.nodes = {node("n1", 4)};
  growth.arrive(pod(0, 3000), 0, 100);
  growth.arrive(pod(1, 3000), 40, 90);
  growth.arrive(pod(2, 3000), 50, 70);
  growth.play();
  EXPECT_EQ((Said{"default/pod-0 on n1", "default/pod-1 waits", "scale_up", "default/pod-2 waits",
                  "scale_up", "default/pod-1 on n1 after 60", "default/pod-2 on n1 after 100"}),
            growth.lines);
  EXPECT_EQ(150 * kSecondUs, growth.report.growth->end_us);  // until when the second was there
  const CapacityQuotaBlock& block = limit(growth.report.growth->autoscaler, "total", "nodes").block;
  EXPECT_EQ(110 * kSecondUs, block.blocked_us);
  EXPECT_EQ(2u, block.pods);
  EXPECT_EQ(1, block.nodes.at(0));
}

TEST(SimulationThatGrows, WhoStillWaitsAtTheEndHasFailed) {
  Growth growth(
      {.templates = {node("small", 8)}, .quotas = {capacity_quota("total", {{"nodes", "1"}})}});
  growth.input.nodes = {node("n1", 4)};
  growth.arrive(pod(0, 3000), 0);
  growth.arrive(pod(1, 3000), 10);
  growth.arrive(pod(2, 3000), 30);
  growth.play();
  EXPECT_EQ(1u, growth.report.placed);
  EXPECT_EQ(2u, growth.report.failed);
  EXPECT_EQ(2u, growth.report.growth->waiting_at_end);
  ASSERT_EQ(1u, growth.report.failures.size());
  EXPECT_EQ("Insufficient cpu", growth.report.failures[0].reason);
  EXPECT_EQ(2u, growth.report.failures[0].pods_mainly);
}

TEST(SimulationThatGrows, ItBeginsWithoutANode) {
  Growth growth({.templates = {node("small", 8)}, .quotas = {}});
  growth.arrive(pod(0, 3000), 0);
  growth.play();
  EXPECT_EQ(Said({"default/pod-0 waits", "scale_up", "default/pod-0 on small-0001 after 60"}),
            growth.lines);
}

TEST(SimulationThatGrows, NodesReportMetrics) {
  Growth growth({.templates = {node("small", 8)}, .quotas = {}});
  growth.options.metrics_every_seconds = 60;
  growth.input.nodes = {node("n1", 4)};
  for (std::uint32_t p = 0; p < 8; ++p) growth.arrive(pod(p, 3000), 200 * p);
  growth.play();
  EXPECT_EQ(8u, growth.report.placed);
  EXPECT_GT(growth.report.metric_reports, 8u);  // one of n1 at each arrival, and those of others
}

// Their node takes both, but for the order in which they came: what failed before the other pod was
// placed is no answer any more.
TEST(SimulationThatGrows, WhoWaitsForOthersIsTriedAgainOnceAnotherWasPlaced) {
  Growth growth({.templates = {node("small", 8, {{kZone, "z"}})}, .quotas = {}});
  growth.input.nodes = {node("n1", 0, {{kZone, "z"}})};
  Pod near_db[] = {pod_of("web", 0), pod_of("web", 2)};
  for (Pod& near_it : near_db) near_it.pod_affinity.required = {near("db", kZone)};
  growth.arrive(near_db[0], 0);
  growth.arrive(pod_of("db", 1), 1);
  growth.arrive(near_db[1], 2);
  growth.play();
  EXPECT_EQ((Said{"default/pod-0 waits", "no_template", "default/pod-1 waits", "scale_up",
                  "default/pod-2 waits", "default/pod-1 on small-0001 after 60",
                  "default/pod-0 on small-0001 after 61", "default/pod-2 on small-0001 after 59"}),
            growth.lines);
}

// The pod that it waits for leaves no room for it on the node of both.
TEST(SimulationThatGrows, WhoWaitsForOthersGetsANodeOnceTheyAreThere) {
  Growth growth({.templates = {node("small", 1, {{kZone, "z"}})}, .quotas = {}});
  growth.input.nodes = {node("n1", 0, {{kZone, "z"}})};
  Pod near_db = pod(0, 1000);
  near_db.pod_affinity.required = {near("db", kZone)};
  Pod db = pod(1, 1000);
  db.labels = {{"app", "db"}};
  growth.arrive(near_db, 0);
  growth.arrive(db, 10);
  growth.play();
  EXPECT_EQ((Said{"default/pod-0 waits", "no_template", "default/pod-1 waits", "scale_up",
                  "default/pod-1 on small-0001 after 60", "scale_up",
                  "default/pod-0 on small-0002 after 130"}),
            growth.lines);
  EXPECT_EQ(0u, growth.report.growth->autoscaler.pods_without_template);
}

// Nodes do not help who may not have them.
TEST(SimulationThatGrows, NoNodeIsAddedForWhoIsBeyondItsElasticQuota) {
  Growth growth({.templates = {node("small", 8)}, .quotas = {}});
  growth.input.nodes = {node("n1", 4)};
  growth.input.elastic_quotas = {elastic_quota("default", 4, 4)};
  growth.arrive(pod(0, 3000), 0, 100);
  growth.arrive(pod(1, 3000), 10);
  growth.play();
  EXPECT_EQ(Said({"default/pod-0 on n1", "default/pod-1 waits", "default/pod-1 on n1 after 90"}),
            growth.lines);
}

// The same of those that are not asked about, because one that is like them was: five may have a
// node each as long as nobody has one, and then one of them alone.
TEST(SimulationThatGrows, WhoInheritsThatItsElasticQuotaForbidsItAsksForNoNode) {
  Growth growth({.templates = {node("small", 1)}, .quotas = {}});
  growth.input.nodes = {node("n1", 0)};
  growth.input.elastic_quotas = {elastic_quota("default", 1, 1)};
  for (std::uint32_t p = 0; p < 5; ++p) growth.arrive(pod(p, 1000), 0);
  growth.play();
  EXPECT_EQ(1u, growth.report.placed);
  EXPECT_EQ(5u, growth.report.growth->autoscaler.templates[0].nodes);
  EXPECT_EQ(1, std::count(growth.lines.begin(), growth.lines.end(), "scale_up"));
}

// Once they are allowed all are asked for together.
TEST(SimulationThatGrows, WhoInheritsThatItIsAllowedAsksForANode) {
  Growth growth({.templates = {node("small", 1)}, .quotas = {}});
  growth.input.nodes = {node("n1", 4)};
  growth.input.elastic_quotas = {elastic_quota("default", 4, 4), elastic_quota("other", 4, 4)};
  growth.arrive(pod(0, 4000), 0, 100);
  for (std::uint32_t p = 1; p < 5; ++p) growth.arrive(pod(p, 1000), 10);
  Pod taker = pod(5, 4000);
  taker.namespace_name = "other";
  taker.priority = 10;
  growth.arrive(taker, 100);
  growth.play();
  EXPECT_EQ(
      Said({"default/pod-0 on n1", "default/pod-1 waits", "default/pod-2 waits",
            "default/pod-3 waits", "default/pod-4 waits", "other/pod-5 on n1", "scale_up",
            "default/pod-1 on small-0001 after 150", "default/pod-2 on small-0002 after 150",
            "default/pod-3 on small-0003 after 150", "default/pod-4 on small-0004 after 150"}),
      growth.lines);
}

// Who had to go waits too, and a node comes for it.
TEST(SimulationThatGrows, AVictimGetsANode) {
  Growth growth({.templates = {node("small", 8)}, .quotas = {}});
  growth.input.nodes = {node("n1", 4)};
  growth.options.preemption = true;
  growth.arrive(pod(0, 3000), 0);
  Pod important = pod(1, 3000);
  important.priority = 10;
  growth.arrive(important, 10);
  growth.play();
  EXPECT_EQ(Said({"default/pod-0 on n1", "default/pod-1 on n1", "default/pod-0 again waits",
                  "scale_up", "default/pod-0 again on small-0001 after 60"}),
            growth.lines);
  EXPECT_EQ(1u, growth.report.preemption.victims_placed_again);
  EXPECT_EQ(0u, growth.report.preemption.victims_not_placed);
  EXPECT_EQ(2u, growth.report.placed);
}

// An autoscaler that has nothing to do changes no decision and nothing of the report but its part;
// without one the report has no such part.
TEST(SimulationThatGrows, WithoutNeedNothingChanges) {
  SimulationInput input;
  input.title = "test";
  input.nodes = {node("n1", 64), node("n2", 64)};
  for (std::uint32_t p = 0; p < 50; ++p) {
    input.arrivals.push_back(
        {.time_us = p * 7 * kSecondUs, .departure_us = (p * 7 + 100 + p) * kSecondUs, .pod = p});
  }
  input.make_pod = [](std::uint32_t index) { return pod(index, 1000 + 100 * index % 700); };
  nlohmann::json reports[2];
  std::string lines[2];
  for (const bool grows : {false, true}) {
    SimulationOptions options;
    if (grows)
      options.autoscaler = AutoscalerOptions{.templates = {node("small", 8)}, .quotas = {}};
    options.on_decision = [&](const std::string& line) { lines[grows] += line; };
    const Result<SimulationReport> report = simulate(input, options);
    ASSERT_TRUE(report) << report.error().message;
    const ProfileRun runs[] = {{"standard", *report}};
    reports[grows] = nlohmann::json::parse(json_report(input, 1, runs));
    reports[grows].erase("speed");
  }
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_FALSE(reports[0].contains("autoscaler"));
  EXPECT_EQ(1u, reports[1].erase("autoscaler"));
  EXPECT_EQ(reports[0], reports[1]);
}

// Small clusters with everything that counts, every rule checked at every moment; twice the same.
TEST(SimulationThatGrows, RandomSimulationsKeepTheRules) {
  const std::uint64_t first_seed = test_seed();
  std::uint64_t added = 0, blocked = 0, victims = 0, found_a_place = 0, without = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    SCOPED_TRACE("HEADROOM_SEED=" + std::to_string(seed));
    Random random{seed, 900};
    const std::uint32_t nodes = random.below(8), pods = 40 + random.below(120);
    const ClusterGenerator generator({.nodes = 12,
                                      .pods = pods,
                                      .seed = seed,
                                      .bound_permille = 0,
                                      .quotas = random.below(4),
                                      .fill_permille = 3000,
                                      .capacity_quotas = random.below(10)});
    SimulationInput input;
    for (std::uint32_t n = 0; n < nodes; ++n) input.nodes.push_back(generator.node(n));
    add_quotas(input, generator);
    input.start_us = kTraceStartUs;
    std::int64_t second = 0;
    for (std::uint32_t p = 0; p < pods; ++p) {
      second += random.below(3) * random.below(60);
      input.arrivals.push_back(
          {.time_us = kTraceStartUs + second * kSecondUs,
           .departure_us = random.permille(300)
                               ? kNeverUs
                               : kTraceStartUs + (second + random.between(0, 900)) * kSecondUs,
           .pod = p});
    }
    input.make_pod = [&](std::uint32_t index) { return generator.pod(index); };

    SimulationOptions options;
    options.validate = true;
    options.seed = seed;
    if (random.permille(300)) options.metrics_every_seconds = 60;
    AutoscalerOptions autoscaler;
    for (std::uint32_t t = 0; t <= random.below(4); ++t) {
      autoscaler.templates.push_back(generator.node(8 + t));
      Node& its = autoscaler.templates.back();
      its.name = "template-" + std::to_string(t);
      its.unschedulable = false;
      its.taints.clear();
    }
    autoscaler.provision_seconds = random.between(1, 300);
    options.autoscaler = std::move(autoscaler);
    std::string lines[2], reports[2];
    for (const int run : {0, 1}) {
      options.on_decision = [&](const std::string& line) { lines[run] += line; };
      const Result<SimulationReport> report = simulate(input, options);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(std::vector<std::string>(), report->violations);
      EXPECT_EQ(pods, report->placed + report->failed);
      const GrowthReport& growth = *report->growth;
      EXPECT_EQ(growth.waited, growth.waits_us.size() + growth.waiting_at_end);
      for (const CapacityQuotaReport& quota : growth.autoscaler.quotas) {
        for (const LimitReport& limit : quota.limits) {
          EXPECT_EQ(0, limit.reserved) << quota.id;
          EXPECT_LE(limit.used, std::max(limit.limit, limit.used_at_start)) << quota.id;
          EXPECT_LE(limit.block.blocked_us, growth.end_us - growth.begin_us);
          EXPECT_LE(limit.block.pods, growth.waited);
          if (run == 0) blocked += limit.block.stretches > 0;
        }
      }
      const ProfileRun runs[] = {{"standard", *report}};
      nlohmann::json json = nlohmann::json::parse(json_report(input, seed, runs));
      json.erase("speed");
      reports[run] = json.dump();
      if (run == 1) continue;
      for (const TemplateReport& at : growth.autoscaler.templates) added += at.nodes;
      victims += report->preemption.victims;
      found_a_place += growth.waits_us.size();
      without += growth.autoscaler.pods_without_template;
    }
    EXPECT_EQ(lines[0], lines[1]);
    EXPECT_EQ(reports[0], reports[1]);
  }
  // All of it happened.
  EXPECT_GT(added, 100u);
  EXPECT_GT(blocked, 20u);
  EXPECT_GT(victims, 20u);
  EXPECT_GT(found_a_place, 300u);
  EXPECT_GT(without, 20u);
}

}  // namespace
}  // namespace headroom::cluster_autoscaler_test
