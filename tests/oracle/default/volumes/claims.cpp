// See claims.h. default-plugins.md is silent on ephemeral volumes; these are kube-scheduler's
// words.
#include "oracle/default/volumes/claims.h"

namespace oracle::defaults {

std::optional<std::string> claim_name(const Pod& pod, const Volume& volume) {
  if (volume.claim) return volume.claim;
  if (volume.ephemeral) return pod.name + "-" + volume.name;
  return std::nullopt;
}

const Claim* find_claim(const Facts& facts, const Pod& pod, const std::string& name) {
  const auto found = facts.claims.find(pod.space + "/" + name);
  return found == facts.claims.end() ? nullptr : &found->second;
}

bool is_made_for(const Claim& claim, const Pod& pod) {
  return claim.controller && claim.controller->uid == pod.uid;
}

std::string not_made_for(const Claim& claim, const Pod& pod) {
  return "PVC " + claim.space + "/" + claim.name + " was not created for pod " + pod.key() +
         " (pod is not owner)";
}

std::string not_found(const std::string& resource, const std::string& name) {
  return resource + " \"" + name + "\" not found";
}

}  // namespace oracle::defaults
