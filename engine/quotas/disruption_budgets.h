// DisruptionBudgets: which PodDisruptionBudgets a pod counts in.
//
// Pods of one namespace with equal labels are one group; a group knows its budgets, so that a
// preemption matches no labels. Thread safety: one thread at a time; const members from any number.
// Cost: a pod is a look-up by its labels, of which new ones are matched against the budgets of
// their namespace; a budget whose selector is new is matched against the groups of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/profile/profile.h"
#include "engine/quotas/elastic_quotas.h"
#include "layout/chunked.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

using BudgetId = std::uint32_t;

class DisruptionBudgets {
 public:
  explicit DisruptionBudgets(Mode mode) : mode_(mode) {}

  void upsert(const PodDisruptionBudget& budget, NamespaceId namespace_id);
  void remove(std::string_view key);  // "namespace/name"
  std::uint32_t count() const { return static_cast<std::uint32_t>(ids_.size()); }
  const PodDisruptionBudget* find(std::string_view key) const;  // nullptr if it is not known

  // The group of one pod more; released with each pod that leaves it.
  GroupId acquire(NamespaceId namespace_id, const StringMap& labels);
  void retain(GroupId group) { ++groups_[group].pods; }
  void release(GroupId group);

  std::span<const BudgetId> of(GroupId group) const { return groups_[group].budgets; }
  const PodDisruptionBudget& at(BudgetId id) const { return budgets_[id].object; }
  std::vector<PodDisruptionBudget> all() const;  // sorted by key
  NamespaceId namespace_of(GroupId group) const { return groups_[group].namespace_id; }
  const StringMap& labels_of(GroupId group) const { return groups_[group].labels; }
  // For digests.
  std::int64_t labels_hash(GroupId group) const;
  std::uint64_t digest() const;

 private:
  struct Budget {
    PodDisruptionBudget object;
    NamespaceId namespace_id = 0;
    bool used = false;
  };
  struct Group {
    std::string key;
    NamespaceId namespace_id = 0;
    StringMap labels;
    std::uint32_t pods = 0;
    std::uint32_t place = 0;        // in its namespace's list
    std::vector<BudgetId> budgets;  // ascending
  };

  // In no order.
  struct OfNamespace {
    std::vector<BudgetId> budgets;
    std::vector<GroupId> groups;
  };

  OfNamespace& of_namespace(NamespaceId id);
  bool selects(const Budget& budget, const Group& group) const;
  void rematch(BudgetId id);

  const Mode mode_;
  std::vector<Budget> budgets_;
  FreeNumbers released_budgets_;
  std::vector<OfNamespace> of_namespace_;  // by number
  BytesMap<std::string, BudgetId> ids_;
  Chunked<Group> groups_;
  FreeNumbers released_groups_;
  BytesMap<std::string_view, GroupId> group_ids_;  // into Group::key
  std::string key_;                                // scratch
};

}  // namespace headroom
