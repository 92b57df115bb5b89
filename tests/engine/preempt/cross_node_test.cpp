// Cross-node preemption where pods ask for others: who goes elsewhere changes what the node's
// filters count.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/draws.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace headroom::cross_node_test {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";

Engine create() {
  Profile profile = Profile::kube_scheduler();
  profile.mode = Mode::kProposal;
  profile.capacity_scheduling = true;
  profile.capacity_scheduling_args.cross_node_preemption = true;
  return Engine::create(profile).value();
}

Node node_in(const std::string& zone, const std::string& name) {
  return node_of(name, cores(8), {{kHostname, name}, {kZone, zone}});
}

Pod pod_of(const std::string& name, const std::string& app, std::int32_t priority, std::int64_t cpu,
           const std::string& node = "") {
  return headroom::pod_of("team", name, cores(cpu),
                          {.node_name = node, .labels = {{"app", app}}, .priority = priority});
}

PodAffinityTerm near(const std::string& app, const char* key) {
  PodAffinityTerm term;
  term.selector = LabelSelector{{"app", "In", {app}}};
  term.topology_key = key;
  return term;
}

TopologySpreadConstraint spread(const std::string& app, const char* key) {
  TopologySpreadConstraint constraint;
  constraint.hard = true;
  constraint.max_skew = 1;
  constraint.topology_key = key;
  constraint.selector = LabelSelector{{"app", "In", {app}}};
  return constraint;
}

// "n1: a b", or "".
std::string answer_of(Engine& engine, const Pod& pod) {
  const PostFilter answer = engine.post_filter(pod).value();
  if (answer.code != Code::kSuccess) return "";
  std::string text = std::string(engine.node_name(answer.nominated_node)) + ":";
  for (const Victim& victim : answer.victims) text += " " + victim.name;
  return text;
}

// The quota has room once 2 cores are free. `web` wants to be near `db`, which is less important
// than `other`.
TEST(CrossNode, WhomThePodIsNearStays) {
  Engine engine = create();
  tell(engine, elastic_quota("team", 6, 6), node_in("z1", "n1"), node_in("z1", "n2"),
       node_in("z2", "n3"), pod_of("db", "db", 0, 4, "n2"), pod_of("other", "other", 1, 2, "n3"));
  Pod web = pod_of("web", "web", 100, 2);
  web.pod_affinity.required = {near("db", kZone)};
  // One node's own pods first: on n2 there is `db` alone, without which it does not pass.
  EXPECT_EQ("n1: other", answer_of(engine, web));
  engine.remove_pod("team", "other");
  EXPECT_EQ("", answer_of(engine, web));
}

// A pod of z2 that goes lowers the least of the domains: z1 would be skewed.
TEST(CrossNode, WhomThePodIsSpreadByStays) {
  Engine engine = create();
  Node tainted = node_in("z2", "n2");
  tainted.taints = {{"maintenance", "", "NoSchedule"}};
  tell(engine, elastic_quota("team", 4, 4), node_in("z1", "n1"), tainted,
       pod_of("a", "web", 200, 2, "n1"), pod_of("b", "web", 0, 2, "n2"));
  Pod web = pod_of("c", "web", 100, 2);
  web.topology_spread = {spread("web", kZone)};
  EXPECT_EQ("", answer_of(engine, web));
  web.topology_spread[0].max_skew = 2;
  EXPECT_EQ("n1: b", answer_of(engine, web));
}

// Whatever the cluster, the node that is named takes the pod once the victims are gone.
TEST(CrossNode, TheNodeTakesThePodOnceTheVictimsAreGone) {
  constexpr std::array<const char*, 3> kApps = {"a", "b", "c"};
  constexpr std::array<const char*, 2> kKeys = {kZone, kHostname};
  const std::uint64_t seed = test_seed();
  int across = 0;
  for (std::uint64_t round = 0; round < 400; ++round) {
    Draws draws(seed + round);
    Engine engine = create();
    std::vector<std::string> names;
    const auto nodes = static_cast<int>(draws.between(2, 5));
    for (int n = 0; n < nodes; ++n) {
      Node node = node_in("z" + std::to_string(draws.below(3)), "n" + std::to_string(n));
      if (draws.one_in(5)) node.taints = {{"maintenance", "", "NoSchedule"}};
      tell(engine, node);
      names.push_back(node.name);
    }
    const auto asks = [&](Pod& pod) {
      if (draws.one_in(3)) pod.topology_spread = {spread(draws.pick(kApps), draws.pick(kKeys))};
      if (draws.one_in(3)) pod.pod_affinity.required = {near(draws.pick(kApps), draws.pick(kKeys))};
      if (draws.one_in(3)) {
        pod.pod_anti_affinity.required = {near(draws.pick(kApps), draws.pick(kKeys))};
      }
    };
    std::int64_t used = 0;
    for (int p = 0; p < 3 * nodes; ++p) {
      const std::int64_t cpu = draws.between(1, 2);
      used += cpu;
      Pod pod = pod_of("p" + std::to_string(p), draws.pick(kApps),
                       static_cast<std::int32_t>(draws.below(3)), cpu, draws.pick(names));
      if (draws.one_in(3)) asks(pod);
      tell(engine, pod);
    }
    tell(engine, elastic_quota("team", used + 1, used + 1));
    for (int asked = 0; asked < 4; ++asked) {
      Pod pod = pod_of("asked", draws.pick(kApps), 100, draws.between(2, 6));
      asks(pod);
      const PostFilter answer = engine.post_filter(pod).value();
      if (answer.code != Code::kSuccess) continue;
      across += answer.cross_node ? 1 : 0;
      engine.fork();
      for (const Victim& victim : answer.victims) {
        engine.remove_pod(victim.namespace_name, victim.name);
      }
      const std::string node(engine.node_name(answer.nominated_node));
      EXPECT_EQ(Code::kSuccess, engine.pre_filter(pod)->code);
      EXPECT_EQ(Code::kSuccess, engine.filter(pod, node)->code)
          << "round " << round << ", HEADROOM_SEED=" << seed + round << ", " << node
          << (answer.cross_node ? " across nodes" : "");
      engine.rollback();
    }
  }
  EXPECT_LT(20, across);
}

}  // namespace
}  // namespace headroom::cross_node_test
