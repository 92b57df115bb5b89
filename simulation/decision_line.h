// One decision of a simulation as a line of JSON.
#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"
#include "simulation/pod_queue.h"

namespace headroom {

// `post_filter`: what was asked where the pod found no place; may be null. `node`: where it is now,
// empty if it found no place. The time is the engine's.
std::string decision_line(const Engine& engine, const PendingPod& pending, const Decision& decision,
                          const PostFilter* post_filter, std::string_view node);

}  // namespace headroom
