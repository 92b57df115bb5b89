// Nodes that stand apart from others of their class, as each has pods of its own: all of them
// rejected, which every answer says, where normalised scores are kept as well; or as good as
// others.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "tests/support/objects.h"

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
  return headroom::pod_of("team", name, cores(1), {.node_name = node});
}

Pod noise_on(int n) {
  Pod pod = pod_of("noise-" + std::to_string(n), "node-" + std::to_string(n));
  pod.labels = {{"app", "noise"}};
  return pod;
}

void tell_nodes(Engine& engine) {
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "node-" + std::to_string(n);
    ASSERT_TRUE(engine.upsert(node_of(name, cores(8), {{kHost, name}})));
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

// A node that soft spreading counts no longer passes, and one that it ignores, as it has no zone,
// does: as many rows pass as before, and another number of them is counted.
TEST(RowsApart, CountedAndIgnoredOnesChangePlaces) {
  const std::string zone = "topology.kubernetes.io/zone";
  const auto make = [&](bool shape_cache) {
    Result<Engine> made =
        Engine::create(Profile::kube_scheduler(), {.shape_cache = shape_cache, .threads = 1});
    if (!made) throw std::invalid_argument(made.error().message);
    Engine engine = std::move(*made);
    for (int n = 0; n < 14; ++n) {
      const std::string name = "node-" + std::to_string(n);
      Node node = node_of(name, cores(64), {{kHost, name}});
      if (n < 6 || n >= 10) node.labels.emplace_back(zone, n % 2 == 0 ? "a" : "b");
      EXPECT_TRUE(engine.upsert(node));
    }
    for (int n = 0; n < 5; ++n) {
      for (int p = 0; p < 3 * n; ++p) {
        Pod pod = pod_of("web-" + std::to_string(100 * n + p), "node-" + std::to_string(n));
        pod.containers.clear();
        pod.labels = {{"app", "web"}};
        EXPECT_TRUE(engine.upsert(pod));
      }
    }
    EXPECT_TRUE(engine.upsert(noise_on(5)));
    EXPECT_TRUE(engine.upsert(noise_on(9)));
    return engine;
  };
  Pod pod = pod_of("asks");
  PodAffinityTerm& term = pod.pod_anti_affinity.required.emplace_back();
  term.selector = LabelSelector{{"app", "In", {"noise"}}};
  term.topology_key = kHost;
  for (const std::string& key : {kHost, zone}) {
    TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
    constraint.max_skew = 1;
    constraint.topology_key = key;
    constraint.selector = LabelSelector{{"app", "In", {"web"}}};
  }
  Engine cached = make(true), plain = make(false);
  for (const bool changed : {false, true}) {
    for (Engine* engine : {&cached, &plain}) {
      if (!changed) continue;
      ASSERT_TRUE(engine->upsert(noise_on(6)));
      engine->remove_pod("team", "noise-5");
    }
    const Decision with = cached.evaluate(pod, {.top_k = 16}).value();
    const Decision without = plain.evaluate(pod, {.top_k = 16}).value();
    ASSERT_EQ(with.candidates.size(), without.candidates.size());
    for (std::size_t c = 0; c < with.candidates.size(); ++c) {
      EXPECT_EQ(cached.node_name(with.candidates[c].node),
                plain.node_name(without.candidates[c].node));
      EXPECT_EQ(with.candidates[c].total, without.candidates[c].total) << "candidate " << c;
    }
  }
}

// Nodes with pods of the application, as good as others without, or better as the pod prefers them:
// each stands where its total and the order between equals have it, among the best few as among
// all.
TEST(RowsApart, AreInTheirPlaceAmongTheBest) {
  constexpr int kMany = 45, kSkew = 5;
  constexpr std::uint32_t kFewMax = 16;
  const auto name_of = [](int n) { return "node-" + std::to_string(n); };
  for (const auto& [seed, prefers] : {std::pair(0U, false), {7U, false}, {0U, true}, {7U, true}}) {
    Engine engine = Engine::create(Profile::kube_scheduler(), {.threads = 1, .seed = seed}).value();
    for (int n = 0; n < kMany; ++n) {
      const Node node = node_of(name_of(n), cores(64), {{kHost, name_of(n)}});
      ASSERT_TRUE(engine.upsert(node));
      // Several nodes of each total, with pods of the application and without.
      Pod filler = pod_of("filler-" + std::to_string(n), node.name);
      filler.containers[0].requests = cores(1 + 2 * (n / 2 % 15));
      ASSERT_TRUE(engine.upsert(filler));
      // The first has too many to be given another.
      for (int w = n == 0 ? kSkew : n % 3 == 0 ? 1 : 0; w > 0; --w) {
        Pod web = pod_of(node.name + "-web-" + std::to_string(w), node.name);
        web.containers.clear();
        web.labels = {{"app", "web"}};
        ASSERT_TRUE(engine.upsert(web));
      }
    }
    Pod pod = pod_of("asks");
    pod.labels = {{"app", "web"}};
    TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
    constraint.hard = true;
    constraint.max_skew = kSkew;
    constraint.topology_key = kHost;
    constraint.selector = LabelSelector{{"app", "In", {"web"}}};
    if (prefers) {
      PodAffinityTerm& term = pod.pod_affinity.preferred.emplace_back();
      term.selector = constraint.selector;
      term.topology_key = kHost;
      term.weight = 1;
    }
    const Decision all = engine.evaluate(pod, {.top_k = kMany}).value();
    ASSERT_EQ(all.candidates.size(), kMany - 1);
    for (std::uint32_t few = 1; few <= kFewMax; ++few) {
      const Decision best = engine.evaluate(pod, {.top_k = few}).value();
      ASSERT_EQ(best.candidates.size(), few);
      for (std::size_t c = 0; c < few; ++c) {
        EXPECT_EQ(best.candidates[c].node, all.candidates[c].node) << c << " of " << few;
        EXPECT_EQ(best.candidates[c].total, all.candidates[c].total) << c << " of " << few;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::rows_apart_test
