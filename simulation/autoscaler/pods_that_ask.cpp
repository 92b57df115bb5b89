#include "simulation/autoscaler/pods_that_ask.h"

#include <algorithm>

namespace headroom {

bool waits_for_others(const Pod& pod, const Profile& profile) {
  const auto hard = [](const TopologySpreadConstraint& constraint) { return constraint.hard; };
  const auto& spread = pod.topology_spread.empty() ? profile.topology_spread.default_constraints
                                                   : pod.topology_spread;
  return !pod.pod_affinity.required.empty() || std::any_of(spread.begin(), spread.end(), hard);
}

bool asks_for_others(const Pod& pod, const Profile& profile) {
  return !pod.pod_anti_affinity.required.empty() || waits_for_others(pod, profile);
}

Pod without_others(Pod pod) {
  pod.pod_affinity.required.clear();
  std::erase_if(pod.topology_spread,
                [](const TopologySpreadConstraint& constraint) { return constraint.hard; });
  return pod;
}

}  // namespace headroom
