// How an engine is made and asked; see engine.h.
//
// Plain values; spans belong to the caller and are read during the call alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "objects/objects.h"

namespace headroom {

struct EngineOptions {
  bool shape_cache = true;  // off: no answer changes, only its cost
  // Of shapes that only decisions ask for, and of what is cached for any: the least recently used
  // go first.
  std::size_t shape_cache_bytes_max = 512ull << 20;
  std::int64_t threads = 0;  // at most kThreadsMax (limits.h); 0: what TBB takes
  std::uint64_t seed = 0;    // 0: ties go to the lowest row; else to an order drawn from the seed
};

struct EvaluateOptions {
  std::uint32_t top_k = 1;    // in [1, kTopKMax]
  bool plugin_scores = true;  // fill NodeScore::plugins
  bool reasons = true;        // fill Decision::reasons
};

// A node as it would be, while a question is answered.
struct FilterOptions {
  std::span<const PodName> without = {};  // as if these neither counted nor waited for room there
  // As if these were assumed there. One that counts there already changes nothing, even if
  // `without` has it; nor does one that is bound elsewhere.
  std::span<const Pod> with = {};
};

struct PostFilterOptions {
  bool candidates = false;  // fill PostFilter::candidates; costs a dry run and texts for every node
  bool bound = true;        // off: no answer changes, only its cost
};

// Asked between pieces of work of some microseconds: true ends the turn, and the caller asks for
// another one when others have had theirs. Always at least one piece is done.
using Pause = std::function<bool()>;
inline const Pause kInOneTurn = [] { return false; };  // all in one turn

}  // namespace headroom
