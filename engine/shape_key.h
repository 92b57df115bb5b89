// The bytes that two pods have in common when they are of one shape: every field of a pod that a
// policy or a filter reads, and no other.
#pragma once

#include <string>

#include "objects/objects.h"

namespace headroom {

// Overwrites `key`. Costs a copy of those fields; does not allocate once `key` has grown.
void write_shape_key(const Pod& pod, std::string& key);

}  // namespace headroom
