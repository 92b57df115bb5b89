// Which pods share an application: those that differ only in labels which no selector reads, for as
// long as none does. And what makes one begin anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::applications_test {
namespace {

const std::string kHost = "kubernetes.io/hostname";
const std::string kNumber = "apps.kubernetes.io/pod-index";

Node node_of(const std::string& name, std::vector<ContainerImage> images = {}) {
  Node node =
      headroom::node_of(name, cores(8), {{kHost, name}, {"topology.kubernetes.io/zone", name}});
  node.images = std::move(images);
  return node;
}

Engine make_engine() {
  Result<Engine> engine =
      Engine::create(Profile::kube_scheduler(KubernetesVersion::k137), {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  for (const char* name : {"a", "b"}) {
    if (!engine->upsert(node_of(name))) throw std::invalid_argument("a node is refused");
  }
  return std::move(*engine);
}

// One of a StatefulSet.
Pod member(int number, const std::string& node = "") {
  return pod_of(
      "team", "store-" + std::to_string(number), cores(1),
      {.node_name = node, .labels = {{"app", "store"}, {kNumber, std::to_string(number)}}});
}

std::string best_of(Engine& engine, const Pod& pod) {
  return std::string(engine.node_name(engine.evaluate(pod).value().candidates[0].node));
}

// How many there are once the first two members were asked for.
std::uint32_t count_of_two(Engine& engine) {
  EXPECT_TRUE(engine.evaluate(member(0)) && engine.evaluate(member(1)));
  return engine.stats().applications;
}

PodAffinityTerm term_of(const std::string& number) {
  return {.selector = LabelSelector{{kNumber, "In", {number}}},
          .namespaces = {},
          .namespace_selector = {},
          .topology_key = kHost};
}

TEST(Applications, PodsThatDifferInLabelsNobodyReadsShareOne) {
  Engine engine = make_engine();
  EXPECT_EQ(count_of_two(engine), 1u);
  ASSERT_TRUE(engine.upsert(member(0, "a")));
  ASSERT_TRUE(engine.upsert(member(1, "b")));
  EXPECT_EQ(count_of_two(engine), 1u);
  EXPECT_TRUE(engine.validate());
}

TEST(Applications, AnothersTermTellsThemApart) {
  Engine engine = make_engine();
  const ShapeIndex first = engine.shape_of(member(0)).value();
  const ShapeIndex second = engine.shape_of(member(1)).value();
  const auto feasible = [&](ShapeIndex shape) {
    Decision decision;
    EXPECT_TRUE(engine.evaluate(shape, {}, decision));
    return decision.feasible;
  };
  EXPECT_EQ(feasible(first), 2u);
  EXPECT_EQ(feasible(second), 2u);
  EXPECT_EQ(count_of_two(engine), 1u);
  Pod hermit = member(7, "a");
  hermit.labels.clear();
  hermit.pod_anti_affinity.required = {term_of("1")};
  ASSERT_TRUE(engine.upsert(hermit));
  EXPECT_EQ(engine.evaluate(member(0)).value().feasible, 2u);
  EXPECT_EQ(engine.evaluate(member(1)).value().feasible, 1u);
  EXPECT_EQ(feasible(first), 2u);
  EXPECT_EQ(feasible(second), 1u) << "what was handed out goes by all labels";
  EXPECT_EQ(count_of_two(engine), 3u) << "and the one that was theirs, until others need its room";
  EXPECT_TRUE(engine.validate());
}

TEST(Applications, TheirOwnTermsReadLabelsOfTheirOwn) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(member(1, "a")));
  Pod pod = member(0);
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 2u);
  // To itself: the first may be anywhere.
  pod.pod_affinity.required = {term_of("0")};
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 2u);
  pod.pod_affinity.required = {term_of("1")};
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 1u);
  pod.pod_affinity.required = {term_of("2")};
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 0u);
}

// One service for each member, as some databases have them.
TEST(Applications, AServiceTellsThemApart) {
  Engine engine = make_engine();
  EXPECT_EQ(best_of(engine, member(1)), "a");
  Pod other = member(2, "a");
  other.labels = {{kNumber, "1"}};
  other.containers[0].requests.clear();
  ASSERT_TRUE(engine.upsert(other));
  ASSERT_TRUE(engine.upsert(ReferredObject(Service{"team", "one", StringMap{{kNumber, "1"}}})));
  EXPECT_EQ(best_of(engine, member(1)), "b");
}

