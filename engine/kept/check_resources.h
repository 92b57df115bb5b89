// What amounts of resources may be: at least 0, and within int64 in the resource's unit; and of how
// many resources a pod may speak.
#pragma once

#include <string>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// kInvalid or kLimitExceeded, which name object, field, resource and amount.
Result<void> check_resources(const ResourceList& list, const std::string& object,
                             const char* field);
// All lists of the pod, which name at most kResourcesPerPodMax resources in all: its sums go
// through them for each container.
Result<void> check_resources(const Pod& pod);

}  // namespace headroom
