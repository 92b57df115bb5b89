// PodDisruptionBudgets: which pods they cover and how many disruptions they have left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/preemption.h"

namespace oracle {

class DisruptionBudgets {
 public:
  DisruptionBudgets(const Facts& facts, Mode mode);

  // Whether evicting the pod, after those that were noted, goes beyond a budget.
  bool breaks(const PodView& pod) const { return count_broken(pod) != 0; }
  // How many budgets it goes beyond.
  std::int64_t count_broken(const PodView& pod) const;
  // The pod takes one disruption of every budget that covers it.
  void note(const PodView& pod);

 private:
  std::vector<std::string> covering(const PodView& pod) const;

  const Facts& facts_;
  Mode mode_;
  std::map<std::string, std::int64_t> left_;  // by namespace/name of the budget
};

}  // namespace oracle
