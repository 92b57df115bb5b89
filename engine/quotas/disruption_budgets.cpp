#include "engine/quotas/disruption_budgets.h"

#include <algorithm>
#include <tuple>

#include "engine/kept/digest.h"

namespace headroom {

// An empty selector selects nothing, and so does any in mode Upstream where the pod has no labels
// (kube-scheduler's filterPodsWithPDBViolation).
bool DisruptionBudgets::selects(const Budget& budget, const Group& group) const {
  return budget.used && budget.namespace_id == group.namespace_id &&
         !budget.object.selector.empty() && !(mode_ == Mode::kUpstream && group.labels.empty()) &&
         matches(budget.object.selector, group.labels);
}

const PodDisruptionBudget* DisruptionBudgets::find(std::string_view key) const {
  const auto found = ids_.find(key);
  return found == ids_.end() ? nullptr : &budgets_[found->second].object;
}

DisruptionBudgets::OfNamespace& DisruptionBudgets::of_namespace(NamespaceId id) {
  if (id >= of_namespace_.size()) {
    of_namespace_.resize(id + 1);
  }
  return of_namespace_[id];
}

void DisruptionBudgets::rematch(BudgetId id) {
  for (const GroupId g : of_namespace(budgets_[id].namespace_id).groups) {
    Group& group = groups_[g];
    const auto at = std::lower_bound(group.budgets.begin(), group.budgets.end(), id);
    const bool listed = at != group.budgets.end() && *at == id;
    const bool selected = selects(budgets_[id], group);
    if (selected && !listed) {
      group.budgets.insert(at, id);
    } else if (!selected && listed) {
      group.budgets.erase(at);
    }
  }
}

void DisruptionBudgets::upsert(const PodDisruptionBudget& budget, NamespaceId namespace_id) {
  const std::string key = pod_key(budget.namespace_name, budget.name);
  const auto found = ids_.find(key);
  BudgetId id = 0;
  if (found != ids_.end()) {
    id = found->second;
  } else {
    id = released_budgets_.take([this] {
      budgets_.emplace_back();
      return static_cast<BudgetId>(budgets_.size() - 1);
    });
  }
  const bool same = found != ids_.end() && budgets_[id].object.selector == budget.selector;
  if (found == ids_.end()) {
    of_namespace(namespace_id).budgets.push_back(id);
  }
  ids_.emplace(key, id);
  budgets_[id] = {budget, namespace_id, true};
  if (!same) {
    rematch(id);
  }
}

void DisruptionBudgets::remove(std::string_view key) {
  const auto found = ids_.find(key);
  if (found == ids_.end()) {
    return;
  }
  const BudgetId id = found->second;
  ids_.erase(found);
  budgets_[id].used = false;
  rematch(id);
  std::erase(of_namespace(budgets_[id].namespace_id).budgets, id);
  budgets_[id] = {};
  released_budgets_.give(id);
}

std::vector<PodDisruptionBudget> DisruptionBudgets::all() const {
  std::vector<PodDisruptionBudget> all;
  for (const auto& [key, id] : ids_) {
    all.push_back(budgets_[id].object);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.namespace_name, a.name) < std::tie(b.namespace_name, b.name);
  });
  return all;
}

GroupId DisruptionBudgets::acquire(NamespaceId namespace_id, const StringMap& labels) {
  key_.assign(reinterpret_cast<const char*>(&namespace_id), sizeof namespace_id);
  for (const auto& [name, value] : labels) {
    for (const std::string* text : {&name, &value}) {
      const std::size_t size = text->size();  // a text may have any byte in it
      key_.append(reinterpret_cast<const char*>(&size), sizeof size).append(*text);
    }
  }
  if (const auto found = group_ids_.find(key_); found != group_ids_.end()) {
    ++groups_[found->second].pods;
    return found->second;
  }
  const GroupId id = released_groups_.take([this] { return groups_.grow(); });
  Group& group = groups_[id];
  OfNamespace& its = of_namespace(namespace_id);
  group = {key_, namespace_id, labels, 1, static_cast<std::uint32_t>(its.groups.size()), {}};
  its.groups.push_back(id);
  group_ids_.emplace(group.key, id);
  for (const BudgetId b : its.budgets) {
    if (selects(budgets_[b], group)) {
      group.budgets.push_back(b);
    }
  }
  std::sort(group.budgets.begin(), group.budgets.end());
  return id;
}

void DisruptionBudgets::release(GroupId group) {
  if (--groups_[group].pods == 0) {
    std::vector<GroupId>& others = of_namespace(groups_[group].namespace_id).groups;
    const std::uint32_t place = groups_[group].place;
    groups_[others.back()].place = place;
    others[place] = others.back();
    others.pop_back();
    group_ids_.erase(groups_[group].key);
    groups_[group] = {};
    released_groups_.give(group);
  }
}

std::int64_t DisruptionBudgets::labels_hash(GroupId group) const {
  std::uint64_t hash = 0;
  for (const auto& [name, value] : groups_[group].labels) {
    hash = mix(mix(hash ^ hash_bytes(name)) ^ hash_bytes(value));
  }
  return static_cast<std::int64_t>(hash);
}

std::uint64_t DisruptionBudgets::digest() const {
  Digest digest;
  for (const auto& [key, id] : ids_) {
    const PodDisruptionBudget& budget = budgets_[id].object;
    digest.add("budget", key, budget.disruptions_allowed);
    for (const std::string& pod : budget.disrupted_pods) {
      digest.add("disrupted", key, pod);
    }
    for (const NodeSelectorRequirement& requirement : budget.selector) {
      digest.add("selector", key, requirement.key, requirement.op,
                 static_cast<std::int64_t>(requirement.values.size()));
      for (const std::string& value : requirement.values) {
        digest.add("value", key, requirement.key, requirement.op, value);
      }
    }
  }
  return digest.total();
}

}  // namespace headroom
