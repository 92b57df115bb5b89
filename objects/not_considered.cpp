#include "objects/not_considered.h"

namespace headroom {

const char* to_string(NotConsidered what) {
  // No default: the compiler reports a member without words.
  switch (what) {
    case NotConsidered::kSchedulingGates:
      return "scheduling gates";
    case NotConsidered::kSchedulerName:
      return "another scheduler's name";
    case NotConsidered::kRequiredPodAffinity:
      return "required pod affinity";
    case NotConsidered::kRequiredPodAntiAffinity:
      return "required pod anti-affinity";
    case NotConsidered::kPreferredPodAffinity:
      return "preferred pod affinity";
    case NotConsidered::kPreferredPodAntiAffinity:
      return "preferred pod anti-affinity";
    case NotConsidered::kPreferredNodeAffinity:
      return "preferred node affinity";
    case NotConsidered::kHardTopologySpread:
      return "hard topology spread constraints";
    case NotConsidered::kSoftTopologySpread:
      return "soft topology spread constraints";
    case NotConsidered::kPersistentVolumeClaims:
      return "persistent volume claims";
    case NotConsidered::kVolumes:
      return "volumes that not every node can attach";
    case NotConsidered::kResourceClaims:
      return "resource claims";
    case NotConsidered::kPreferNoScheduleTaints:
      return "PreferNoSchedule taints of nodes";
  }
  return "something unknown";
}

std::vector<NotConsidered> NotConsideredSet::list() const {
  std::vector<NotConsidered> list;
  for (std::uint32_t i = 0; i < kNotConsideredCount; ++i) {
    const auto what = static_cast<NotConsidered>(i);
    if (contains(what)) list.push_back(what);
  }
  return list;
}

}  // namespace headroom
