#include "engine/applications/claim.h"

#include <algorithm>

namespace headroom {

bool has_claims(const Pod& pod) {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(),
                     [](const Volume& volume) { return volume.claim || volume.ephemeral; });
}

bool is_made_for(const PersistentVolumeClaim& claim, std::string_view uid) {
  return claim.controller && claim.controller->uid == uid;
}

std::string not_made_for(const PersistentVolumeClaim& claim, const Application& application) {
  return "PVC " + pod_key(claim.namespace_name, claim.name) + " was not created for pod " +
         pod_key(application.namespace_name, application.pod_name) + " (pod is not owner)";
}

std::string not_found(std::string_view resource, std::string_view name) {
  return std::string(resource).append(" \"").append(name).append("\" not found");
}

}  // namespace headroom
