// The limits and ranges of a Profile, whoever filled it: the reader of a file or a caller in C++.
//
// Pure. Stops at the first mistake. Cost: a pass over the profile, once an engine.
#pragma once

#include "engine/profile/profile.h"
#include "objects/error.h"

namespace headroom {

// kInvalid, kLimitExceeded or kUnsupported; the message names the field and the value.
Result<void> check_profile(const Profile& profile);

}  // namespace headroom
