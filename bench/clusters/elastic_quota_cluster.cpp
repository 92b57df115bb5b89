#include "bench/clusters/elastic_quota_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bench/checks.h"
#include "workloads/openb.h"
#include "workloads/random.h"

namespace headroom {

namespace {

constexpr std::uint32_t kPodsOfNode = 20;
constexpr std::uint32_t kCores = 64;
constexpr std::array<std::int32_t, 4> kPriorities = {0, 100, 1000, 10000};

Pod make_pod(std::string name, std::uint32_t quota, std::int32_t priority, std::int64_t milli_cpu,
             std::int64_t bytes) {
  Pod pod;
  pod.namespace_name = elastic_quota_namespace(quota);
  pod.uid = pod.namespace_name + "/" + name;
  pod.name = std::move(name);
  pod.priority = priority;
  pod.phase = "Pending";
  Container& container = pod.containers.emplace_back();
  container.name = "main";
  container.requests = {{"cpu", Quantity::from_milli(milli_cpu)},
                        {"memory", Quantity::from_value(bytes)}};
  return pod;
}

// Cores of a node's pods: 20 that fill it.
constexpr std::array<std::uint32_t, kPodsOfNode> kSizes = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                                           4, 4, 4, 4, 4, 4, 4, 4, 4, 8};

}  // namespace

std::string elastic_quota_namespace(std::uint32_t quota) {
  return fmt::format("team-{:04}", quota);
}

Engine make_elastic_quota_engine(const ElasticQuotaClusterSpec& spec) {
  Profile profile;
  profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeName, PluginId::kTaintToleration,
                     PluginId::kNodeAffinity, PluginId::kNodeResourcesFit};
  profile.scores = {{PluginId::kNodeResourcesFit}};
  profile.capacity_scheduling = true;
  Engine engine = value_of(Engine::create(profile, {.threads = spec.threads}));
  check_done(engine.advance(kTraceStartUs));
  std::optional bulk = engine.bulk();
  Random random({spec.seed});
  std::vector<std::int64_t> used(spec.quotas);
  std::uint32_t name = 0;
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    Node node;
    node.name = fmt::format("node-{:06}", n);
    node.allocatable = {{"cpu", Quantity::from_value(kCores)},
                        {"memory", Quantity::from_value(std::int64_t{kCores * 4} << 30)},
                        {"pods", Quantity::from_value(110)}};
    check_done(engine.upsert(node));
    const bool borrowed = random.below(100) < spec.borrower_percent;
    for (const std::uint32_t cores : kSizes) {
      // Quota 0 is the borrower, if there is one.
      const bool borrower = spec.borrower_percent != 0 && borrowed && random.below(4) == 0;
      const auto first = static_cast<std::uint32_t>(spec.borrower_percent != 0);
      const auto quota =
          borrower ? 0 : first + static_cast<std::uint32_t>(random.below(spec.quotas - first));
      Pod pod = make_pod(fmt::format("pod-{:07}", name++), quota,
                         kPriorities[random.below(kPriorities.size())], cores * 1000,
                         std::int64_t{cores * 2} << 30);
      pod.labels = {{"app", random.below(2) == 0 ? "web" : "batch"}};
      pod.node_name = node.name;
      pod.phase = "Running";
      pod.start_us = kTraceStartUs - static_cast<std::int64_t>(random.below(1'000'000)) * 1'000'000;
      check_done(engine.upsert(pod));
      used[quota] += cores;
    }
  }
  // No quota is at its max, nor is their sum.
  const std::int64_t reserve = std::max<std::int64_t>(1'000'000, std::int64_t{20} * spec.nodes);
  for (std::uint32_t q = 0; q < spec.quotas; ++q) {
    ElasticQuota quota;
    quota.namespace_name = elastic_quota_namespace(q);
    quota.name = "quota";
    const bool borrower = spec.borrower_percent != 0 && q == 0;
    const bool lender = spec.borrower_percent != 0 && q == 1;
    const std::int64_t cores = borrower ? used[q] / 4 : lender ? used[q] + reserve : used[q];
    quota.min = {{"cpu", Quantity::from_value(cores)},
                 {"memory", Quantity::from_value((cores * 2) << 30)}};
    check_done(engine.upsert(quota));
    if (spec.budgets) {
      PodDisruptionBudget budget;
      budget.namespace_name = quota.namespace_name;
      budget.name = "budget";
      budget.selector = {{"app", "In", {"web"}}};
      check_done(engine.upsert(budget));
    }
  }
  // Who has no pods guarantees what the others may use beyond their min.
  ElasticQuota spare;
  spare.namespace_name = "spare";
  spare.name = "quota";
  spare.min = {{"cpu", Quantity::from_value(reserve)},
               {"memory", Quantity::from_value((reserve * 2) << 30)}};
  check_done(engine.upsert(spare));
  for (std::uint32_t p = 0; p < spec.nominated; ++p) {
    Pod pod = preemptor(1'000'000 + p, p % spec.quotas, 1000, 4, 0);
    pod.nominated_node_name = fmt::format("node-{:06}", p % spec.nodes);
    check_done(engine.upsert(pod));
  }
  bulk.reset();
  return engine;
}

Pod preemptor(std::uint32_t index, std::uint32_t quota, std::int32_t priority, std::uint32_t cores,
              std::uint32_t variant) {
  return make_pod(fmt::format("preemptor-{:07}", index), quota, priority, cores * 1000 + variant,
                  std::int64_t{cores * 2} << 30);
}

}  // namespace headroom
