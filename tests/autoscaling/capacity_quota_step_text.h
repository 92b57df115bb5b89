// A step of a quota script as one line.
#pragma once

#include <string>

#include "tests/autoscaling/capacity_quota_script.h"

namespace headroom {

std::string to_text(const CapacityQuotaStep& step);

}  // namespace headroom
