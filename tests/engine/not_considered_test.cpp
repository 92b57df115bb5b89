// What a decision leaves out is named in every answer, and changes none.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "engine/engine.h"
#include "objects/reading/object_reader.h"
#include "tests/support/objects.h"

namespace headroom::not_considered_test {
namespace {

Engine make_engine(Profile profile = Profile::standard()) {
  Result<Engine> engine = Engine::create(std::move(profile), {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  return std::move(*engine);
}

Node node_of(const std::string& name, std::vector<Taint> taints = {}) {
  Node node = headroom::node_of(name, cores(8));
  node.taints = std::move(taints);
  return node;
}

std::string text_of(NotConsideredSet set) {
  std::string text;
  for (const NotConsidered what : set.list()) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(what));
  }
  return text;
}

std::string decided(Engine& engine, const Pod& pod) {
  return text_of(engine.evaluate(pod).value().not_considered);
}

TEST(NotConsidered, EveryAnswerRepeatsWhatThePodAsksFor) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1")));
  Pod pod = pod_of("team", "p", cores(1));
  pod.not_considered.add(NotConsidered::kResourceClaims);
  pod.not_considered.add(NotConsidered::kRequiredPodAntiAffinity);
  const std::string expected = "resource claims";  // the other is decided
  EXPECT_EQ(decided(engine, pod), expected);
  NodesDecision nodes;
  ASSERT_TRUE(engine.evaluate_nodes(pod, nodes));
  EXPECT_EQ(text_of(nodes.not_considered), expected);
  const NodeIndex n1 = engine.find_node("n1");
  nodes.not_considered = {};
  ASSERT_TRUE(engine.filter(pod, std::span(&n1, 1), {}, nodes));
  EXPECT_EQ(text_of(nodes.not_considered), expected);
  EXPECT_EQ(text_of(engine.explain(pod, "n1").value().not_considered), expected);
  EXPECT_EQ(text_of(engine.post_filter(pod).value().not_considered), expected);
  const Pod pods[] = {pod, pod_of("team", "q", cores(1))};
  const std::vector<Decision> decisions = engine.evaluate(pods, {}).value();
  EXPECT_EQ(text_of(decisions[0].not_considered), expected);
  EXPECT_EQ(text_of(decisions[1].not_considered), "");
  // A Decision that is used again, and one by shape.
  Decision decision = decisions[0];
  ASSERT_TRUE(engine.evaluate(pods[1], {}, decision));
  EXPECT_TRUE(decision.not_considered.empty());
  decision = decisions[0];
  ASSERT_TRUE(engine.evaluate(engine.shape_of(pod).value(), {}, decision));
  EXPECT_TRUE(decision.not_considered.empty());
  // It is no part of the shape, and of no answer.
  EXPECT_EQ(engine.shape_of(pods[0]).value(), engine.shape_of(pods[1]).value());
  EXPECT_EQ(text_of(engine.place(pods, {}).value()[0].decision.not_considered), expected);
}

TEST(NotConsidered, NothingThatThePluginsOfTheProfileDecide) {
  Engine engine = Engine::create(Profile::kube_scheduler(), {.threads = 1}).value();
  ASSERT_TRUE(engine.upsert(node_of("n1", {{"spot", "yes", "PreferNoSchedule"}})));
  Pod pod = pod_of("team", "p", cores(1));
  for (std::uint32_t i = 0; i < kNotConsideredCount; ++i) {
    pod.not_considered.add(static_cast<NotConsidered>(i));
  }
  EXPECT_EQ(decided(engine, pod), "another scheduler's name, resource claims");
}

TEST(NotConsidered, AnotherSchedulersName) {
  Profile packer = Profile::standard();
  packer.scheduler_name = "packer";
  Engine standard = make_engine(), named = make_engine(packer);
  Pod pod = pod_of("team", "p", cores(1));
  EXPECT_EQ(decided(standard, pod), "");  // no name is default-scheduler's
  EXPECT_EQ(decided(named, pod), "another scheduler's name");
  pod.scheduler_name = "packer";
  EXPECT_EQ(decided(standard, pod), "another scheduler's name");
  EXPECT_EQ(decided(named, pod), "");
}

TEST(NotConsidered, PreferNoScheduleTaintsThatAreNotToleratedWhereNothingScoresThem) {
  Profile profile = Profile::standard();
  std::erase_if(profile.scores, [](const ScorePlugin& score) {
    return score.plugin == PluginId::kTaintToleration;
  });
  Engine engine = make_engine(profile);
  const Taint soft{"spot", "yes", "PreferNoSchedule"};
  const std::string said = "PreferNoSchedule taints of nodes";
  ASSERT_TRUE(engine.upsert(node_of("n1", {{"gpu", "", "NoSchedule"}})));
  const Pod pod = pod_of("team", "p", cores(1));
  EXPECT_EQ(decided(engine, pod), "");
  ASSERT_TRUE(engine.upsert(node_of("n2", {soft, soft})));
  ASSERT_TRUE(engine.upsert(node_of("n3", {soft})));
  EXPECT_EQ(decided(engine, pod), said);
  Pod tolerant = pod;
  tolerant.tolerations = {{"spot", "Exists", "", "PreferNoSchedule"}};
  EXPECT_EQ(decided(engine, tolerant), "");
  tolerant.tolerations = {{"spot", "Equal", "no", ""}};
  EXPECT_EQ(decided(engine, tolerant), said);
  // As long as one node has it; a fork takes it back.
  engine.fork();
  ASSERT_TRUE(engine.upsert(node_of("n2")));
  EXPECT_EQ(decided(engine, pod), said);
  engine.remove_node("n3");
  EXPECT_EQ(decided(engine, pod), "");
  engine.rollback();
  EXPECT_EQ(decided(engine, pod), said);
}

// A device of a class: no node has any, and DynamicResources finds one from 1.36 on.
TEST(NotConsidered, DevicesOfAClassRejectNoNode) {
  const Result<Object> object = read_object(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"namespace": "team", "name": "p"}, "spec": {"containers": [{"name": "c",
      "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": 1}}}]}})",
                                            "test");
  const Pod& pod = std::get<Pod>(object.value());
  for (const KubernetesVersion version : {KubernetesVersion::k135, KubernetesVersion::k137}) {
    Engine engine = make_engine(Profile::kube_scheduler(version));
    ASSERT_TRUE(engine.upsert(node_of("n1")));
    const bool before = version == KubernetesVersion::k135;
    EXPECT_EQ(decided(engine, pod), before ? "" : "resource claims");
    EXPECT_EQ(engine.evaluate(pod).value().code, before ? Code::kUnschedulable : Code::kSuccess);
  }
}

}  // namespace
}  // namespace headroom::not_considered_test
