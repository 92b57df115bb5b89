// What volume plugins say alike of a pod's claim: in kube-scheduler's words.
// Source: kube-scheduler v1.37's volume plugins. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "engine/applications/application.h"
#include "objects/objects.h"

namespace headroom {

// Some volume is a claim's, or an ephemeral one, whose claim is made for the pod.
bool has_claims(const Pod& pod);
// An ephemeral volume's claim is its pod's.
bool is_made_for(const PersistentVolumeClaim& claim, std::string_view uid);
std::string not_made_for(const PersistentVolumeClaim& claim, const Application& application);

std::string not_found(std::string_view resource, std::string_view name);

}  // namespace headroom
