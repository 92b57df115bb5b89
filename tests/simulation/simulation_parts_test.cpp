// The parts of a simulation by themselves: the ledger of quotas, usage, budgets, the queue.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulation/figures/cluster_usage.h"
#include "simulation/figures/elastic_quota_ledger.h"
#include "simulation/pod_queue.h"
#include "simulation/simulated_budgets.h"
#include "tests/simulation/simulation_objects.h"

namespace headroom::simulation_test {
namespace {

TEST(ElasticQuotaLedger, EachLendsInProportionToWhatItLeavesUnused) {
  ElasticQuotaLedger ledger(
      std::vector<ElasticQuota>{gpu_elastic_quota("a", 2, 9), gpu_elastic_quota("b", 4, 9),
                                gpu_elastic_quota("c", 7, 9), gpu_elastic_quota("d", 1, 1)},
      Mode::kProposal);
  ledger.add(ledger.claim(gpu_pod("a", "1", 7)));  // five above its min
  ledger.add(ledger.claim(gpu_pod("b", "1", 1)));  // leaves three
  ledger.add(ledger.claim(gpu_pod("d", "1", 1)));
  ledger.add(ledger.claim(gpu_pod("nobody", "1", 1)));
  std::vector<ElasticQuotaReport> reports = ledger.reports();
  ASSERT_EQ(4u, reports.size());
  EXPECT_EQ(5, reports[0].resources[0].borrowed);
  EXPECT_EQ(0, reports[0].resources[0].lent);
  // Three and seven of ten unused ones: 1.5 and 3.5 of five, rounded so that five are lent.
  EXPECT_EQ(1, reports[1].resources[0].lent);
  EXPECT_EQ(4, reports[2].resources[0].lent);
  EXPECT_EQ(0, reports[3].resources[0].lent);

  ledger.end_step();
  ledger.remove(ledger.claim(gpu_pod("a", "1", 7)));
  reports = ledger.reports();
  EXPECT_EQ(0, reports[0].resources[0].used);
  EXPECT_EQ(5, reports[0].resources[0].peak_borrowed);
  EXPECT_EQ(0, reports[2].resources[0].lent);
  EXPECT_EQ(4, reports[2].resources[0].peak_lent);
}

// Sums are beyond int64, and exact all the same.
TEST(ElasticQuotaLedger, AddsUpBeyondInt64) {
  constexpr std::int64_t kMost = INT64_MAX, kHalf = INT64_MAX / 2 + 1;
  const auto play = [&](Mode mode) {
    ElasticQuotaLedger ledger(std::vector<ElasticQuota>{gpu_elastic_quota("a", 0, kMost),
                                                        gpu_elastic_quota("b", kMost, kMost),
                                                        gpu_elastic_quota("c", kMost, kMost)},
                              mode);
    for (const char* name : {"1", "2", "3"}) ledger.add(ledger.claim(gpu_pod("a", name, kHalf)));
    ledger.end_step();
    const ElasticQuotaLedger::Claim half = ledger.claim(gpu_pod("a", "3", kHalf));
    EXPECT_EQ(ledger.over_max(half) != "", mode == Mode::kProposal);
    ledger.remove(half);
    ledger.remove(half);
    return ledger.reports();
  };
  std::vector<ElasticQuotaReport> reports = play(Mode::kProposal);
  EXPECT_EQ(reports[0].resources[0].used, kHalf);
  EXPECT_EQ(reports[0].resources[0].peak_used, kMost);
  EXPECT_EQ(reports[0].resources[0].peak_borrowed, kMost);
  const std::int64_t lent[] = {reports[1].resources[0].peak_lent,
                               reports[2].resources[0].peak_lent};
  EXPECT_NEAR(static_cast<double>(lent[0]), 1.5 * static_cast<double>(kHalf), 4096.0);
  EXPECT_TRUE(Int128{lent[0]} + lent[1] == Int128{3} * kHalf);
  reports = play(Mode::kUpstream);
  EXPECT_EQ(reports[0].resources[0].used, kHalf);
}

TEST(ClusterUsage, AddsUpBeyondInt64) {
  const std::vector<Node> nodes = {gpu_node("n1", INT64_MAX), gpu_node("n2", INT64_MAX)};
  ClusterUsage usage(nodes);
  const Pod all = gpu_pod("a", "1", INT64_MAX);
  for (const char* node : {"n1", "n1", "n2"}) usage.add(usage.holding(all, node));
  for (const char* node : {"n1", "n1"}) usage.remove(usage.holding(all, node));
  for (const ResourceReport& peak : usage.peaks()) {
    if (peak.name != kGpuResource) continue;
    EXPECT_EQ(peak.allocatable, INT64_MAX);
    EXPECT_EQ(peak.requested, INT64_MAX);
    EXPECT_EQ(peak.limits, INT64_MAX);
    EXPECT_EQ(peak.hottest_limits, INT64_MAX);
    EXPECT_EQ(peak.hottest_node, "n1");
  }
}

TEST(ElasticQuotaLedger, NoticesWhatMustNotHappen) {
  ElasticQuotaLedger ledger(
      std::vector<ElasticQuota>{gpu_elastic_quota("a", 4, 6), gpu_elastic_quota("b", 6, 8)},
      Mode::kProposal);
  const ElasticQuotaLedger::Claim three = ledger.claim(gpu_pod("a", "1", 3));
  const ElasticQuotaLedger::Claim one = ledger.claim(gpu_pod("a", "2", 1));
  const ElasticQuotaLedger::Claim other = ledger.claim(gpu_pod("b", "1", 1));
  ledger.add(three);
  ledger.add(three);
  EXPECT_EQ("", ledger.over_max(three));
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{three}));
  // The second one would go from a quota that is within its min.
  EXPECT_NE("", ledger.wrongly_taken(other, std::vector{three, three}));
  EXPECT_EQ("", ledger.wrongly_taken(three, std::vector{three, three}));  // its own
  ledger.add(one);
  EXPECT_EQ("ElasticQuota a/quota: nvidia.com/gpu: used 7 is more than max 6",
            ledger.over_max(one));
  // Seven: one may go, and three after it, whatever their order here.
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{three, one}));
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{one, three}));
  EXPECT_EQ("", ledger.over_max(other));
}