// Of each kind another one, which says nothing of them, comes first.
TEST(Applications, WhatSelectsThemIsReadAsItComesAndGoes) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(member(2, "a")));
  Pod another = member(3, "b");
  another.labels = {{"app", "mail"}};
  ASSERT_TRUE(engine.upsert(another));
  Pod pod = member(1);
  pod.controller = OwnerReference{"apps/v1", "ReplicaSet", "store-5", "u"};
  EXPECT_EQ(best_of(engine, pod), "a");
  using Kind = WorkloadController::Kind;
  const LabelSelector store = {{"app", "In", {"store"}}};
  const auto controller = [&](Kind kind, const char* space, const char* name) {
    return ReferredObject(WorkloadController{kind, space, name, store});
  };
  for (const ReferredObject& other :
       {controller(Kind::kReplicaSet, "team", "store-4"),
        controller(Kind::kReplicaSet, "others", "store-5"),
        controller(Kind::kStatefulSet, "team", "store-5"),
        ReferredObject(Service{"team", "cache", StringMap{{"app", "cache"}}}),
        ReferredObject(Service{"others", "store", StringMap{{"app", "store"}}})}) {
    ASSERT_TRUE(engine.upsert(other));
    EXPECT_EQ(best_of(engine, pod), "a");
  }
  ASSERT_TRUE(engine.upsert(controller(Kind::kReplicaSet, "team", "store-5")));
  EXPECT_EQ(best_of(engine, pod), "b");
  engine.remove(ReferredKind::kReplicaSet, "team/store-5");
  EXPECT_EQ(best_of(engine, pod), "a");
  ASSERT_TRUE(engine.upsert(ReferredObject(Service{"team", "store", StringMap{{"app", "store"}}})));
  EXPECT_EQ(best_of(engine, pod), "b");
  ASSERT_TRUE(engine.upsert(ReferredObject(Service{"team", "store", StringMap{{"app", "cache"}}})));
  EXPECT_EQ(best_of(engine, pod), "a");
  EXPECT_TRUE(engine.validate());
}

TEST(Applications, AnImageThatComesToANodeScores) {
  Engine engine = make_engine();
  Pod pod = member(0);
  pod.containers[0].image = "registry/store";
  EXPECT_EQ(best_of(engine, pod), "a");
  const auto pull = [&](const char* name, std::vector<ContainerImage> images) {
    EXPECT_TRUE(engine.upsert(node_of(name, std::move(images))));
  };
  pull("b", {{{"registry/cache:latest"}, 1 << 30}});
  EXPECT_EQ(best_of(engine, pod), "a");
  pull("b", {{{"registry/cache:latest"}, 1 << 30}, {{"registry/store:latest"}, 1 << 30}});
  EXPECT_EQ(best_of(engine, pod), "b");
  pull("a", {{{"registry/store:latest"}, 1 << 30}});
  EXPECT_EQ(best_of(engine, pod), "a");
  pull("a", {});
  EXPECT_EQ(best_of(engine, pod), "b");
  EXPECT_TRUE(engine.validate());
}

// Where a node's pods count follows its labels.
TEST(Applications, ANodesPodsCountInTheDomainsThatItIsInNow) {
  Engine engine = make_engine();
  Pod pod = member(0);
  pod.pod_anti_affinity.required = {term_of("1")};
  ASSERT_TRUE(engine.upsert(member(1, "a")));
  const auto feasible = [&] { return engine.evaluate(pod).value().feasible; };
  EXPECT_EQ(feasible(), 1u);
  Node other = node_of("b");
  other.labels = {{kHost, "a"}};
  ASSERT_TRUE(engine.upsert(other));
  EXPECT_EQ(feasible(), 0u) << "both are the host that the pod runs on";
  Node nameless = node_of("a");
  nameless.labels.clear();
  ASSERT_TRUE(engine.upsert(nameless));
  EXPECT_EQ(feasible(), 2u) << "the pod is on no host";
  ASSERT_TRUE(engine.upsert(node_of("a")));
  EXPECT_EQ(feasible(), 0u);
  engine.remove_node("a");
  EXPECT_EQ(feasible(), 1u);
  ASSERT_TRUE(engine.upsert(node_of("a")));
  ASSERT_TRUE(engine.upsert(node_of("b")));
  EXPECT_EQ(feasible(), 1u);
  EXPECT_TRUE(engine.validate());
}

// Of a constraint that honors taints.
TEST(Applications, ANodeTakesPartAsItsTaintsAreNow) {
  Engine engine = make_engine();
  Pod pod = member(0);
  TopologySpreadConstraint constraint;
  constraint.hard = constraint.honors_taints = true;
  constraint.max_skew = 1;
  constraint.topology_key = "topology.kubernetes.io/zone";
  constraint.selector = LabelSelector{{"app", "In", {"store"}}};
  pod.topology_spread = {constraint};
  ASSERT_TRUE(engine.upsert(member(1, "a")));
  EXPECT_EQ(best_of(engine, pod), "b");
  Node tainted = node_of("b");
  tainted.taints = {{"maintenance", "", "NoSchedule"}};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(engine.upsert(tainted));
    EXPECT_EQ(best_of(engine, pod), "a") << "the only zone that takes part";
    ASSERT_TRUE(engine.upsert(node_of("b")));
    EXPECT_EQ(best_of(engine, pod), "b");
    engine.remove_node("b");
    EXPECT_EQ(best_of(engine, pod), "a") << "the only zone that there is";
    ASSERT_TRUE(engine.upsert(node_of("b")));
    EXPECT_EQ(best_of(engine, pod), "b");
  }
  EXPECT_TRUE(engine.validate());
}

