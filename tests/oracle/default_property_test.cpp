// What must hold for the oracle of the default plugins on any cluster, over random applications and
// events. The engine's property tests compare with it; these look at the oracle itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "oracle/default/default_preemption.h"
#include "tests/support/random_applications.h"
#include "tests/support/seed.h"

namespace default_property_test {
namespace {

using headroom::Draws;
using headroom::RandomApplications;
using oracle::child;
using oracle::Code;
using oracle::Json;
using oracle::Version;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::Pod;
using oracle::defaults::ProfileAnswer;
using oracle::defaults::read_pod;

constexpr std::uint64_t kClusters = 30;
constexpr int kSteps = 25;

void perform(const DefaultProfile& profile, Facts& facts, const Json& step) {
  const std::string op = step.at("op");
  if (op == "apply") facts.apply(step.at("object"));
  if (op == "delete") facts.remove(step.at("object"));
  if (op == "reserve") profile.reserve(facts, step.at("pod"), step.at("node"));
  if (op == "unreserve") facts.unreserve(step.at("pod"), step.at("node"));
}

// All but `best`, which depends on the order of nodes where totals tie.
std::string text_of(const ProfileAnswer& answer) {
  Json json{{"scores", answer.plugin_scores}, {"totals", answer.totals}};
  for (const auto& [node, status] : answer.filter) {
    json["filter"][node] = {to_string(status.code), status.reasons, status.plugin};
  }
  return json.dump();
}

struct Seen {
  int placed = 0, rejected = 0, preempted = 0;
  std::map<std::string, int> plugins;  // that rejected, or scored unequally
};

void look_at(const ProfileAnswer& answer, Seen& seen) {
  ++(answer.best.empty() ? seen.rejected : seen.placed);
  for (const auto& [node, status] : answer.filter) ++seen.plugins[status.plugin];
  for (const auto& [plugin, scores] : answer.plugin_scores) {
    for (const auto& [node, score] : scores) {
      if (score != scores.begin()->second) ++seen.plugins["score of " + plugin];
    }
  }
}

// A nominated node has victims of lower priority only, and without them the pod passes there.
// Terminating pods are counted otherwise by preemption than by PreFilter (topology_spread.cpp).
void check_preemption(const DefaultProfile& profile, const Facts& facts, const Pod& pod,
                      const ProfileAnswer& before, Seen& seen) {
  const auto answer = oracle::defaults::preempt(profile, facts, pod, before);
  if (answer.status.code != Code::kSuccess) return;
  ++seen.preempted;
  ASSERT_FALSE(answer.victims.empty());
  Facts after = facts;
  bool terminating = false;
  for (const Pod* placed : facts.pods_on(answer.nominated_node)) {
    terminating = terminating || placed->terminating;
    if (std::find(answer.victims.begin(), answer.victims.end(), placed->key()) ==
        answer.victims.end()) {
      continue;
    }
    EXPECT_LT(child(*placed->object, "spec", "priority"), child(*pod.object, "spec", "priority"));
    after.take(*placed);
  }
  const bool counts_nothing = std::any_of(
      pod.spread_constraints.begin(), pod.spread_constraints.end(),
      [](const auto& constraint) { return constraint.selector && constraint.selector->empty(); });
  if (terminating || counts_nothing) return;
  const oracle::NodeStatus status = profile.schedule(after, pod).filter.at(answer.nominated_node);
  // Of a ReadWriteOncePod claim that several pods use, one that goes is enough for preemption
  // (volume_restrictions.cpp).
  if (status.plugin == "VolumeRestrictions") return;
  EXPECT_EQ(status.code, Code::kSuccess) << status.plugin << " for " << pod.object->dump();
}

TEST(DefaultProperties, OrderDoesNotMatterAndVictimsMakeRoom) {
  const std::uint64_t seed = headroom::test_seed();
  const DefaultProfile profile(Version::k137);
  Seen seen;
  for (std::uint64_t i = 0; i < kClusters && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " cluster " + std::to_string(i));
    Draws draws(seed + i);
    RandomApplications applications(draws);
    std::vector<Json> steps;
    Facts facts;
    for (const Json& object : applications.objects()) {
      steps.push_back({{"op", "apply"}, {"object", object}});
    }
    // The same objects in the opposite order.
    Facts reversed;
    for (const Json& step : steps) perform(profile, facts, step);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      perform(profile, reversed, *step);
    for (int j = 0; j < kSteps && !HasFailure(); ++j) {
      const Pod pod = read_pod(applications.pod_to_place());
      const ProfileAnswer answer = profile.schedule(facts, pod);
      look_at(answer, seen);
      ASSERT_EQ(text_of(answer), text_of(profile.schedule(reversed, pod))) << pod.key();
      if (answer.best.empty()) {
        check_preemption(profile, facts, pod, answer, seen);
      } else if (draws.one_in(2)) {
        for (Facts* one : {&facts, &reversed}) profile.reserve(*one, *pod.object, answer.best);
      }
      const Json step = applications.event();
      for (Facts* one : {&facts, &reversed}) perform(profile, *one, step);
    }
  }
  std::cout << "placed " << seen.placed << ", rejected " << seen.rejected << ", preempted for "
            << seen.preempted << "\n";
  for (const auto& [plugin, count] : seen.plugins)
    std::cout << "  " << plugin << ": " << count << "\n";
  EXPECT_GT(seen.placed, 0);
  EXPECT_GT(seen.rejected, 0);
}

}  // namespace
}  // namespace default_property_test
