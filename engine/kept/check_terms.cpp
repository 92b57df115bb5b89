#include "engine/kept/check_terms.h"

#include <fmt/format.h>

#include "engine/limits.h"

namespace headroom {

Result<void> check_terms(const Pod& pod) {
  const PodAffinity &affinity = pod.pod_affinity, &anti_affinity = pod.pod_anti_affinity;
  for (const auto& [size, list] :
       {std::pair(pod.topology_spread.size(), "topologySpreadConstraints"),
        {pod.preferred_node_affinity.size(),
         "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
        {affinity.required.size(),
         "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
        {affinity.preferred.size(),
         "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
        {anti_affinity.required.size(),
         "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
        {anti_affinity.preferred.size(),
         "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"}}) {
    if (size > kTermsPerListMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("Pod {}: spec.{}: {} terms, kTermsPerListMax is {}",
                              pod_key(pod.namespace_name, pod.name), list, size, kTermsPerListMax));
    }
  }
  return {};
}

}  // namespace headroom
