// Attack "one pod": a single pod of a tenant that says much of what is multiplied. A thousand
// resources in each of a thousand containers took seconds, in which nobody else was served; so did
// thousands of spread constraints, and of preferred terms, each held against every class of nodes;
// and a topology key that no node has took memory for each row.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "engine/limits.h"
#include "tests/support/objects.h"

namespace headroom::one_pod_test {
namespace {

constexpr int kNodes = 2000;

Engine make_engine() {
  Engine engine = *Engine::create(Profile::kube_scheduler(), {.threads = 1});
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    EXPECT_TRUE(engine.upsert(node_of(name, cores(64), {{"kubernetes.io/hostname", name}})));
  }
  return engine;
}

Pod pod_of(const std::string& name) {
  Pod pod;
  pod.namespace_name = "evil";
  pod.name = pod.uid = name;
  return pod;
}

// So many resources, 64 in a container, some of which are sidecars.
Pod with_resources(int count) {
  Pod pod = pod_of("resources");
  for (int r = 0; r < count; ++r) {
    if (r % 64 == 0) {
      pod.init_containers.emplace_back().restart_always = true;
      pod.init_containers.emplace_back();
    }
    pod.init_containers[pod.init_containers.size() - 2].requests.emplace_back(
        "evil.example/r" + std::to_string(1000 + r), Quantity::from_value(1));
  }
  return pod;
}

Pod with_constraints(std::size_t count, const std::string& key) {
  Pod pod = pod_of("spread");
  for (std::size_t c = 0; c < count; ++c) {
    TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
    constraint.topology_key = key + std::to_string(c);
    constraint.selector.emplace();
  }
  return pod;
}

std::string error_of(Engine& engine, const Pod& pod) {
  const Result<Decision> decision = engine.evaluate(pod);
  return decision ? "none" : decision.error().message;
}

TEST(OnePod, NamesNoMoreResourcesThanTheLimit) {
  Engine engine = make_engine();
  EXPECT_EQ(error_of(engine, with_resources(kResourcesPerPodMax + 1)),
            "Pod evil/resources: spec.initContainers[].resources.requests.evil.example/r1128:"
            " kResourcesPerPodMax (128) other resources are named");
  // As many are summed up; that no decision checks so many is another limit.
  EXPECT_EQ(error_of(engine, with_resources(kResourcesPerPodMax)),
            "Pod evil/resources: its filters check 129 things, kFilterTermsMax is 31");
  Pod bound = with_resources(kResourcesPerPodMax + 1);
  bound.node_name = "n0";
  EXPECT_EQ(engine.upsert(bound).error().code, ErrorCode::kLimitExceeded);
  bound = with_resources(kResourcesPerPodMax);
  bound.node_name = "n0";
  EXPECT_TRUE(engine.upsert(bound));
  EXPECT_TRUE(engine.validate());
}

TEST(OnePod, HasNoMoreTermsThanTheLimit) {
  Engine engine = make_engine();
  EXPECT_EQ(error_of(engine, with_constraints(kTermsPerListMax, "k")), "none");
  EXPECT_EQ(error_of(engine, with_constraints(kTermsPerListMax + 1, "k")),
            "Pod evil/spread: spec.topologySpreadConstraints: 257 terms, kTermsPerListMax is 256");
  const auto refused = [&](auto list) {
    Pod pod = pod_of("terms");
    list(pod).resize(kTermsPerListMax + 1);
    return error_of(engine, pod).find("kTermsPerListMax") != std::string::npos;
  };
  EXPECT_TRUE(refused([](Pod & pod) -> auto& { return pod.preferred_node_affinity; }));
  EXPECT_TRUE(refused([](Pod & pod) -> auto& { return pod.pod_affinity.required; }));
  EXPECT_TRUE(refused([](Pod & pod) -> auto& { return pod.pod_affinity.preferred; }));
  EXPECT_TRUE(refused([](Pod & pod) -> auto& { return pod.pod_anti_affinity.required; }));
  EXPECT_TRUE(refused([](Pod & pod) -> auto& { return pod.pod_anti_affinity.preferred; }));
}

// Each would be 24 KB of rows.
TEST(OnePod, TakesNoRowsForKeysThatNoNodeHas) {
  Engine engine = make_engine();
  ASSERT_EQ(error_of(engine, with_constraints(1, "first")), "none");
  const auto used = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  };
  const std::int64_t before = used();
  ASSERT_EQ(error_of(engine, with_constraints(kTermsPerListMax, "k")), "none");
  EXPECT_LT(used() - before, std::int64_t{kTermsPerListMax} * kNodes * 12 / 2);
  // One that gets such a label is found.
  ASSERT_TRUE(engine.upsert(node_of("labelled", cores(64), {{"k0", "v"}, {"k1", "v"}})));
  Pod hard = with_constraints(2, "k");
  for (TopologySpreadConstraint& constraint : hard.topology_spread) constraint.hard = true;
  const Result<Decision> decision = engine.evaluate(hard);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->feasible, 1U);
  EXPECT_TRUE(engine.validate());
}

// A preferred term for each of many hostnames tells their nodes apart, and is held against each.
TEST(OnePod, ItsPreferencesAreHeldAgainstNodesInTurns) {
  Engine engine = make_engine(), at_once = make_engine();
  Pod pod = pod_of("prefers");
  for (std::size_t t = 0; t < kTermsPerListMax; ++t) {
    PreferredSchedulingTerm& preferred = pod.preferred_node_affinity.emplace_back();
    preferred.weight = 1 + static_cast<std::int32_t>(t % 100);
    preferred.preference.match_expressions = {
        {"kubernetes.io/hostname", "In", {"n" + std::to_string(t), "n" + std::to_string(t + 7)}}};
  }
  std::uint32_t pieces = 0;
  const Pause always = [&pieces] { return ++pieces != 0; };
  Result<bool> prepared = engine.prepare(pod, always);
  std::uint32_t turns = 1;
  for (; prepared && !*prepared; ++turns) prepared = engine.prepare(pod, always);
  ASSERT_TRUE(prepared);
  // 263 nodes get classes of their own, a piece each; then terms are held against these, 1,024 a
  // piece.
  EXPECT_GT(turns, 263 + kTermsPerListMax * 263 / 1024);
  const Result<Decision> in_turns = engine.evaluate(pod), whole = at_once.evaluate(pod);
  ASSERT_TRUE(in_turns && whole);
  ASSERT_EQ(in_turns->candidates.size(), whole->candidates.size());
  for (std::size_t c = 0; c < whole->candidates.size(); ++c) {
    EXPECT_EQ(in_turns->candidates[c].node, whole->candidates[c].node);
    EXPECT_EQ(in_turns->candidates[c].total, whole->candidates[c].total);
  }
}

}  // namespace
}  // namespace headroom::one_pod_test
