// One recorded case of CapacityQuota in mode Upstream: what cluster-autoscaler's tracker, status
// controller and upcoming-node computation said. The form is described beside the cases
// (capacity-quota.md). An argument, step or expectation that is not known is a difference.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/conformance/case.h"

namespace headroom {

// The differences of the first step that has any; empty if the case passes. Throws
// nlohmann::json::exception for a case of another form.
std::vector<ConformanceDifference> run_upstream_capacity_quota_case(const nlohmann::json& recorded);

}  // namespace headroom