// The zone that a volume asks for is none that nodes are in.
TEST(Applications, AVolumesZoneIsNoDomain) {
  Engine engine = make_engine();
  Node without_zone = node_of("c");
  without_zone.labels = {{kHost, "c"}};
  ASSERT_TRUE(engine.upsert(without_zone));
  ASSERT_TRUE(engine.upsert(ReferredObject(Service{"team", "store", StringMap{{"app", "store"}}})));
  ASSERT_TRUE(engine.upsert(member(1, "c")));
  PersistentVolume volume;
  volume.name = "empty";
  volume.node_affinity = {{{{{"topology.kubernetes.io/zone", "In", {""}}}, {}}}};
  const auto ask = [&] {
    EXPECT_TRUE(engine.evaluate(member(0)));
    const Result<void> valid = engine.validate();
    EXPECT_TRUE(valid) << valid.error().message;
    EXPECT_TRUE(engine.evaluate(member(0)));
  };
  ask();
  ASSERT_TRUE(engine.upsert(ReferredObject(volume)));
  engine.remove_pod("team", "store-1");
  ask();
  ASSERT_TRUE(engine.upsert(member(1, "c")));
  ask();
  engine.remove(ReferredKind::kPersistentVolume, "empty");
  Node another = node_of("d");
  ASSERT_TRUE(engine.upsert(another));
  ask();
  another.labels = {{kHost, "d"}, {"topology.kubernetes.io/zone", ""}};
  ASSERT_TRUE(engine.upsert(another));
  ask();
}

// What a pod that names its nodes asks of their labels besides.
TEST(Applications, APodThatNamesItsNodeCountsThereFromTheFirst) {
  Engine engine = make_engine();
  Node racked = node_of("a");
  racked.labels.emplace_back("rack", "r1");
  std::sort(racked.labels.begin(), racked.labels.end());
  ASSERT_TRUE(engine.upsert(racked));
  ASSERT_TRUE(engine.upsert(member(1, "a")));
  Pod pod = member(0);
  pod.required_node_affinity = {{{{{"rack", "In", {"r1"}}}, {{"metadata.name", "In", {"a"}}}}}};
  TopologySpreadConstraint constraint;
  constraint.hard = true;
  constraint.max_skew = 1;
  constraint.topology_key = "topology.kubernetes.io/zone";
  constraint.selector = LabelSelector{{"app", "In", {"store"}}};
  pod.topology_spread = {constraint};
  EXPECT_EQ(best_of(engine, pod), "a");
  engine.remove_pod("team", "store-1");
  EXPECT_EQ(best_of(engine, pod), "a");
  EXPECT_TRUE(engine.validate());
}

// A pod that keeps others of all namespaces of an environment away.
TEST(Applications, ANamespaceIsAnotherOneForWhomItsLabelsConcern) {
  Engine engine = make_engine();
  Pod hermit = member(1, "a");
  hermit.namespace_name = "hermits";
  hermit.labels.clear();
  hermit.pod_anti_affinity.required = {term_of("0")};
  hermit.pod_anti_affinity.required[0].namespace_selector = LabelSelector{{"env", "In", {"prod"}}};
  ASSERT_TRUE(engine.upsert(hermit));
  const auto feasible = [&] { return engine.evaluate(member(0)).value().feasible; };
  const auto label = [&](const char* name, const char* environment) {
    EXPECT_TRUE(engine.upsert(ReferredObject(Namespace{name, {{"env", environment}}})));
  };
  EXPECT_EQ(feasible(), 2u);
  label("others", "prod");
  EXPECT_EQ(feasible(), 2u);
  label("team", "prod");
  EXPECT_EQ(feasible(), 1u);
  label("team", "test");
  EXPECT_EQ(feasible(), 2u);
  label("team", "prod");
  EXPECT_EQ(feasible(), 1u);
  engine.remove(ReferredKind::kNamespace, "team");
  EXPECT_EQ(feasible(), 2u);
  // The other way round: its own term says which namespaces it means.
  Pod pod = member(2);
  pod.pod_anti_affinity.required = {term_of("0")};
  pod.pod_anti_affinity.required[0].namespace_selector = LabelSelector{{"env", "In", {"prod"}}};
  Pod sibling = member(0, "b");
  sibling.namespace_name = "others";
  ASSERT_TRUE(engine.upsert(sibling));
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 1u);
  label("others", "test");
  EXPECT_EQ(engine.evaluate(pod).value().feasible, 2u);
  EXPECT_TRUE(engine.validate());
}

}  // namespace
}  // namespace headroom::applications_test
