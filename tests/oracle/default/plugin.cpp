// See plugin.h.
#include "oracle/default/plugin.h"

#include <algorithm>

namespace oracle::defaults {

void normalize_by_highest(Scores& scores, bool reversed) {
  std::int64_t highest = 0;
  for (const auto& [node, score] : scores) highest = std::max(highest, score);
  for (auto& [node, score] : scores) {
    const std::int64_t scaled = highest == 0 ? score : 100 * score / highest;
    score = reversed ? 100 - scaled : scaled;
  }
}

}  // namespace oracle::defaults
