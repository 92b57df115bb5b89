// What the rows ask an engine for: so many of the best nodes, and how much about them.
#pragma once

#include "engine/options.h"

namespace headroom {

// The best node alone, as whoever places pods asks.
inline constexpr EvaluateOptions kBest{.top_k = 1, .plugin_scores = false, .reasons = false};
// The best sixteen, without what explains them.
inline constexpr EvaluateOptions kFast{.top_k = 16, .plugin_scores = false, .reasons = false};
// The best sixteen with the scores of each plugin, and why other nodes are not feasible.
inline constexpr EvaluateOptions kFull{.top_k = 16};

}  // namespace headroom
