#include "simulation/not_considered_pods.h"

namespace headroom {

void NotConsideredPods::add(NotConsideredSet set) {
  for (const NotConsidered what : set.list()) ++reports_[what].pods;
}

void NotConsideredPods::add_there(NotConsideredSet set) {
  for (const NotConsidered what :
       {NotConsidered::kRequiredPodAffinity, NotConsidered::kRequiredPodAntiAffinity,
        NotConsidered::kPreferredPodAffinity, NotConsidered::kPreferredPodAntiAffinity}) {
    if (set.contains(what)) ++reports_[what].pods_there;
  }
}

std::vector<NotConsideredReport> NotConsideredPods::reports() const {
  std::vector<NotConsideredReport> reports;
  for (const auto& [what, counted] : reports_) {
    reports.push_back(counted);
    reports.back().what = what;
  }
  return reports;
}

}  // namespace headroom
