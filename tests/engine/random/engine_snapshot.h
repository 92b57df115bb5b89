// Everything that an engine answers, as text: two states that could be told apart by asking about
// these pods differ here, but for the epoch and for what asking costs.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace headroom {

std::string snapshot_text(Engine& engine, const std::vector<Pod>& pods);

// The lines that only one of them has; "" where they are the same.
std::string snapshot_difference(const std::string& expected, const std::string& came);

}  // namespace headroom
