// What kubectl printed of a real cluster (../shared/data): it loads whole, every pod is decided and
// explained, and each node's sums are those of an addition that shares no code with the product.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "objects/reading/object_reader.h"
#include "oracle/json.h"
#include "oracle/pod_resources.h"
#include "oracle/quantity.h"

namespace headroom::real_cluster_test {
namespace {

using oracle::Json;

constexpr const char* kData = HEADROOM_SHARED_DIR "/data";
constexpr const char* kJsonFile = HEADROOM_SHARED_DIR "/data/cluster-200.json";
constexpr const char* kYamlFile = HEADROOM_SHARED_DIR "/data/nodes-200.yaml";

ObjectFile load(const std::string& path) {
  Result<ObjectFile> file = read_object_file(path);
  if (!file) throw std::invalid_argument(file.error().message);
  return std::move(*file);
}

Engine create(const Profile& profile, const ObjectFile& file) {
  Result<Engine> engine = Engine::create(profile);
  if (!engine) throw std::invalid_argument(engine.error().message);
  std::int64_t now_us = 0;
  for (const NodeMetric& metric : file.node_metrics) {
    now_us = std::max(now_us, metric.update_time_us.value_or(0));
  }
  EXPECT_TRUE(engine->advance(now_us));
  for (const Node& node : file.nodes) EXPECT_TRUE(engine->upsert(node)) << node.name;
  for (const NodeMetric& metric : file.node_metrics) {
    EXPECT_TRUE(engine->upsert(metric)) << metric.name;
  }
  for (const Pod& pod : file.pods) EXPECT_TRUE(engine->upsert(pod)) << pod.name;
  return std::move(*engine);
}

class RealCluster : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kJsonFile) || !std::filesystem::exists(kYamlFile)) {
      GTEST_SKIP() << "no " << kData;
    }
  }
};

TEST_P(RealCluster, LoadsWholeFromJsonAndYaml) {
  const ObjectFile json = load(kJsonFile), yaml = load(kYamlFile);
  EXPECT_EQ(200u, json.nodes.size());
  EXPECT_EQ(187u, json.node_metrics.size());
  EXPECT_EQ(990u, json.pods.size());
  EXPECT_EQ(json.nodes, yaml.nodes);
  EXPECT_EQ(json.node_metrics, yaml.node_metrics);

  Profile profile = Profile::standard();
  profile.mode = GetParam();
  const Engine engine = create(profile, json);
  EXPECT_EQ(200u, engine.stats().nodes);
  EXPECT_EQ(990u, engine.stats().pods);
  const Result<void> valid = engine.validate();
  EXPECT_TRUE(valid) << valid.error().message;
}

TEST_P(RealCluster, EveryPodIsDecidedAndExplained) {
  const ObjectFile file = load(kJsonFile);
  Profile profile = Profile::standard();
  profile.mode = GetParam();
  Engine engine = create(profile, file);
  for (std::size_t p = 0; p < file.pods.size(); ++p) {
    const Pod& pod = file.pods[p];
    const Result<Decision> decision = engine.evaluate(pod, {.top_k = 3});
    ASSERT_TRUE(decision) << pod.name << ": " << decision.error().message;
    EXPECT_EQ(file.nodes.size(), decision->nodes);
    const bool feasible = decision->code == Code::kSuccess;
    EXPECT_TRUE(feasible || decision->code == Code::kUnschedulable) << pod.name;
    EXPECT_EQ(feasible, !decision->candidates.empty()) << pod.name;
    EXPECT_TRUE(feasible || !decision->reasons.empty()) << pod.name;

    // The best node where there is one: explained, it has the same scores.
    const std::string node(feasible ? engine.node_name(decision->candidates.front().node)
                                    : std::string_view(file.nodes[p % file.nodes.size()].name));
    const Result<Explanation> explanation = engine.explain(pod, node);
    ASSERT_TRUE(explanation) << pod.name << ": " << explanation.error().message;
    EXPECT_EQ(feasible, explanation->code == Code::kSuccess) << pod.name << " on " << node;
    EXPECT_FALSE(explanation->terms.empty());
    if (feasible) {
      EXPECT_EQ(decision->candidates.front().total, explanation->total);
    }
  }
}

// Milli-cpus and bytes that the file's running and pending pods request of each node.
std::map<std::string, oracle::Amounts> requests_by_node(Mode mode) {
  std::ifstream stream(kJsonFile);
  const Json list = Json::parse(stream);
  oracle::RequestsOptions options;
  if (mode == Mode::kUpstream) options.resized_as = oracle::Version::k137;
  std::map<std::string, oracle::Amounts> sums;
  for (const Json& item : list.at("items")) {
    const std::string kind = oracle::text(item, "kind");
    if (kind == "Node") sums[oracle::text(item.at("metadata"), "name")];
    const std::string phase = oracle::text(oracle::child(item, "status"), "phase");
    const std::string node = oracle::text(oracle::child(item, "spec"), "nodeName");
    if (kind != "Pod" || node.empty() || phase == "Succeeded" || phase == "Failed") continue;
    for (const auto& [resource, amount] : oracle::to_units(oracle::pod_requests(item, options))) {
      sums[node][resource] += amount;
    }
  }
  return sums;
}

TEST_P(RealCluster, SumsAreThoseOfAnIndependentAddition) {
  Profile profile;
  profile.mode = GetParam();
  profile.filters = {PluginId::kNodeResourcesFit};
  Engine engine = create(profile, load(kJsonFile));
  Pod probe;
  probe.namespace_name = "default";
  probe.name = probe.uid = "probe";
  probe.containers.emplace_back().requests = {{"cpu", Quantity::from_milli(1)},
                                              {"memory", Quantity::from_value(1)}};
  std::int64_t used_nodes = 0;
  for (const auto& [node, sums] : requests_by_node(GetParam())) {
    const Result<Explanation> explanation = engine.explain(probe, node);
    ASSERT_TRUE(explanation) << explanation.error().message;
    std::map<std::string, std::int64_t> explained;
    for (const ExplainTerm& term : explanation->terms) {
      if (!term.resource.empty()) explained[term.resource] = term.aggregate;
    }
    for (const std::string resource : {"cpu", "memory"}) {
      ASSERT_TRUE(explained.contains(resource)) << node;
      EXPECT_EQ(oracle::amount(sums, resource), explained[resource]) << node << " " << resource;
    }
    used_nodes += explained["cpu"] != 0;
  }
  EXPECT_GT(used_nodes, 100);
}

INSTANTIATE_TEST_SUITE_P(Modes, RealCluster, testing::Values(Mode::kProposal, Mode::kUpstream),
                         [](const testing::TestParamInfo<Mode>& mode) {
                           return mode.param == Mode::kProposal ? "Proposal" : "Upstream";
                         });

}  // namespace
}  // namespace headroom::real_cluster_test