TEST(SimulatedBudgets, VictimsTakeAndGiveBack) {
  PodDisruptionBudget budget;
  budget.namespace_name = "a";
  budget.name = "budget";
  budget.selector = {{.key = "app", .op = "In", .values = {"web"}}};
  budget.disruptions_allowed = 1;
  budget.disrupted_pods = {"gone"};
  PodDisruptionBudget empty = budget;
  empty.selector.clear();
  SimulatedBudgets budgets(std::vector{budget, empty});
  Pod pod = gpu_pod("a", "1", 1);
  EXPECT_TRUE(budgets.change(pod, -1).empty());
  pod.labels = {{"app", "web"}};
  for (const std::int64_t allowed : {0, 0}) {
    const std::vector<PodDisruptionBudget> changed = budgets.change(pod, -1);
    ASSERT_EQ(1u, changed.size());
    EXPECT_EQ(allowed, changed[0].disruptions_allowed);
  }
  // Two went and one is back: still none may go.
  EXPECT_EQ(0, budgets.change(pod, 1).at(0).disruptions_allowed);
  EXPECT_EQ(1, budgets.change(pod, 1).at(0).disruptions_allowed);
  pod.name = "gone";
  EXPECT_TRUE(budgets.change(pod, -1).empty());
}

TEST(PodQueue, ComeByPriorityAndThenInTheirOrder) {
  PodQueue pending(std::vector<PriorityClass>{
      {.name = "high", .value = 9, .global_default = false, .preemption_policy = {}},
      {.name = "default", .value = 2, .global_default = true, .preemption_policy = {}},
      {.name = "other", .value = 7, .global_default = true, .preemption_policy = {}}});
  const auto push = [&](const char* name, std::optional<std::int32_t> priority,
                        const char* priority_class) {
    Pod pod = gpu_pod("a", name, 1);
    pod.priority = priority;
    pod.priority_class_name = priority_class;
    PendingPod entry;
    entry.pod = std::move(pod);
    pending.push(std::move(entry));
  };
  push("none", std::nullopt, "");
  push("unknown", std::nullopt, "nowhere");
  push("1", 3, "high");
  push("2", 3, "");
  push("high", std::nullopt, "high");
  std::string order;
  while (!pending.empty()) order += pending.pop().pod.name + ' ';
  EXPECT_EQ("high 1 2 none unknown ", order);
}

}  // namespace
}  // namespace headroom::simulation_test
