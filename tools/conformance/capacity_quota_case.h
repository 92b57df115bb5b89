// One conformance case of CapacityQuota in mode Proposal, run through CapacityQuotas as any
// embedding program would use it. After each step its state must be valid.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/conformance/case.h"

namespace headroom {

// As run_conformance_case().
std::vector<ConformanceDifference> run_capacity_quota_case(const nlohmann::json& recorded);

}  // namespace headroom
