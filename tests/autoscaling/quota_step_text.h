// A step of a quota script as one line.
#pragma once

#include <string>

#include "tests/autoscaling/quota_script.h"

namespace headroom {

std::string to_text(const QuotaStep& step);

}  // namespace headroom
