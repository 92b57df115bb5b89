// Engine::node_figures: what nodes have and hold of one resource, by row.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::node_figures_test {
namespace {

using Column = std::vector<std::int64_t>;

constexpr std::int64_t kNowUs = 1'767'225'600'000'000;

Node node(const std::string& name, std::int64_t cpu_milli) {
  return node_of(name, millicores(cpu_milli));
}

Pod pod(const std::string& name, std::int64_t request_milli, std::int64_t limit_milli) {
  return pod_of("default", name, millicores(request_milli), {.limits = millicores(limit_milli)});
}

Engine create(const Profile& profile) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  EXPECT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE(engine->advance(kNowUs));
  for (auto [name, cpu_milli] : {std::pair("a", 4000), std::pair("b", 8000)}) {
    EXPECT_TRUE(engine->upsert(node(name, cpu_milli)));
  }
  EXPECT_TRUE(engine->assume(pod("p", 1000, 3000), "a"));
  EXPECT_TRUE(engine->assume(pod("q", 500, 500), "a"));
  EXPECT_TRUE(engine->assume(pod("r", 100, 100), "unknown"));
  return std::move(*engine);
}

// Of which columns have none for "no limit".
TEST(NodeFigures, ANodeWithTheGreatestAmountIsFullAsWell) {
  for (const std::int64_t most : {INT64_MAX, INT64_MAX - 1}) {
    Result<Engine> engine = Engine::create(Profile::standard(), {.threads = 1});
    ASSERT_TRUE(engine && engine->upsert(node("n", most)));
    const Decision before = engine->evaluate(pod("p", INT64_MAX - 1, 0)).value();
    EXPECT_EQ(before.feasible, 1U) << most;
    ASSERT_TRUE(engine->assume(pod("p", INT64_MAX - 1, 0), "n"));
    EXPECT_EQ(engine->evaluate(pod("q", 1, 0)).value().feasible, 0U) << most;
    EXPECT_TRUE(engine->validate());
  }
}

TEST(NodeFigures, AddUpWhatPodsAskFor) {
  const Engine engine = create(Profile::standard());
  const Result<NodeFigures> cpu = engine.node_figures("cpu");
  ASSERT_TRUE(cpu);
  // The third row is only mentioned: a pod waits there for its node.
  ASSERT_EQ(engine.row_count(), 3u);
  EXPECT_EQ(cpu->allocatable, (Column{4000, 8000, 0}));
  EXPECT_EQ(cpu->requested, (Column{1500, 0, 100}));
  EXPECT_EQ(cpu->limits, (Column{3500, 0, 100}));
  const Result<NodeFigures> pods = engine.node_figures("pods");
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->requested, (Column{2, 0, 1}));
  EXPECT_TRUE(pods->estimated.empty());
}

TEST(NodeFigures, EstimateUsageWhereNoReportSaysIt) {
  Engine engine = create(Profile::standard());

  const Column unreported = engine.node_figures("cpu")->estimated;
  ASSERT_EQ(unreported.size(), 3u);
  EXPECT_GT(unreported[0], 0);
  EXPECT_EQ(unreported[1], 0);
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(engine.upsert(node_metric_of(name, kNowUs + 600'000'000, millicores(1234))));
  }
  EXPECT_TRUE(engine.advance(kNowUs + 600'000'000));
  // The report is younger than the pods by more than its interval: nothing comes on top.
  EXPECT_EQ(engine.node_figures("cpu")->estimated, (Column{1234, 1234, unreported[2]}));
  // Once it has expired, estimates are all there is.
  EXPECT_TRUE(engine.advance(kNowUs + 3'600'000'000));
  EXPECT_EQ(engine.node_figures("cpu")->estimated, unreported);
}

TEST(NodeFigures, AreEmptyWhereNoPluginKeepsThem) {
  Profile profile;
  profile.filters = {PluginId::kNodeUnschedulable};
  const Engine engine = create(profile);
  const Result<NodeFigures> cpu = engine.node_figures("cpu");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->allocatable, (Column{4000, 8000, 0}));
  EXPECT_TRUE(cpu->requested.empty() && cpu->limits.empty() && cpu->estimated.empty());
  profile.scores = {{.plugin = PluginId::kResourceLimitAware}};
  EXPECT_EQ(create(profile).node_figures("cpu")->limits, (Column{3500, 0, 100}));
}

TEST(NodeFigures, RefuseAResourceThatNoFactNames) {
  const Result<NodeFigures> none = create(Profile::standard()).node_figures("example.com/none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "resource example.com/none is not known");
}

TEST(NodeFigures, AreEmptyWithoutNodes) {
  const Result<Engine> engine = Engine::create(Profile::standard());
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->node_figures("cpu")->allocatable.empty());
}

}  // namespace
}  // namespace headroom::node_figures_test
