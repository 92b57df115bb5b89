// Which pods ask for others: whether a node takes them depends on the pods that are on nodes then.
//
// Preferences and soft constraints do not count: no node rejects a pod for them. Thread safety:
// functions. Cost: O(constraints).
#pragma once

#include "engine/profile/profile.h"
#include "objects/objects.h"

namespace headroom {

// Required affinity either way, or a hard spread, its own or the profile's.
bool asks_for_others(const Pod& pod, const Profile& profile);
// A pod that is placed may be what it waits for: not where it keeps away from others alone.
bool waits_for_others(const Pod& pod, const Profile& profile);

// The same pod, less what it waits for.
Pod without_others(Pod pod);

}  // namespace headroom
