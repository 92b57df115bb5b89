// Topology keys of more domains than classes of nodes tell apart (kClassDomainsMax) that are not
// the hostname: engine and oracle agree before a key has so many, beyond, and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "oracle/default/default_profile.h"
#include "tests/engine/random/random_cluster.h"

namespace headroom::many_domains_test {
namespace {

using nlohmann::json;

constexpr int kRacks = 2'048;  // as many as classes tell apart
constexpr std::uint32_t kBest = 40;
const json kSelector = {{"matchLabels", {{"app", "store"}}}};

json object_of(const char* kind, const std::string& name) {
  json made = {{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (kind == std::string("Pod")) {
    made["metadata"]["namespace"] = "team";
    made["metadata"]["labels"]["app"] = "store";
    made["spec"]["containers"] = {{{"name", "c"}}};
  }
  return made;
}

// A node in that rack, mostly one of its own.
json node_of(int number, int rack) {
  json made = object_of("Node", "n" + std::to_string(number));
  made["metadata"]["labels"] = {{"rack", "r" + std::to_string(rack)},
                                {"topology.kubernetes.io/zone", "z" + std::to_string(number % 3)}};
  made["status"]["allocatable"] = {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "110"}};
  return made;
}

json node_of(int number) { return node_of(number, number); }

json constraint_of(const char* when, int max_skew) {
  return {{"topologyKey", "rack"},
          {"maxSkew", max_skew},
          {"whenUnsatisfiable", when},
          {"labelSelector", kSelector}};
}

json spread(const char* when, int max_skew) {
  json pod = object_of("Pod", "asked");
  pod["spec"]["topologySpreadConstraints"] = json::array({constraint_of(when, max_skew)});
  return pod;
}

json without_rack(int number) {
  json made = node_of(number);
  made["metadata"]["labels"].erase("rack");
  return made;
}

json affinity(const char* kind) {
  const json term = {{"topologyKey", "rack"}, {"labelSelector", kSelector}};
  json pod = object_of("Pod", "asked");
  pod["spec"]["affinity"][kind] = {
      {"requiredDuringSchedulingIgnoredDuringExecution", json::array({term})},
      {"preferredDuringSchedulingIgnoredDuringExecution",
       {{{"weight", 10}, {"podAffinityTerm", term}}}}};
  return pod;
}

class ManyDomains : public testing::Test {
 protected:
  ManyDomains()
      : engine_(Engine::create(Profile::kube_scheduler(), {.threads = 1}).value()),
        profile_(oracle::Version::k137) {}

  void tell(const char* op, const json& object) {
    const json event = {{"op", op}, {"object", object}};
    const Result<void> applied = apply_event(engine_, event);
    ASSERT_TRUE(applied) << applied.error().message;
    op == std::string("apply") ? facts_.apply(object) : facts_.remove(object);
  }
  void bind(const std::string& name, int node) {
    json pod = object_of("Pod", name);
    pod["spec"]["nodeName"] = "n" + std::to_string(node);
    tell("apply", pod);
  }
  // Each node's total, or the code that it is rejected with; and the best totals.
  void expect_the_oracles(const json& object) {
    const oracle::defaults::ProfileAnswer answer =
        profile_.schedule(facts_, oracle::defaults::read_pod(object));
    std::map<std::string, std::string> expected, came;
    for (const auto& [node, status] : answer.filter) {
      expected[node] = status.code == oracle::Code::kSuccess
                           ? std::to_string(answer.totals.at(node))
                           : to_string(status.code);
    }
    const Pod pod = to_pod(object);
    // From the cache, where it looks at few nodes.
    const Result<Decision> decision = engine_.evaluate(pod, {.top_k = kBest});
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_EQ(decision->feasible, answer.totals.size());
    std::vector<std::int64_t> best, came_best;
    for (const auto& node : answer.totals) best.push_back(node.second);
    std::sort(best.rbegin(), best.rend());
    best.resize(std::min<std::size_t>(best.size(), kBest));
    for (const NodeScore& node : decision->candidates) came_best.push_back(node.total);
    EXPECT_EQ(best, came_best) << object.dump();
    const Result<std::vector<NodeDetail>> details = engine_.evaluate_all(pod);
    ASSERT_TRUE(details) << details.error().message;
    for (const NodeDetail& detail : *details) {
      came[std::string(engine_.node_name(detail.node))] =
          detail.code == Code::kSuccess ? std::to_string(detail.total) : to_string(detail.code);
    }
    // The first that differs: there are thousands.
    const auto differs = std::mismatch(expected.begin(), expected.end(), came.begin(), came.end());
    EXPECT_EQ(expected.size(), came.size());
    if (differs.first != expected.end() && differs.second != came.end()) {
      ADD_FAILURE() << differs.first->first << ": " << differs.first->second << ", came "
                    << differs.second->second << "\n"
                    << object.dump();
    }
  }
  void expect_all_the_oracles() {
    for (const json& pod :
         {spread("ScheduleAnyway", 1), spread("DoNotSchedule", 1), spread("DoNotSchedule", 2),
          affinity("podAffinity"), affinity("podAntiAffinity")}) {
      expect_the_oracles(pod);
    }
    EXPECT_TRUE(engine_.validate());
  }

  Engine engine_;
  oracle::defaults::DefaultProfile profile_;
  oracle::defaults::Facts facts_;
};

TEST_F(ManyDomains, TheOracleAgreesOnBothSidesOfTheLimit) {
  for (int n = 0; n < kRacks; ++n) tell("apply", node_of(n));
  for (int p = 0; p < 9; ++p) bind("p" + std::to_string(p), p * p * p);
  expect_all_the_oracles();
  for (int n = kRacks; n < kRacks + 2; ++n) tell("apply", node_of(n));
  expect_all_the_oracles();
  bind("late", kRacks);
  bind("again", 8);
  expect_all_the_oracles();
  // Into another rack, and into none.
  tell("apply", node_of(8, 27));
  expect_all_the_oracles();
  tell("apply", without_rack(27));
  expect_all_the_oracles();
  tell("apply", node_of(27));
  tell("apply", node_of(8));
  tell("delete", node_of(kRacks + 1));
  tell("delete", node_of(7));
  expect_all_the_oracles();
}

// No pod goes with it, and no class of nodes tells.
TEST_F(ManyDomains, ANodeMovesToARackWithAPod) {
  for (int n = 0; n < kRacks + 2; ++n) tell("apply", node_of(n));
  bind("there", 64);
  const json asked = affinity("podAntiAffinity");
  expect_the_oracles(asked);
  tell("apply", node_of(9, 64));
  expect_the_oracles(asked);
  tell("apply", node_of(9));
  expect_the_oracles(asked);
  EXPECT_TRUE(engine_.validate());
}

// Each rack has a pod, so that the answer is another one where there are too few racks: every node
// counts that is in one, and no other.
TEST_F(ManyDomains, RacksAreCountedOnBothSidesOfTheLimit) {
  json asked = spread("DoNotSchedule", 1);
  asked["spec"]["topologySpreadConstraints"][0]["minDomains"] = kRacks;
  for (int n = 0; n < kRacks + 2; ++n) {
    tell("apply", node_of(n));
    bind("p" + std::to_string(n), n);
  }
  tell("apply", without_rack(27));
  expect_the_oracles(asked);  // one more than is asked for
  tell("delete", node_of(kRacks + 1));
  expect_the_oracles(asked);
  tell("delete", node_of(7));
  expect_the_oracles(asked);  // too few
  tell("apply", node_of(27));
  expect_the_oracles(asked);
  EXPECT_TRUE(engine_.validate());
}

}  // namespace
}  // namespace headroom::many_domains_test
