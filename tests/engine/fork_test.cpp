// Engine::fork, rollback and commit: after a rollback every answer is what it was at the fork,
// whatever was changed meanwhile; after a commit it is what it is without a fork.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/random/engine_snapshot.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"

namespace headroom::fork_test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kStartUs = 1'000'000 * kSecondUs;

Node node(const std::string& name, std::int64_t cores) {
  return node_of(name, cores_and_memory(cores), {{"zone", name}});
}

Pod pod(const std::string& space, const std::string& name, std::int64_t milli_cpu,
        const std::string& node_name = "") {
  return pod_of(space, name, millicores(milli_cpu),
                {.limits = millicores(2 * milli_cpu),
                 .node_name = node_name,
                 .labels = {{"app", name}},
                 .uid = pod_key(space, name)});
}

Pod with_port(Pod made, std::uint16_t port) {
  made.containers[0].ports.push_back(
      {.host_port = port, .protocol = PortProtocol::kTcp, .host_ip = ""});
  return made;
}

Pod with_priority(Pod made, std::int32_t priority) {
  made.priority = priority;
  return made;
}

Pod nominated(Pod made, const std::string& node_name) {
  made.nominated_node_name = node_name;
  return made;
}

NodeMetric metric(const std::string& name, std::int64_t age_seconds, std::int64_t milli_cpu,
                  const std::vector<std::string>& pods) {
  NodeMetric made = node_metric_of(name, kStartUs - age_seconds * kSecondUs, millicores(milli_cpu));
  for (const std::string& pod : pods) {
    made.pods.push_back({.namespace_name = "team-a",
                         .name = pod,
                         .usage = millicores(100),
                         .priority = "koord-prod"});
  }
  return made;
}

PodDisruptionBudget budget(const std::string& name, const std::string& app, std::int64_t allowed) {
  return disruption_budget("team-a", name, app, allowed);
}

void tell(const Result<void>& told) {
  if (!told) throw std::invalid_argument(told.error().message);
}

// Some of everything: pods that are bound, assumed, pending, nominated, and on a node that is not
// known; ports that two pods have; metrics that list pods, one of which is not known.
Engine cluster(Mode mode, EngineOptions options = {.threads = 1}) {
  Profile profile = Profile::standard();
  profile.mode = mode;
  profile.scores.push_back({PluginId::kResourceLimitAware});
  Result<Engine> made = Engine::create(profile, options);
  if (!made) throw std::invalid_argument(made.error().message);
  Engine engine = std::move(*made);
  tell(engine.advance(kStartUs));
  for (const char* name : {"n0", "n1", "n2", "n3"}) tell(engine.upsert(node(name, 4)));
  tell(engine.upsert(priority_class("usual", 10, true)));
  tell(engine.upsert(elastic_quota("team-a", 6, 9)));
  tell(engine.upsert(elastic_quota("team-b", 4, 12)));
  tell(engine.upsert(budget("a0", "a0", 0)));
  tell(engine.upsert(with_port(pod("team-a", "a0", 1000, "n0"), 80)));
  tell(engine.upsert(with_port(pod("team-a", "a1", 1000, "n0"), 80)));
  tell(engine.upsert(pod("team-a", "a2", 3000, "n1")));
  tell(engine.upsert(with_priority(pod("team-b", "b0", 3500, "n3"), 0)));
  tell(engine.upsert(pod("team-b", "elsewhere", 500, "nowhere")));
  tell(engine.assume(pod("team-b", "assumed", 2000), "n2"));
  tell(engine.upsert(nominated(with_priority(pod("team-b", "waits", 500), 50), "n2")));
  tell(engine.upsert(pod("team-b", "pending", 500)));
  tell(engine.upsert(metric("n0", 10, 3000, {"a0", "ghost"})));
  tell(engine.upsert(metric("n1", 100, 2500, {"a2"})));
  return engine;
}

std::vector<Pod> asked() {
  Pod odd = pod("team-a", "odd", 100);
  odd.containers[0].requests.emplace_back("example.com/gpu", Quantity::from_value(1));
  return {pod("team-a", "small", 500), with_priority(pod("team-b", "large", 3000), 100),
          with_port(pod("team-c", "port", 100), 80), pod("team-b", "assumed", 2000), odd};
}

