// helper.BuildBrokenLinearFunction of kube-scheduler, over a shape of points {"utilization",
// "score"}.
#pragma once

#include <cstdint>

#include "oracle/json.h"

namespace oracle {

// The scores are stretched from 10 to 100; quotients are cut off.
std::int64_t broken_line(const Json& shape, std::int64_t utilization);

}  // namespace oracle
