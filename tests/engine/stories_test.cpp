// The user stories of the seed documents, with their numbers: limit-aware-scheduling,
// resource-limit-aware-node-scoring and load-aware-scheduling. Where a seed gives no numbers, the
// smallest that tell the story. Mode Proposal: what the seeds say.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"

namespace headroom::stories_test {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kNowUs = 1'767'225'600 * kSecondUs;  // 2026-01-01T00:00:00Z

Engine create(const Profile& profile) {
  Result<Engine> engine = Engine::create(profile);
  if (!engine) throw std::invalid_argument(engine.error().message);
  return std::move(*engine);
}

// A profile of one plugin, as filter, as score, or both.
Profile profile_of(PluginId plugin, bool filter, bool score, const std::string& args = "{}") {
  Profile profile;
  if (filter) profile.filters = {plugin};
  if (score) profile.scores = {{plugin, 1}};
  if (const Result<void> read = read_plugin_args(plugin, args, profile); !read) {
    throw std::invalid_argument(read.error().message);
  }
  return profile;
}

ResourceList resources(std::int64_t cores, std::int64_t gibibytes) {
  ResourceList list;
  if (cores != 0) list.emplace_back("cpu", Quantity::from_value(cores));
  if (gibibytes != 0) list.emplace_back("memory", Quantity::from_value(gibibytes * kGi));
  return list;
}

// One container with cores as request and limit.
Pod pod_of(const std::string& name, std::int64_t request, std::int64_t limit,
           const std::string& node_name = "") {
  return headroom::pod_of("default", name, resources(request, 0),
                          {.limits = resources(limit, 0), .node_name = node_name});
}

NodeMetric metric_of(const std::string& node, std::int64_t cores, std::int64_t gibibytes,
                     std::int64_t update_time_us = kNowUs) {
  return node_metric_of(node, update_time_us, resources(cores, gibibytes), 60);
}

Decision decide(Engine& engine, const Pod& pod) {
  Result<Decision> decision = engine.evaluate(pod, {.top_k = 16});
  if (!decision) throw std::invalid_argument(decision.error().message);
  return std::move(*decision);
}

// "node2 100, node1 0": the candidates with their totals, or the reasons when there are none.
std::string answer(Engine& engine, const Pod& pod) {
  const Decision decision = decide(engine, pod);
  if (decision.candidates.empty()) return decision.message();
  std::string text;
  for (const NodeScore& candidate : decision.candidates) {
    text += (text.empty() ? "" : ", ") + std::string(engine.node_name(candidate.node)) + " " +
            std::to_string(candidate.total);
  }
  return text;
}

// The node's sum for cpu, in cores, of what the plugin counts.
std::int64_t cores_on(Engine& engine, PluginId plugin, const std::string& node) {
  const Result<Explanation> explanation = engine.explain(pod_of("probe", 1, 1), node);
  if (!explanation) throw std::invalid_argument(explanation.error().message);
  for (const ExplainTerm& term : explanation->terms) {
    if (term.plugin == plugin && term.resource == "cpu") return term.aggregate / 1'000;
  }
  throw std::invalid_argument("no term for cpu");
}

// node1: pod1 (request 2, limit 6), pod2 (2, 4); node2: pod3 (3, 3), pod4 (2, 2); 8 cores each.
Engine two_nodes(const Profile& profile) {
  Engine engine = create(profile);
  tell(engine, node_of("node1", cores(8)), pod_of("pod1", 2, 6, "node1"),
       pod_of("pod2", 2, 4, "node1"), node_of("node2", cores(8)), pod_of("pod3", 3, 3, "node2"),
       pod_of("pod4", 2, 2, "node2"));
  return engine;
}

const Pod kPod5 = pod_of("pod5", 1, 4);

// --- Limit aware scheduling ---

TEST(LimitAwareStories, Story1ScoreMitigatesOverSubscription) {
  Engine by_requests = two_nodes(profile_of(PluginId::kNodeResourcesFit, false, true));
  EXPECT_EQ("node1 37, node2 25", answer(by_requests, kPod5));  // (8 - 4 - 1) / 8, (8 - 5 - 1) / 8

  Engine by_limits = two_nodes(profile_of(PluginId::kLimitAware, false, true));
  EXPECT_EQ(10, cores_on(by_limits, PluginId::kLimitAware, "node1"));
  EXPECT_EQ(5, cores_on(by_limits, PluginId::kLimitAware, "node2"));
  EXPECT_EQ("node2 100, node1 0", answer(by_limits, kPod5));
  const Decision decision = decide(by_limits, kPod5);
  EXPECT_EQ(-12, decision.candidates[0].plugins[0].raw);  // (8 - 5 - 4) * 100 / 8
  EXPECT_EQ(-75, decision.candidates[1].plugins[0].raw);  // (8 - 10 - 4) * 100 / 8
}

TEST(LimitAwareStories, Story2FilterRejectsRiskOfOverSubscription) {
  Engine engine = create(profile_of(PluginId::kLimitAware, true, false,
                                    R"({"defaultLimitToAllocatableRatio": {"cpu": 125}})"));
  tell(engine, node_of("node1", cores(8)), pod_of("pod1", 2, 6, "node1"),
       pod_of("pod2", 2, 4, "node1"));
  // 14 > 8 x 125%.
  EXPECT_EQ("0/1 nodes are available: 1 Insufficient cpu limit.", answer(engine, kPod5));
  Pod daemon = kPod5;
  daemon.daemon_set = true;
  EXPECT_EQ("node1 0", answer(engine, daemon));

  // 14 <= 8 x 175%, by the node's own annotation; 8 x 174% is 13.92.
  Node node = node_of("node1", cores(8));
  node.annotations = {{"node.koordinator.sh/limit-to-allocatable", R"({"cpu": 175})"}};
  tell(engine, node);
  EXPECT_EQ("node1 0", answer(engine, kPod5));
  node.annotations = {{"node.koordinator.sh/limit-to-allocatable", R"({"cpu": "174%"})"}};
  tell(engine, node);
  EXPECT_EQ("0/1 nodes are available: 1 Insufficient cpu limit.", answer(engine, kPod5));

  // Without pod1 the limits are 4 + 4.
  tell(engine, node_of("node1", cores(8)));
  engine.remove_pod("default", "pod1");
  EXPECT_EQ("node1 0", answer(engine, kPod5));
}

// --- Resource limit-aware node scoring ---

TEST(ResourceLimitAwareUseCase, DefaultSchedulerOverSubscribesNode1) {
  Engine engine = two_nodes(profile_of(PluginId::kNodeResourcesFit, true, true));
  EXPECT_EQ("node1 37, node2 25", answer(engine, kPod5));
  const Result<std::vector<Placement>> placed = engine.place(std::vector<Pod>{kPod5});
  ASSERT_TRUE(placed);
  EXPECT_EQ("node1", engine.node_name((*placed)[0].node));
  EXPECT_EQ(5, cores_on(engine, PluginId::kNodeResourcesFit, "node1"));
  EXPECT_EQ(5, cores_on(engine, PluginId::kNodeResourcesFit, "node2"));
}

TEST(ResourceLimitAwareUseCase, ProposedSchedulerChoosesNode2) {
  Profile profile = profile_of(PluginId::kResourceLimitAware, false, true);
  profile.filters = {PluginId::kNodeResourcesFit};
  Engine engine = two_nodes(profile);
  EXPECT_EQ("node2 100, node1 0", answer(engine, kPod5));
  const Result<std::vector<Placement>> placed = engine.place(std::vector<Pod>{kPod5});
  ASSERT_TRUE(placed);
  EXPECT_EQ("node2", engine.node_name((*placed)[0].node));
  EXPECT_EQ(4, cores_on(engine, PluginId::kNodeResourcesFit, "node1"));
  EXPECT_EQ(10, cores_on(engine, PluginId::kResourceLimitAware, "node1"));
  EXPECT_EQ(6, cores_on(engine, PluginId::kNodeResourcesFit, "node2"));
  EXPECT_EQ(9, cores_on(engine, PluginId::kResourceLimitAware, "node2"));
}

// --- Load aware scheduling: nodes of 100 cores and 100 GiB, so that usage reads as percent ---

constexpr const char* kCpuOnly = R"({"resourceWeights": {"cpu": 1}})";

TEST(LoadAwareStories, Story1HighUtilizationIsAvoided) {
  Engine engine = create(profile_of(PluginId::kLoadAwareScheduling, true, true, kCpuOnly));
  ASSERT_TRUE(engine.advance(kNowUs));
  tell(engine, node_of("idle", resources(100, 100)), metric_of("idle", 10, 10),  //
       node_of("edge", resources(100, 100)), metric_of("edge", 64, 94),          //
       node_of("busy", resources(100, 100)), metric_of("busy", 65, 10),   // cpu 65% is too much,
       node_of("full", resources(100, 100)), metric_of("full", 10, 95));  // and memory 95%
  EXPECT_EQ("idle 86, edge 32", answer(engine, pod_of("new", 1, 4)));     // 100 - usage - 4
  engine.remove_node("idle");
  engine.remove_node("edge");
  EXPECT_EQ(
      "0/2 nodes are available: 1 node(s) cpu usage exceed threshold, "
      "1 node(s) memory usage exceed threshold.",
      answer(engine, pod_of("new", 1, 4)));

  // A node's own thresholds replace the configured ones.
  Node busy = node_of("busy", resources(100, 100));
  busy.annotations = {
      {"scheduling.koordinator.sh/usage-thresholds", R"({"usageThresholds": {"cpu": 80}})"}};
  tell(engine, busy);
  EXPECT_EQ("busy 31", answer(engine, pod_of("new", 1, 4)));
}

TEST(LoadAwareStories, Story2ResourcesAreWeighedApart) {
  // Usage of cpu and memory far apart, either way round.
  const auto ask = [](const std::string& args) {
    Engine engine = create(profile_of(PluginId::kLoadAwareScheduling, true, true, args));
    EXPECT_TRUE(engine.advance(kNowUs));
    tell(engine, node_of("cpu-bound", resources(100, 100)), metric_of("cpu-bound", 60, 10),
         node_of("memory-bound", resources(100, 100)), metric_of("memory-bound", 20, 70));
    Pod pod = pod_of("new", 0, 0);
    pod.containers[0].limits = resources(1, 1);
    return answer(engine, pod);
  };
  // cpu-bound: 100 - 61 and 100 - 11; memory-bound: 100 - 21 and 100 - 71.
  EXPECT_EQ("cpu-bound 64, memory-bound 54", ask("{}"));
  EXPECT_EQ("memory-bound 66, cpu-bound 51",
            ask(R"({"resourceWeights": {"cpu": 3, "memory": 1}})"));
  EXPECT_EQ("cpu-bound 76, memory-bound 41",
            ask(R"({"resourceWeights": {"cpu": 1, "memory": 3}})"));
  // Each resource has its own threshold: one that is scarce does not keep the other from use.
  EXPECT_EQ("memory-bound 54", ask(R"({"usageThresholds": {"cpu": 50, "memory": 80}})"));
  EXPECT_EQ("cpu-bound 64", ask(R"({"usageThresholds": {"cpu": 80, "memory": 50}})"));
}

TEST(LoadAwareStories, Story3PodsJustScheduledCountBeforeTheyAreReported) {
  Engine engine = create(profile_of(PluginId::kLoadAwareScheduling, true, true, kCpuOnly));
  ASSERT_TRUE(engine.advance(kNowUs));
  tell(engine, node_of("cold", resources(100, 100)), metric_of("cold", 10, 10),
       node_of("warm", resources(100, 100)), metric_of("warm", 30, 10));
  std::vector<Pod> pods;
  for (int p = 0; p < 40; ++p) pods.push_back(pod_of("p" + std::to_string(p), 0, 1));
  const Result<std::vector<Placement>> placed = engine.place(pods);
  ASSERT_TRUE(placed);
  int on_cold = 0;
  for (const Placement& placement : *placed) on_cold += engine.node_name(placement.node) == "cold";
  EXPECT_EQ(30, on_cold);  // 10 + 30 = 30 + 10
  EXPECT_EQ("cold 59, warm 59", answer(engine, pod_of("new", 0, 1)));

  // The next report holds what those pods really use.
  ASSERT_TRUE(engine.advance(kNowUs + 120 * kSecondUs));
  tell(engine, metric_of("cold", 15, 10, kNowUs + 120 * kSecondUs),
       metric_of("warm", 32, 10, kNowUs + 120 * kSecondUs));
  EXPECT_EQ("cold 84, warm 67", answer(engine, pod_of("new", 0, 1)));
}

// Of the pods that a report calls prod, those that are prod and count on the node.
TEST(LoadAwareStories, ProdUsageIsOfProdPodsThatCount) {
  Engine engine =
      create(profile_of(PluginId::kLoadAwareScheduling, true, false,
                        R"({"usageThresholds": {"cpu": 0}, "prodUsageThresholds": {"cpu": 50}})"));
  const auto prod = [](Pod pod) {
    pod.labels = {{"koordinator.sh/priority-class", "koord-prod"}};
    return pod;
  };
  Pod ended = prod(pod_of("ended", 1, 1, "n1"));
  ended.phase = "Succeeded";
  NodeMetric metric = metric_of("n1", 9, 0);
  for (const char* name : {"runs", "ended", "elsewhere", "batch"}) {
    metric.pods.push_back({"default", name, resources(4, 0), "koord-prod"});
  }
  Pod batch = pod_of("batch", 1, 1, "n1");
  batch.labels = {{"koordinator.sh/priority-class", "koord-batch"}};
  if (!engine.advance(kNowUs)) throw std::invalid_argument("advance");
  tell(engine, node_of("n1", cores(10)), metric, ended, batch, prod(pod_of("runs", 1, 1, "n1")));
  const Pod asks = prod(pod_of("asks", 1, 1));
  const std::string full = "0/1 nodes are available: 1 node(s) cpu usage exceed threshold.";
  EXPECT_EQ("n1 0", answer(engine, asks));  // 4 of 10
  Pod again = ended;
  again.phase = "Running";
  tell(engine, again);
  EXPECT_EQ(full, answer(engine, asks));  // 8 of 10
  engine.remove_pod("default", "ended");
  EXPECT_EQ("n1 0", answer(engine, asks));
  tell(engine, prod(pod_of("elsewhere", 1, 1, "n1")));
  EXPECT_EQ(full, answer(engine, asks));
  batch.node_name.clear();
  batch.name = batch.uid = "other";
  EXPECT_EQ("n1 0", answer(engine, batch));  // no prod pod
}

TEST(LoadAwareStories, Story4NodesThatReportNoMoreAreAvoided) {
  const auto ask = [](const std::string& args, std::int64_t age_seconds) {
    Engine engine = create(profile_of(PluginId::kLoadAwareScheduling, true, true, args));
    EXPECT_TRUE(engine.advance(kNowUs));
    tell(engine, node_of("silent", resources(100, 100)),
         metric_of("silent", 10, 10, kNowUs - age_seconds * kSecondUs),
         node_of("reports", resources(100, 100)), metric_of("reports", 50, 10));
    return answer(engine, pod_of("new", 0, 1));
  };
  EXPECT_EQ("silent 89, reports 49", ask(kCpuOnly, 179));
  EXPECT_EQ("reports 49", ask(kCpuOnly, 180));
  // Not filtered, but never preferred.
  EXPECT_EQ("reports 49, silent 0",
            ask(R"({"resourceWeights": {"cpu": 1}, "filterExpiredNodeMetrics": false})", 180));
  EXPECT_EQ("reports 49",
            ask(R"({"resourceWeights": {"cpu": 1}, "nodeMetricExpirationSeconds": 60})", 60));
}

}  // namespace
}  // namespace headroom::stories_test
