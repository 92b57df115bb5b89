// The claims of a pod: by persistentVolumeClaim, or made for an ephemeral volume.
#pragma once

#include "oracle/default/facts.h"

namespace oracle::defaults {

// The name of the volume's claim; nullopt for a volume without one.
std::optional<std::string> claim_name(const Pod& pod, const Volume& volume);

// In the pod's namespace; null where there is none.
const Claim* find_claim(const Facts& facts, const Pod& pod, const std::string& name);

// Whether the claim was made for the pod's ephemeral volume, and what to say where it was not.
bool is_made_for(const Claim& claim, const Pod& pod);
std::string not_made_for(const Claim& claim, const Pod& pod);

// As the API says it: persistentvolumeclaim "NAME" not found.
std::string not_found(const std::string& resource, const std::string& name);

}  // namespace oracle::defaults