struct Change {
  const char* name;
  std::function<void(Engine&)> make;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"a node appears", [](Engine& e) { tell(e.upsert(node("n4", 16))); }},
      {"a node that was a name alone", [](Engine& e) { tell(e.upsert(node("nowhere", 8))); }},
      {"a node changes",
       [](Engine& e) {
         Node changed = node("n0", 6);
         changed.unschedulable = true;
         changed.annotations = {{"scheduling.koordinator.sh/usage-thresholds", "no JSON"}};
         changed.allocatable.emplace_back("example.com/gpu", Quantity::from_value(2));
         tell(e.upsert(changed));
       }},
      {"a node goes", [](Engine& e) { e.remove_node("n2"); }},
      {"nodes and their pods go, others take the rows",
       [](Engine& e) {
         e.remove_node("n3");
         e.remove_pod("team-b", "b0");
         e.remove_pod("team-b", "elsewhere");
         e.remove_node("n1");
         e.remove_node_metric("n1");
         e.remove_pod("team-a", "a2");
         for (const char* name : {"n5", "n3", "n6"}) tell(e.upsert(node(name, 2)));
       }},
      {"a pod appears", [](Engine& e) { tell(e.upsert(pod("team-a", "a3", 700, "n2"))); }},
      {"a pod on a node that is not known",
       [](Engine& e) { tell(e.upsert(nominated(pod("team-d", "d0", 1, "n8"), "n9"))); }},
      {"a pod that a metric lists",
       [](Engine& e) { tell(e.upsert(pod("team-a", "ghost", 700, "n0"))); }},
      {"a pod changes",
       [](Engine& e) {
         Pod changed = pod("team-a", "a0", 2500, "n1");
         changed.labels = {{"app", "other"}};
         changed.start_us = kStartUs;
         tell(e.upsert(changed));
       }},
      {"another pod of the name",
       [](Engine& e) {
         Pod other = pod("team-b", "elsewhere", 900, "nowhere");
         other.uid = "other";
         tell(e.upsert(other));
       }},
      {"a pod ends",
       [](Engine& e) {
         Pod ended = pod("team-a", "a2", 3000, "n1");
         ended.phase = "Succeeded";
         tell(e.upsert(ended));
       }},
      {"a pod with a port goes", [](Engine& e) { e.remove_pod("team-a", "a0"); }},
      {"pods go",
       [](Engine& e) {
         e.remove_pod("team-a", "a2");
         e.remove_pod("team-b", "elsewhere");
         e.remove_pod("team-b", "waits");
       }},
      {"a pod is assumed", [](Engine& e) { tell(e.assume(pod("team-b", "pending", 500), "n1")); }},
      {"an assumed pod moves",
       [](Engine& e) { tell(e.assume(pod("team-b", "assumed", 2000), "n7")); }},
      {"an assumed pod is forgotten",
       [](Engine& e) { e.forget("team-b", "assumed", "team-b/assumed", "n2"); }},
      {"an assumed pod is bound",
       [](Engine& e) { tell(e.upsert(pod("team-b", "assumed", 2000, "n2"))); }},
      {"a pod is nominated",
       [](Engine& e) { tell(e.upsert(nominated(pod("team-b", "pending", 500), "n3"))); }},
      {"a nominated pod goes", [](Engine& e) { e.remove_pod("team-b", "waits"); }},
      {"a metric appears",
       [](Engine& e) {
         tell(e.upsert(metric("n2", 0, 3900, {"assumed", "spirit"})));
       }},
      {"a metric changes",
       [](Engine& e) {
         tell(e.upsert(metric("n0", 0, 500, {"a1", "spirit"})));
       }},
      {"a metric goes", [](Engine& e) { e.remove_node_metric("n0"); }},
      {"a quota appears", [](Engine& e) { tell(e.upsert(elastic_quota("team-c", 0, 0))); }},
      {"a quota changes", [](Engine& e) { tell(e.upsert(elastic_quota("team-a", 1, 1))); }},
      {"a quota goes", [](Engine& e) { e.remove_elastic_quota("team-a", "quota"); }},
      {"a budget appears", [](Engine& e) { tell(e.upsert(budget("a2", "a2", 0))); }},
      {"a budget changes", [](Engine& e) { tell(e.upsert(budget("a0", "a1", 1))); }},
      {"a budget goes", [](Engine& e) { e.remove_pod_disruption_budget("team-a", "a0"); }},
      {"a priority class appears",
       [](Engine& e) { tell(e.upsert(priority_class("lower", -5, true))); }},
      {"a priority class changes",
       [](Engine& e) { tell(e.upsert(priority_class("usual", 500, true))); }},
      {"a priority class goes", [](Engine& e) { e.remove_priority_class("usual"); }},
      {"the clock moves", [](Engine& e) { tell(e.advance(e.now_us() + kSecondUs)); }},
      {"a metric expires", [](Engine& e) { tell(e.advance(e.now_us() + 90 * kSecondUs)); }},
      {"a pod appears later",
       [](Engine& e) {
         tell(e.advance(e.now_us() + 300 * kSecondUs));
         tell(e.upsert(pod("team-a", "a2", 3000, "n0")));
         tell(e.upsert(metric("n1", -290, 100, {})));
       }},
      {"pods are placed, with preemption",
       [](Engine& e) {
         const std::vector<Pod> pods = {with_priority(pod("team-b", "p0", 500), 10),
                                        with_priority(pod("team-b", "p1", 3000), 100),
                                        with_priority(pod("team-b", "p2", 3800), 200)};
         const Result<std::vector<Placement>> placed = e.place(pods, {}, true);
         if (!placed) throw std::invalid_argument(placed.error().message);
       }},
  };
  return all;
}

