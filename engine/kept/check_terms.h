// How many terms a pod may have that is to be decided.
#pragma once

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// kLimitExceeded where one list has more than kTermsPerListMax; it names the pod and the list.
Result<void> check_terms(const Pod& pod);

}  // namespace headroom
