// Attack "wrap": pods whose sums leave int64. In mode Proposal their node is full and everything
// else goes on; in mode Upstream the sums wrap as Go's, for that node alone. Both: what is taken
// away again leaves no trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::wrap_test {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kTwoPow62 = std::int64_t{1} << 62;

// Every policy that adds pods up.
Profile profile_of(Mode mode) {
  Profile profile;
  profile.mode = mode;
  profile.filters = {PluginId::kNodeResourcesFit, PluginId::kLimitAware,
                     PluginId::kLoadAwareScheduling};
  profile.scores = {{PluginId::kNodeResourcesFit},
                    {PluginId::kNodeResourcesBalancedAllocation},
                    {PluginId::kLimitAware},
                    {PluginId::kLoadAwareScheduling}};
  profile.capacity_scheduling = true;
  return profile;
}

Engine make_engine(Mode mode) {
  Result<Engine> engine = Engine::create(profile_of(mode), {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  for (int n = 1; n <= 3; ++n) {
    const std::string name = "n" + std::to_string(n);
    EXPECT_TRUE(engine->upsert(node_of(name, cpu_and_memory(64'000, 256 * kGi))));
    EXPECT_TRUE(engine->upsert(node_metric_of(name, 0, cpu_and_memory(1'000, kGi))));
  }
  return std::move(*engine);
}

Pod pod_of(const std::string& name, std::int64_t memory, const std::string& node_name = "",
           const std::string& space = "others") {
  const ResourceList amounts = cpu_and_memory(100, memory);
  return headroom::pod_of(space, name, amounts, {.limits = amounts, .node_name = node_name});
}

void bind(Engine& engine, int count, std::int64_t memory, const std::string& node) {
  for (int p = 0; p < count; ++p) {
    ASSERT_TRUE(engine.upsert(pod_of("huge-" + std::to_string(p), memory, node, "evil")));
  }
}

std::vector<std::string> best_nodes(Engine& engine, const Pod& pod) {
  const Decision decision = engine.evaluate(pod, {.top_k = 8}).value();
  EXPECT_EQ(decision.code, Code::kSuccess) << decision.message();
  std::vector<std::string> names;
  for (const NodeScore& candidate : decision.candidates) {
    names.emplace_back(engine.node_name(candidate.node));
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(WrapAttack, ProposalTakesTheNodeForFull) {
  for (const int count : {2, 3, 4, 5, 8}) {
    Engine engine = make_engine(Mode::kProposal);
    bind(engine, count, kTwoPow62, "n2");
    EXPECT_EQ(best_nodes(engine, pod_of("small", 1 << 20)), (Names{"n1", "n3"})) << count;
    // One without a need for memory is placed on the other nodes, and n2 scores least.
    Pod no_memory = pod_of("cpu-only", 1 << 20);
    no_memory.containers[0].requests =
        no_memory.containers[0].limits = {{"cpu", Quantity::from_milli(100)}};
    const Decision decision = engine.evaluate(no_memory, {.top_k = 8}).value();
    EXPECT_EQ(decision.code, Code::kSuccess) << decision.message();
    ASSERT_EQ(decision.candidates.size(), 3u) << count;
    EXPECT_EQ(engine.node_name(decision.candidates.back().node), "n2") << count;
    ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
    const NodeFigures figures = engine.node_figures("memory").value();
    EXPECT_EQ(figures.requested[1], INT64_MAX);
    EXPECT_TRUE(engine.explain(no_memory, "n2"));
  }
}

TEST(WrapAttack, UpstreamFailsForNobodyElse) {
  for (const int count : {2, 3, 4, 5, 8}) {
    Engine engine = make_engine(Mode::kUpstream);
    bind(engine, count, kTwoPow62, "n2");
    const Names best = best_nodes(engine, pod_of("small", 1 << 20)), others = {"n1", "n3"};
    EXPECT_TRUE(std::includes(best.begin(), best.end(), others.begin(), others.end())) << count;
    const auto details = engine.evaluate_all(pod_of("small", 1 << 20));
    ASSERT_TRUE(details);
    for (const NodeDetail& detail : *details) {
      EXPECT_NE(detail.code, Code::kError) << count;
      for (const PluginScore& score : detail.plugins) {
        EXPECT_GE(score.score, 0);
        EXPECT_LE(score.score, 100);
      }
    }
    ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
  }
}

// In another order than they came, and by the clock's and the metric's ways as well.
TEST(WrapAttack, TakingAwayIsExact) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(mode);
    const std::uint64_t digest = engine.digest();
    const Decision before = engine.evaluate(pod_of("small", 1 << 20), {.top_k = 3}).value();
    bind(engine, 9, INT64_MAX, "n2");
    ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
    engine.fork();
    for (const int p : {4, 0, 8, 2}) engine.remove_pod("evil", "huge-" + std::to_string(p));
    ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
    engine.rollback();
    for (const int p : {3, 7, 1, 0, 8, 2, 6, 4, 5}) {
      engine.remove_pod("evil", "huge-" + std::to_string(p));
      ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
    }
    EXPECT_EQ(engine.digest(), digest);
    const Decision after = engine.evaluate(pod_of("small", 1 << 20), {.top_k = 3}).value();
    ASSERT_EQ(after.candidates.size(), before.candidates.size());
    for (std::size_t c = 0; c < after.candidates.size(); ++c) {
      EXPECT_EQ(after.candidates[c].node, before.candidates[c].node);
      EXPECT_EQ(after.candidates[c].total, before.candidates[c].total);
    }
  }
}

TEST(WrapAttack, QuotasAreNotUsedBelowZero) {
  Engine engine = make_engine(Mode::kProposal);
  for (const auto& [space, gi] : {std::pair("team", 10), {"other", 500}}) {
    const ResourceList amounts = cpu_and_memory(100'000, gi * kGi);
    ASSERT_TRUE(engine.upsert(elastic_quota(space, amounts, amounts)));
  }
  for (int p = 0; p < 3; ++p) {
    ASSERT_TRUE(engine.upsert(pod_of("w" + std::to_string(p), kTwoPow62, "ghost", "team")));
  }
  const auto rejects = [&](const std::string& space) {
    return engine.pre_filter(pod_of("next", kGi, "", space)).value().code != Code::kSuccess;
  };
  EXPECT_TRUE(rejects("team"));
  EXPECT_TRUE(rejects("other"));  // all quotas together use more than their min
  for (const ElasticQuotaStatus& status : engine.elastic_quota_status()) {
    for (const ElasticQuotaAmount& amount : status.amounts) {
      EXPECT_GE(amount.used, 0) << status.namespace_name << " " << amount.resource;
      if (status.namespace_name == "team" && amount.resource == "memory") {
        EXPECT_EQ(amount.used, INT64_MAX);
      }
    }
  }
  EXPECT_TRUE(engine.explain(pod_of("next", kGi, "", "team"), "n1"));
  // Preemption on the way: their victims give back what they took.
  ASSERT_TRUE(engine.upsert(pod_of("w0", kTwoPow62, "n1", "team")));
  Pod important = pod_of("important", kGi, "", "team");
  important.priority = 10;
  EXPECT_TRUE(engine.post_filter(important));
  ASSERT_TRUE(engine.validate()) << engine.validate().error().message;
  for (int p = 0; p < 3; ++p) engine.remove_pod("team", "w" + std::to_string(p));
  EXPECT_FALSE(rejects("team"));
  EXPECT_FALSE(rejects("other"));
}

// Victims on a node whose sum is beyond int64: who has to go is exact.
TEST(WrapAttack, VictimsGiveBackWhatTheyTook) {
  Engine engine = make_engine(Mode::kProposal);
  for (const std::string node : {"n1", "n3"}) {
    // More important than whoever asks.
    Pod rest = pod_of("rest-" + node, 256 * kGi, node);
    rest.priority = 1000;
    ASSERT_TRUE(engine.upsert(rest));
  }
  bind(engine, 3, kTwoPow62, "n2");
  Pod asks = pod_of("asks", 200 * kGi, "", "others");
  asks.priority = 10;
  const PostFilter found = engine.post_filter(asks).value();
  ASSERT_EQ(found.code, Code::kSuccess);
  EXPECT_EQ(engine.node_name(found.nominated_node), "n2");
  EXPECT_EQ(found.victims.size(), 3u);
}

}  // namespace
}  // namespace headroom::wrap_test
