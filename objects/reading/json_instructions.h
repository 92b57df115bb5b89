// simdjson finds out at its first use which instructions there are, and takes memory for that in
// functions that may not throw. Whoever parses includes this, so that it does when the program
// starts.
#pragma once

#include <simdjson.h>

#include <string>

namespace headroom {

inline const std::string kJsonInstructions = simdjson::get_active_implementation()->name();

}  // namespace headroom
