// Properties of the engine over random profiles, clusters and sequences of events: it agrees with
// the oracle and with itself in every configuration (instruction sets, cache, threads), its state
// depends on facts alone, and it goes on from a state file as if nothing had happened.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/random/random_cluster.h"
#include "tests/engine/random/script_runner.h"
#include "tests/support/seed.h"

namespace headroom {
namespace {

using nlohmann::json;

// Of the rounds that a release build runs.
int rounds(int in_release) { return std::max(1, in_release * HEADROOM_ROUNDS_PERCENT / 100); }

// A question about one node without some pods and with others, which it may have or wait for.
json as_if(Draws& draws, RandomCluster& cluster) {
  json without = json::array(), with = json::array();
  for (std::uint64_t p = draws.below(6); p > 0; --p) {
    const std::string name = cluster.pod_name();
    without.push_back(cluster.namespace_of(name) + "/" + name);
  }
  for (std::uint64_t p = draws.below(3); p > 0; --p) {
    // Each once: of two objects of one pod the first would count.
    json pod = cluster.named_pod_to_place();
    const bool again = std::any_of(with.begin(), with.end(), [&](const json& other) {
      return other.at("metadata").at("name") == pod.at("metadata").at("name");
    });
    if (!again) with.push_back(std::move(pod));
  }
  return {{"op", "as_if"},
          {"pod", draws.one_in(2) ? cluster.pod_to_place() : cluster.named_pod_to_place()},
          {"node", cluster.node_name()},
          {"without", without},
          {"with", with}};
}

// A fork, or the end of one; they nest.
json fork_step(Draws& draws, RandomCluster& cluster) {
  if (!draws.one_in(2)) return {{"op", draws.one_in(3) ? "commit" : "rollback"}};
  json pods = json::array();
  for (std::uint64_t p = 1 + draws.below(2); p > 0; --p) {
    pods.push_back(draws.one_in(2) ? cluster.pod_to_place() : cluster.named_pod_to_place());
  }
  return {{"op", "fork"}, {"pods", pods}, {"look", draws.one_in(2)}};
}

// The state is checked after each event, or now and then: in bulk a look makes the engine derive
// what the events before it changed, so that both have to be tried. At the end all engines are
// validated.
json random_script(Draws& draws, const Profile& profile, int events) {
  RandomCluster cluster(draws, profile);
  const bool check_often = draws.one_in(2);
  json script = json::array();
  script.push_back({{"op", "advance"}, {"now", cluster.now()}});
  for (int e = 0; e < events; ++e) {
    script.push_back(cluster.event());
    if (draws.one_in(3)) script.push_back({{"op", "audit"}, {"pieces", 1 + draws.below(30)}});
    if (check_often || draws.one_in(10)) script.push_back({{"op", "check"}});
    if (draws.one_in(3)) script.push_back({{"op", "schedule"}, {"pod", cluster.pod_to_place()}});
    if (profile.capacity_scheduling && draws.one_in(5)) {
      script.push_back({{"op", "preempt"}, {"pod", cluster.named_pod_to_place()}});
    }
    if (draws.one_in(4)) script.push_back(as_if(draws, cluster));
    if (draws.one_in(6)) {
      script.push_back(
          {{"op", "prepare"}, {"pod", cluster.pod_to_place()}, {"pieces", 1 + draws.below(6)}});
    }
    if (draws.one_in(8)) script.push_back(fork_step(draws, cluster));
    if (draws.one_in(12)) script.push_back({{"op", "save"}, {"but", draws.below(3)}});
    if (!draws.one_in(20)) continue;
    json pods = json::array();
    for (std::uint64_t p = 1 + draws.below(5); p > 0; --p)
      pods.push_back(cluster.named_pod_to_place());
    script.push_back({{"op", draws.one_in(2) ? "place" : "evaluate"}, {"pods", pods}});
  }
  script.push_back({{"op", "check"}, {"all", true}});
  return script;
}

TEST(EngineProperty, AgreesWithTheOracleInEveryConfiguration) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(120); ++round) {
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const RandomProfile random = random_profile(draws);
    const json script = random_script(draws, random.profile, 120);
    if (run_script(random, script)) {
      FAIL() << "round " << round << ", HEADROOM_SEED=" << seed + static_cast<std::uint64_t>(round)
             << "\n"
             << failure_report(random, script);
    }
  }
}

}  // namespace
}  // namespace headroom
