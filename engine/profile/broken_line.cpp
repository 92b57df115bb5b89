#include "engine/profile/broken_line.h"

namespace headroom {

std::int64_t broken_line(const std::vector<ShapePoint>& shape, std::int64_t utilization) {
  constexpr std::int64_t kScale = 100 / kShapeScoreMax;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization <= shape[i].utilization) {
      if (i == 0) {
        return shape[0].score * kScale;
      }
      const auto& from = shape[i - 1];
      return from.score * kScale + (shape[i].score - from.score) * kScale *
                                       (utilization - from.utilization) /
                                       (shape[i].utilization - from.utilization);
    }
  }
  return shape.empty() ? 0 : shape.back().score * kScale;
}

}  // namespace headroom
