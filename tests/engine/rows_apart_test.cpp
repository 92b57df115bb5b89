// Nodes that stand apart from others of their class, as each has pods of its own, and all of them
// rejected: every answer says so, where normalised scores are kept as well.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace headroom::rows_apart_test {
namespace {

constexpr int kNodes = 4;
const std::string kHost = "kubernetes.io/hostname";

Engine make_engine(bool shape_cache) {
  Result<Engine> engine =
      Engine::create(Profile::standard(), {.shape_cache = shape_cache, .threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  return std::move(*engine);
}

Pod pod_of(const std::string& name, const std::string& node = "") {
  Pod pod;
  pod.namespace_name = "team";
  pod.name = pod.uid = name;
  pod.node_name = node;
  pod.containers.emplace_back().requests = {{"cpu", Quantity::from_value(1)}};
  return pod;
}

Pod noise_on(int n) {
  Pod pod = pod_of("noise-" + std::to_string(n), "node-" + std::to_string(n));
  pod.labels = {{"app", "noise"}};
  return pod;
}

void tell_nodes(Engine& engine) {
  for (int n = 0; n < kNodes; ++n) {
    Node node;
    node.name = "node-" + std::to_string(n);
    node.labels = {{kHost, node.name}};
    node.allocatable = {{"cpu", Quantity::from_value(8)}, {"pods", Quantity::from_value(110)}};
    ASSERT_TRUE(engine.upsert(node));
    ASSERT_TRUE(engine.upsert(noise_on(n)));
  }
}

// How many nodes each answer lets the pod on.
void expect_feasible(Engine& engine, const Pod& pod, std::size_t count) {
  EXPECT_EQ(engine.evaluate(pod).value().feasible, count);
  NodesDecision all;
  ASSERT_TRUE(engine.evaluate_nodes(pod, all));
  std::size_t feasible = 0;
  for (const NodeStanding& row : all.rows) {
    feasible += row.verdict == kFeasible ? 1 : 0;
  }
  EXPECT_EQ(feasible, count);
}

TEST(RowsApart, AllOfThemRejected) {
  for (const bool shape_cache : {true, false}) {
    Engine engine = make_engine(shape_cache);
    tell_nodes(engine);
    Pod pod = pod_of("quiet");
    PodAffinityTerm& term = pod.pod_anti_affinity.required.emplace_back();
    term.selector = LabelSelector{{"app", "In", {"noise"}}};
    term.topology_key = kHost;
    expect_feasible(engine, pod, 0);
    engine.remove_pod("team", "noise-2");
    expect_feasible(engine, pod, 1);
    ASSERT_TRUE(engine.upsert(noise_on(2)));
    expect_feasible(engine, pod, 0);
  }
}

}  // namespace
}  // namespace headroom::rows_apart_test
