// Draws teams, quotas, budgets and priorities.
#include "workloads/elastic_quota_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workloads/openb.h"
#include "workloads/random.h"

namespace headroom {
namespace {

enum ElasticQuotaPurpose : std::uint64_t {
  kForTeam = 301,
  kForTeamOfPod,
  kForPriority,
  kForMax,
  kForDisruptions
};

constexpr std::uint32_t kAppsPerTeam = 20;
constexpr std::uint32_t kAppsPerBudget = 4;  // a budget for some of so many
constexpr std::uint32_t kBudgetsPerTeam = kAppsPerTeam / kAppsPerBudget;

// Mins together, in thousandths of what the nodes have: a little is left, so that what is
// guaranteed can be given back although victims leave gaps.
constexpr std::int64_t kMinPermille = 900;
// Pods of a lender and of a borrower, in tenths of what others have for their min.
constexpr std::int64_t kLenderTenths = 3, kEvenTenths = 10, kBorrowerTenths = 25;
// A borrower's min, in thousandths of what its weight would give it, and of what it uses.
constexpr std::int64_t kBorrowerMinPermille = 600, kBorrowerUsedPermille = 700;

struct ClassOfPods {
  const char* name;
  std::int32_t value;
  bool global_default;
  const char* preemption_policy;
};
enum ClassIndex : std::uint32_t { kBatch, kExperiment, kStandard, kProduction };
constexpr std::array kClasses = {
    ClassOfPods{"batch", 0, false, ""},
    ClassOfPods{"experiment", 500, false, "Never"},
    ClassOfPods{"standard", 1000, true, ""},
    ClassOfPods{"production", 100'000, false, ""},
};

constexpr std::array kResources = {&ElasticQuotaGenerator::Amounts::cpu_milli,
                                   &ElasticQuotaGenerator::Amounts::memory_mib,
                                   &ElasticQuotaGenerator::Amounts::gpu};

ResourceList resource_list(const ElasticQuotaGenerator::Amounts& amounts, bool with_gpu) {
  ResourceList list = {{"cpu", Quantity::from_milli(amounts.cpu_milli)},
                       {"memory", memory_quantity(amounts.memory_mib)}};
  if (with_gpu) list.emplace_back(kGpuResource, Quantity::from_value(amounts.gpu));
  return list;
}

}  // namespace

ElasticQuotaGenerator::Amounts& ElasticQuotaGenerator::Amounts::operator+=(const Amounts& other) {
  for (const auto resource : kResources) this->*resource += other.*resource;
  return *this;
}

ElasticQuotaGenerator::ElasticQuotaGenerator(std::uint32_t teams, std::uint64_t seed)
    : seed_(seed), teams_(teams) {
  std::uint64_t pods_until = 0;
  for (std::uint32_t t = 0; t < teams; ++t) {
    Random random{seed_, kForTeam, t};
    Team& team = teams_[t];
    // In turn, so that few teams are of every kind too.
    team.kind = static_cast<Kind>(t % 3);
    team.weight = random.between(2, 12);
    const std::int64_t tenths = team.kind == Kind::kLender     ? kLenderTenths
                                : team.kind == Kind::kBorrower ? kBorrowerTenths
                                                               : kEvenTenths;
    pods_until += static_cast<std::uint64_t>(team.weight * tenths);
    team.pods_until = pods_until;
  }
}

std::uint32_t ElasticQuotaGenerator::team_of_pod(std::uint32_t pod_index) const {
  Random random{seed_, kForTeamOfPod, pod_index};
  const std::uint64_t drawn = random.next() % teams_.back().pods_until;
  const auto team =
      std::upper_bound(teams_.begin(), teams_.end(), drawn,
                       [](std::uint64_t draw, const Team& at) { return draw < at.pods_until; });
  return static_cast<std::uint32_t>(team - teams_.begin());
}

// Borrowers come first, and the others share what is left: all mins together are what the cluster
// guarantees, and at least what is used, as far as the nodes have it.
void ElasticQuotaGenerator::set_mins(std::int64_t Amounts::*resource, std::int64_t allocatable,
                                     std::span<const Amounts> used) {
  std::int64_t used_sum = 0, weights = 0, weights_of_others = 0;
  for (std::uint32_t t = 0; t < team_count(); ++t) {
    used_sum += used[t].*resource;
    weights += teams_[t].weight;
    if (teams_[t].kind != Kind::kBorrower) weights_of_others += teams_[t].weight;
  }
  const std::int64_t total =
      std::min(std::max(allocatable * kMinPermille / 1000, used_sum), allocatable);
  std::int64_t left = total;
  for (std::uint32_t t = 0; t < team_count(); ++t) {
    Team& team = teams_[t];
    if (team.kind != Kind::kBorrower) continue;
    std::int64_t min = total * team.weight * kBorrowerMinPermille / (weights * 1000);
    if (const std::int64_t uses = used[t].*resource; uses > 0) {
      min = std::min(min, uses * kBorrowerUsedPermille / 1000);
    }
    team.min.*resource = min;
    left -= min;
  }
  for (Team& team : teams_) {
    if (team.kind == Kind::kBorrower) continue;
    team.min.*resource = left * team.weight / weights_of_others;
  }
}

void ElasticQuotaGenerator::set_elastic_quotas(const Amounts& allocatable,
                                               std::span<const Amounts> used) {
  for (const auto resource : kResources) {
    set_mins(resource, allocatable.*resource, used);
    for (std::uint32_t t = 0; t < team_count(); ++t) {
      Random random{seed_, kForMax, t};
      Team& team = teams_[t];
      const std::int64_t beyond_min = team.min.*resource * random.between(13, 30) / 10;
      const std::int64_t beyond_used = used[t].*resource * random.between(11, 15) / 10 + 1;
      team.max.*resource = std::max(beyond_min, beyond_used);
    }
  }
}

std::string ElasticQuotaGenerator::team_name(std::uint32_t team) const {
  return fmt::format("team-{:03}", team);
}

std::uint32_t ElasticQuotaGenerator::app_of(std::uint32_t trace_app) const {
  return trace_app % kAppsPerTeam;
}

void ElasticQuotaGenerator::set_priority(Pod& pod, std::uint32_t pod_index,
                                         bool best_effort) const {
  Random random{seed_, kForPriority, pod_index};
  ClassIndex index = kBatch;
  if (!best_effort) {
    const std::uint32_t share = random.below(1000);
    index = share < 100   ? kBatch
            : share < 150 ? kExperiment
            : share < 750 ? kStandard
                          : kProduction;
  }
  pod.priority = kClasses[index].value;
  pod.priority_class_name = kClasses[index].name;
  pod.preemption_policy = kClasses[index].preemption_policy;
}

ElasticQuota ElasticQuotaGenerator::elastic_quota(std::uint32_t team) const {
  Random random{seed_, kForTeam, team, 1};
  ElasticQuota quota;
  quota.namespace_name = team_name(team);
  quota.name = "quota";
  quota.min = resource_list(teams_[team].min, true);
  const bool limits_gpu = !random.permille(100);
  if (!random.permille(50)) quota.max = resource_list(teams_[team].max, limits_gpu);
  return quota;
}

std::uint32_t ElasticQuotaGenerator::budget_count() const { return team_count() * kBudgetsPerTeam; }

PodDisruptionBudget ElasticQuotaGenerator::budget(std::uint32_t index) const {
  Random random{seed_, kForDisruptions, index};
  const std::uint32_t group = index % kBudgetsPerTeam;
  const auto app = [&](std::uint32_t number) {
    return fmt::format("app-{}", group * kAppsPerBudget + number);
  };
  const std::uint32_t first = random.below(kAppsPerBudget - 1);
  PodDisruptionBudget budget;
  budget.namespace_name = team_name(index / kBudgetsPerTeam);
  budget.name = fmt::format("budget-{}", group);
  NodeSelectorRequirement apps{.key = "app", .op = "In", .values = {app(first)}};
  if (random.permille(250)) apps.values.push_back(app(first + 1));
  budget.selector = {std::move(apps)};
  budget.disruptions_allowed = random.between(0, 3);
  return budget;
}

std::uint32_t ElasticQuotaGenerator::priority_class_count() { return kClasses.size(); }

PriorityClass ElasticQuotaGenerator::priority_class(std::uint32_t index) {
  const ClassOfPods& drawn = kClasses[index];
  PriorityClass priority_class;
  priority_class.name = drawn.name;
  priority_class.value = drawn.value;
  priority_class.global_default = drawn.global_default;
  priority_class.preemption_policy = drawn.preemption_policy;
  return priority_class;
}

}  // namespace headroom
