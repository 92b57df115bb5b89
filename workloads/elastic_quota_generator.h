// ElasticQuotaGenerator: the teams of a synthetic cluster, their elastic quotas, budgets and
// priorities.
//
// Every team is a namespace (team-000, ...) with one quota over cpu, memory and nvidia.com/gpu. A
// team is a lender, which has few pods for its min, a borrower, which has many, or neither, a third
// of them each. The mins of all teams together stay within what the nodes have; a borrower's is
// below what its bound pods use. Every max is above its min and above what is used. One quota in 10
// names no max for GPUs, and one in 20 no max at all.
//
// Pods are of four priority classes. A team has 20 apps (the label app), and a budget for one group
// of apps in four, of one app or of two, which allows 0 to 3 disruptions.
//
// Any object is made on its own, from the options and its index. Thread safety: const after
// set_elastic_quotas(). Cost: O(quotas).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "objects/objects.h"

namespace headroom {

class ElasticQuotaGenerator {
 public:
  struct Amounts {
    std::int64_t cpu_milli = 0, memory_mib = 0, gpu = 0;
    Amounts& operator+=(const Amounts& other);
  };

  // `teams` above 0.
  ElasticQuotaGenerator(std::uint32_t teams, std::uint64_t seed);
  // Draws min and max. `used`: what bound pods request, by team.
  void set_elastic_quotas(const Amounts& allocatable, std::span<const Amounts> used);

  std::uint32_t team_of_pod(std::uint32_t pod_index) const;
  std::string team_name(std::uint32_t team) const;
  // Drawn from the trace's app, of which there are more.
  std::uint32_t app_of(std::uint32_t trace_app) const;
  // Class, priority and preemption policy, as admission fills them in.
  void set_priority(Pod& pod, std::uint32_t pod_index, bool best_effort) const;

  ElasticQuota elastic_quota(std::uint32_t team) const;
  std::uint32_t budget_count() const;
  PodDisruptionBudget budget(std::uint32_t index) const;

  static std::uint32_t priority_class_count();
  static PriorityClass priority_class(std::uint32_t index);

 private:
  std::uint32_t team_count() const { return static_cast<std::uint32_t>(teams_.size()); }
  enum class Kind : std::uint8_t { kLender, kEven, kBorrower };
  struct Team {
    Kind kind = Kind::kEven;
    std::int64_t weight = 0;       // of its min
    std::uint64_t pods_until = 0;  // cumulative weight of its pods
    Amounts min, max;
  };

  void set_mins(std::int64_t Amounts::*resource, std::int64_t allocatable,
                std::span<const Amounts> used);

  const std::uint64_t seed_;
  std::vector<Team> teams_;
};

}  // namespace headroom
