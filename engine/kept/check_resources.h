// What amounts of resources may be: at least 0, and within int64 in the resource's unit.
#pragma once

#include <string>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// kInvalid or kLimitExceeded, which name object, field, resource and amount.
Result<void> check_resources(const ResourceList& list, const std::string& object,
                             const char* field);
// All lists of the pod.
Result<void> check_resources(const Pod& pod);

}  // namespace headroom
