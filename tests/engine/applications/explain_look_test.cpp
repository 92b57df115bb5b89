// What explain() says of pods that others ask for or keep away: how many, which, and why.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"

namespace headroom::explain_look_test {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kZone = "topology.kubernetes.io/zone";

Node node_of(const std::string& name) {
  return headroom::node_of(name, cores(8), {{kHost, name}, {kZone, "z1"}});
}

Pod pod_of(const std::string& name, const std::string& node = "") {
  return headroom::pod_of("team", name, cores(1),
                          {.node_name = node, .labels = {{"app", "store"}}});
}

PodAffinityTerm term_of(const char* key, std::int32_t weight = 0) {
  PodAffinityTerm term;
  term.selector = LabelSelector{{"app", "In", {"store"}}};
  term.topology_key = key;
  term.weight = weight;
  return term;
}

class ExplainLook : public testing::Test {
 protected:
  ExplainLook() : engine_(Engine::create(Profile::kube_scheduler()).value()) {
    tell(engine_, node_of("n1"), node_of("n2"));
  }
  // "result passed note" of the plugin's first line there; "" without one.
  std::string line_of(const Pod& pod, PluginId plugin, const char* point) {
    const Explanation explanation = engine_.explain(pod, "n1").value();
    for (const ExplainTerm& line : explanation.terms) {
      if (line.plugin == plugin && line.extension_point == point) {
        return std::to_string(line.result) + (line.passed ? " " : " rejects ") + line.note;
      }
    }
    return "";
  }

  Engine engine_;
};

TEST_F(ExplainLook, NamesThePodsThatCount) {
  tell(engine_, pod_of("b", "n1"), pod_of("a", "n1"), pod_of("c", "n2"));
  Pod pod = pod_of("asked");
  pod.pod_anti_affinity.required = {term_of(kHost)};
  EXPECT_EQ("2 rejects 2 pods: team/a, team/b",
            line_of(pod, PluginId::kInterPodAffinity, "Filter"));
  pod.pod_anti_affinity = {};
  pod.pod_affinity.preferred = {term_of(kZone, 50)};
  EXPECT_EQ("150 3 pods: team/a 50, team/b 50, team/c 50",
            line_of(pod, PluginId::kInterPodAffinity, "Score"));
  pod.pod_affinity = {};
  TopologySpreadConstraint constraint;
  constraint.hard = true;
  constraint.max_skew = 1;
  constraint.topology_key = kHost;
  constraint.selector = term_of(kHost).selector;
  pod.topology_spread = {constraint};
  EXPECT_EQ("2 rejects least 1 in 2 domains; here 2 pods: team/a, team/b",
            line_of(pod, PluginId::kPodTopologySpread, "Filter"));
}

TEST_F(ExplainLook, NamesNoMoreThanEight) {
  for (int i = 0; i < 9; ++i) tell(engine_, pod_of("p" + std::to_string(i), "n1"));
  Pod pod = pod_of("asked");
  pod.pod_anti_affinity.required = {term_of(kHost)};
  EXPECT_EQ(
      "9 rejects 9 pods: team/p0, team/p1, team/p2, team/p3, team/p4, team/p5, team/p6, team/p7, "
      "...",
      line_of(pod, PluginId::kInterPodAffinity, "Filter"));
}

// The decision is Unschedulable: what it counts is shown, not what is there without them.
TEST_F(ExplainLook, CountsNominatedPodsWhereTheyAreTheReason) {
  Pod promised = pod_of("promised");
  promised.nominated_node_name = "n1";
  promised.priority = 10;
  tell(engine_, promised);
  Pod pod = pod_of("asked");
  pod.pod_anti_affinity.required = {term_of(kHost)};
  EXPECT_EQ(Code::kUnschedulable, engine_.explain(pod, "n1")->code);
  EXPECT_EQ("1 rejects 1 pod: team/promised; with the pods that are nominated here",
            line_of(pod, PluginId::kInterPodAffinity, "Filter"));
  // Without whom it passes as well: they are not spoken of.
  pod.pod_anti_affinity = {};
  pod.pod_affinity.required = {term_of(kHost)};
  EXPECT_EQ("0 no pod matches anywhere, and this one matches its own terms",
            line_of(pod, PluginId::kInterPodAffinity, "Filter"));
}

TEST_F(ExplainLook, SaysWhichFeaturesTheNodeLacks) {
  Pod pod = pod_of("asked");
  pod.required_features = {"InPlace", "UserNamespaces"};
  Node node = node_of("n1");
  node.declared_features = {"InPlace"};
  tell(engine_, node);
  EXPECT_EQ("0 rejects does not declare UserNamespaces",
            line_of(pod, PluginId::kNodeDeclaredFeatures, "Filter"));
  EXPECT_NE(Code::kSuccess, engine_.filter(pod, "n1")->code);
  node.declared_features = {"InPlace", "UserNamespaces"};
  tell(engine_, node);
  EXPECT_EQ("0 declares InPlace, UserNamespaces",
            line_of(pod, PluginId::kNodeDeclaredFeatures, "Filter"));
  EXPECT_EQ(Code::kSuccess, engine_.filter(pod, "n1")->code);
}

// What a score is the sum of.
TEST_F(ExplainLook, GivesEachPreferenceALineOfItsOwn) {
  Pod pod = pod_of("asked");
  pod.preferred_node_affinity = {{30, {{{"topology.kubernetes.io/zone", "In", {"z1"}}}, {}}},
                                 {20, {{{"topology.kubernetes.io/zone", "In", {"z2"}}}, {}}}};
  std::string results;
  const Explanation explanation = engine_.explain(pod, "n1").value();
  for (const ExplainTerm& line : explanation.terms) {
    if (line.plugin == PluginId::kNodeAffinity && line.extension_point == "Score") {
      results += std::to_string(line.result) + " (" + line.note + ") ";
    }
  }
  EXPECT_EQ("30 (weight 30) 0 (weight 20) 30 (normalised 100, weight 2) ", results);
}

}  // namespace
}  // namespace headroom::explain_look_test
