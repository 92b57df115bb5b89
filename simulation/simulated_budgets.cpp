#include "simulation/simulated_budgets.h"

#include <algorithm>

namespace headroom {

SimulatedBudgets::SimulatedBudgets(std::span<const PodDisruptionBudget> budgets) {
  for (const PodDisruptionBudget& budget : budgets) {
    if (budget.selector.empty()) continue;  // selects no pod
    by_namespace_[budget.namespace_name].push_back({budget, budget.disruptions_allowed});
  }
}

std::vector<PodDisruptionBudget> SimulatedBudgets::change(const Pod& pod, int by) {
  std::vector<PodDisruptionBudget> changed;
  const auto found = by_namespace_.find(pod.namespace_name);
  if (found == by_namespace_.end()) return changed;
  for (Budget& budget : found->second) {
    const std::vector<std::string>& disrupted = budget.object.disrupted_pods;
    if (!matches(budget.object.selector, pod.labels) ||
        std::binary_search(disrupted.begin(), disrupted.end(), pod.name)) {
      continue;
    }
    budget.allowed += by;
    changed.push_back(budget.object);
    changed.back().disruptions_allowed = std::max<std::int64_t>(0, budget.allowed);
  }
  return changed;
}

}  // namespace headroom
