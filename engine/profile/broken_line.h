// broken_line: the score by utilization that a shape of points gives, in [0, 100].
//
// Source: kube-scheduler helper.BuildBrokenLinearFunction, with scores already times 10. Quotients
// are cut off. Pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

std::int64_t broken_line(const std::vector<ShapePoint>& shape, std::int64_t utilization);

}  // namespace headroom
