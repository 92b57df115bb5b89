// SimulatedBudgets: disruption budgets as pods have to go and come back.
//
// A victim takes one of what every budget that selects it allows, and gives it back where it is
// placed again; below 0 a budget allows 0. What else a disruption controller counts (pods that end
// or begin by themselves) changes no budget. Thread safety: one thread at a time. Cost: O(budgets
// of the pod's namespace) per pod.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class SimulatedBudgets {
 public:
  explicit SimulatedBudgets(std::span<const PodDisruptionBudget> budgets);

  // The budgets that the pod changes, as they are after `by` (-1: it goes, 1: it is back).
  std::vector<PodDisruptionBudget> change(const Pod& pod, int by);

 private:
  struct Budget {
    PodDisruptionBudget object;  // as given
    std::int64_t allowed;
  };
  std::unordered_map<std::string, std::vector<Budget>, BytesHash, std::equal_to<>> by_namespace_;
};

}  // namespace headroom
