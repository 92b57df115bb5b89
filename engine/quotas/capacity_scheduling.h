// CapacityScheduling: the facts behind elastic quotas and preemption.
//
// Quotas and what is used of them, budgets, and for every row its pods in the order of their
// importance: what the pre-filter and the post-filter read. The cluster calls it where a pod begins
// or ends to count; it knows rows by number alone.
// Thread safety: one thread at a time; const members from any number, pods_of() for different rows.
// Cost: a pod's event moves the pods of its row that are less important; those that names alone
// tell apart are put in their order when somebody looks at the row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/quotas/disruption_budgets.h"
#include "engine/quotas/elastic_quotas.h"
#include "engine/quotas/priorities.h"
#include "engine/table/facts.h"
#include "objects/error.h"

namespace headroom {

// A pod on a row as preemption sees it.
struct RankedPod {
  std::int32_t priority;
  NamespaceId namespace_id;
  std::int64_t start_us;  // INT64_MAX: not known, later than any
  PodId pod;
  ShapeId shape;
  GroupId group;
};

// How the rules see a pod that is to be placed.
struct PodClaim {
  NamespaceId namespace_id;
  std::int32_t priority;
  bool never_preempts;
};

class CapacityScheduling {
 public:
  CapacityScheduling(const Profile& profile, const Facts& facts, const Priorities& priorities);

  // --- Facts ---
  ElasticQuotas& elastic_quotas() { return quotas_; }
  const ElasticQuotas& elastic_quotas() const { return quotas_; }
  const DisruptionBudgets& budgets() const { return budgets_; }
  // kInvalid or kLimitExceeded if the object cannot be kept; it says which field, and why.
  Result<void> check(const ElasticQuota& quota) const;
  Result<void> check(const PodDisruptionBudget& budget) const;
  void upsert(const PodDisruptionBudget& budget);
  void remove_budget(std::string_view key);  // "namespace/name"

  // --- Pods ---
  // What the pod asks of its quota.
  Amounts elastic_quota_request(const Pod& pod);
  // Everything but the priority and the nominated row. A rank holds its namespace and group.
  void set_rank(PodFacts& facts, const Pod& pod);
  void clear_rank(PodFacts& facts);
  // For a copy of the rank, which is cleared like any.
  void retain_rank(const PodRank& rank);
  // A pod begins or ends to count on the row: used, and the row's order. Both ways with the same
  // facts.
  void count(std::uint32_t row, PodId id);
  void uncount(std::uint32_t row, PodId id);
  // A pod begins (1) or ends (-1) to wait for room on a node that is there.
  void count_nominated(PodId id, int sign);
  PodClaim claim(const Pod& pod) const;
  // How the quotas see a pod of that claim and shape.
  ElasticQuotaStanding standing(const PodClaim& claim, const PodShape& shape) const {
    return quotas_.standing(claim.namespace_id, claim.priority, shape.elastic_quota_request);
  }

  // --- Looking ---
  // Least important first.
  std::span<const RankedPod> pods_of(std::uint32_t row) const {
    if (row < ranked_.size() && ranked_[row].tied) {
      order_ties(ranked_[row]);
    }
    return listed(row);
  }
  // The same, but that those whom names alone tell apart may be in any order among themselves.
  std::span<const RankedPod> listed(std::uint32_t row) const {
    return row < ranked_.size() ? std::span<const RankedPod>(ranked_[row].pods)
                                : std::span<const RankedPod>();
  }
  // For validate(): whether that is so.
  bool is_in_order(std::uint32_t row) const;
  void prefetch_list(std::uint32_t row) const {
    if (row < ranked_.size()) {
      __builtin_prefetch(&ranked_[row], 1);
    }
  }
  void prefetch(std::uint32_t row) const {
    const std::span<const RankedPod> pods = listed(row);
    for (std::size_t i = 0; i < pods.size(); i += 2) {
      __builtin_prefetch(&pods[i]);
    }
  }
  // By priority, earlier start, then name.
  bool less_important(const RankedPod& a, const RankedPod& b) const;
  bool cross_node() const { return cross_node_; }
  // Of quotas and budgets; the same for the same facts.
  std::uint64_t digest() const;

 private:
  struct RankedRow {
    std::vector<RankedPod> pods;  // by priority, then start
    bool tied = false;  // those of one priority and start are in no order: names are far in memory
  };

  void release(const PodRank& rank);
  void order_ties(RankedRow& row) const;

  const Mode mode_;
  const bool cross_node_;
  const Facts& facts_;
  const Priorities& priorities_;
  ElasticQuotas quotas_;
  DisruptionBudgets budgets_;
  mutable std::vector<RankedRow> ranked_;  // by row
};

}  // namespace headroom