// mode, bulk
class ForkTest : public testing::TestWithParam<std::tuple<Mode, bool>> {
 protected:
  Engine made() const { return cluster(std::get<0>(GetParam())); }
  std::optional<Engine::Bulk> in_bulk(Engine& engine) const {
    return std::get<1>(GetParam()) ? std::optional(engine.bulk()) : std::nullopt;
  }
  static std::string snapshot(Engine& engine) {
    const Result<void> valid = engine.validate();
    EXPECT_TRUE(valid) << valid.error().message;
    return snapshot_text(engine, asked());
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, ForkTest,
                         testing::Combine(testing::Values(Mode::kProposal, Mode::kUpstream),
                                          testing::Bool()));

TEST_P(ForkTest, TakesEveryKindOfChangeBack) {
  for (const Change& change : changes()) {
    SCOPED_TRACE(change.name);
    Engine engine = made();
    const auto bulk = in_bulk(engine);
    const std::string before = snapshot(engine);
    const std::uint64_t epoch = engine.epoch();
    engine.fork();
    change.make(engine);
    const std::string changed = snapshot(engine);
    EXPECT_NE(before, changed);
    engine.rollback();
    EXPECT_EQ("", snapshot_difference(before, snapshot(engine)));
    EXPECT_GE(engine.epoch(), epoch);
    // And what comes later finds all that it needs.
    change.make(engine);
    EXPECT_EQ("", snapshot_difference(changed, snapshot(engine)));
  }
}

TEST_P(ForkTest, KeepsWhatIsCommitted) {
  for (const Change& change : changes()) {
    SCOPED_TRACE(change.name);
    Engine engine = made(), plain = made();
    const auto bulk = in_bulk(engine);
    engine.fork();
    change.make(engine);
    engine.commit();
    change.make(plain);
    EXPECT_EQ("", snapshot_difference(snapshot(plain), snapshot(engine)));
  }
}

// Nobody looks between the changes, so that in bulk none is derived before the last rollback.
TEST_P(ForkTest, NestsWhateverComesAfterWhatever) {
  Engine engine = made();
  const auto bulk = in_bulk(engine);
  const std::string before = snapshot(engine);
  for (const Change& first : changes()) {
    for (const Change& second : changes()) {
      for (const bool kept : {false, true}) {
        engine.fork();
        first.make(engine);
        engine.fork();
        second.make(engine);
        kept ? engine.commit() : engine.rollback();
        engine.rollback();
        const Result<void> valid = engine.validate();
        ASSERT_TRUE(valid) << first.name << ", " << second.name << ": " << valid.error().message;
      }
    }
    EXPECT_EQ("", snapshot_difference(before, snapshot(engine))) << first.name;
  }
}

TEST_P(ForkTest, TheInnerRollbackLeavesTheOuterForksChanges) {
  for (const Change& first : changes()) {
    SCOPED_TRACE(first.name);
    Engine engine = made();
    const auto bulk = in_bulk(engine);
    const std::string before = snapshot(engine);
    engine.fork();
    first.make(engine);
    const std::string changed = snapshot(engine);
    for (const Change& second : changes()) {
      engine.fork();
      second.make(engine);
      engine.rollback();
    }
    EXPECT_EQ("", snapshot_difference(changed, snapshot(engine)));
    engine.rollback();
    EXPECT_EQ("", snapshot_difference(before, snapshot(engine)));
  }
}

TEST_P(ForkTest, CountsOpenForks) {
  Engine engine = made();
  const auto bulk = in_bulk(engine);
  EXPECT_EQ(0U, engine.forks());
  engine.fork();
  engine.fork();
  engine.fork();
  EXPECT_EQ(3U, engine.forks());
  engine.commit();
  engine.rollback();
  EXPECT_EQ(1U, engine.forks());
  engine.rollback();
  EXPECT_EQ(0U, engine.forks());
}

// What is refused inside a fork changes nothing, and neither does asking.
TEST_P(ForkTest, RefusalsAndQuestionsInsideAForkLeaveNothing) {
  Engine engine = made();
  const auto bulk = in_bulk(engine);
  const std::string before = snapshot(engine);
  engine.fork();
  Pod bad = pod("team-a", "a0", 1000, "n9");
  bad.containers[0].requests[0].second = Quantity::from_milli(-1);
  EXPECT_FALSE(engine.upsert(bad));
  EXPECT_FALSE(engine.assume(bad, "n8"));
  EXPECT_FALSE(engine.advance(kStartUs - 1));
  const std::vector<Pod> pods = {pod("team-a", "p0", 100), bad};
  EXPECT_FALSE(engine.place(pods, {}, true));
  const std::vector<Pod> with = {nominated(pod("team-e", "new", 100), "n9"),
                                 nominated(pod("team-e", "newer", 100), "n9"),
                                 pod("team-a", "ghost", 100), pod("team-b", "pending", 500)};
  const std::vector<PodName> without = {{"team-a", "a0"}, {"team-b", "waits"}};
  EXPECT_TRUE(engine.filter(pod("team-a", "small", 500), "n2", {without, with}));
  // Bound elsewhere: it stays.
  EXPECT_TRUE(engine.assume(pod("team-a", "a0", 1000, "n0"), "n9"));
  EXPECT_EQ("", snapshot_difference(before, snapshot(engine)));
  engine.rollback();
  EXPECT_EQ("", snapshot_difference(before, snapshot(engine)));
}

// The order in which names of resources were met first shows in no answer.
TEST_P(ForkTest, WhatAForkMetShowsInNoAnswer) {
  Engine engine = made(), plain = made();
  const auto bulk = in_bulk(engine);
  const auto bound = [](const std::string& resource) {
    ElasticQuota bounds = elastic_quota("team-a", 6, 9);
    for (const char* name : {"example.com/a", "example.com/z"}) {
      if (resource.empty() || resource == name) {
        bounds.max->emplace_back(name, Quantity::from_value(3));
      }
    }
    return bounds;
  };
  engine.fork();
  tell(engine.upsert(bound("example.com/z")));
  engine.rollback();
  for (Engine* each : {&engine, &plain}) tell(each->upsert(bound("")));
  Pod asks = pod("team-a", "asks", 100);
  asks.containers[0].requests = {{"cpu", Quantity::from_milli(100)},
                                 {"example.com/a", Quantity::from_value(5)},
                                 {"example.com/z", Quantity::from_value(5)}};
  EXPECT_EQ("", snapshot_difference(snapshot_text(plain, {asks}), snapshot_text(engine, {asks})));
}

// Decisions that follow a rollback from the cache, after more changes than its ring holds.
TEST_P(ForkTest, TheCacheIsRightAfterManyChanges) {
  Engine engine = made();
  const auto bulk = in_bulk(engine);
  const std::string before = snapshot(engine);
  engine.fork();
  for (int i = 0; i < 12'000; ++i) {
    tell(engine.upsert(
        pod("team-c", "c" + std::to_string(i % 50), 1 + i % 90, "n" + std::to_string(i % 4))));
  }
  engine.rollback();
  EXPECT_EQ("", snapshot_difference(before, snapshot(engine)));
}

}  // namespace
}  // namespace headroom::fork_test
