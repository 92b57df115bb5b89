// The limits and ranges of a Profile, whoever filled it.
#pragma once

#include "engine/profile/profile.h"
#include "objects/error.h"

namespace headroom {

// kInvalid, kLimitExceeded or kUnsupported; the message names the field and the value.
Result<void> check_profile(const Profile& profile);

}  // namespace headroom
