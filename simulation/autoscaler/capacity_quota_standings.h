// What has become of capacity quotas since nodes are added: where each limit stands, what is
// reported of it, and which rules do not hold.
//
// Pure functions. `at_start`: the quotas' status before any node was added; quotas neither come nor
// go after that. Cost: O(quotas and their limits), capacity_quota_rules_broken() that of
// CapacityQuotas::validate() too.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "simulation/autoscaler/autoscaler_answers.h"
#include "simulation/autoscaler/capacity_quota_blocks.h"

namespace headroom {

// The limits in force, by quota id.
std::vector<LimitStanding> limit_standings(const CapacityQuotas& quotas,
                                           const CapacityQuotaBlocks& blocks);

// By id. `blocks` have ended.
std::vector<CapacityQuotaReport> capacity_quota_reports(
    const CapacityQuotas& quotas, std::span<const CapacityQuotaStatus> at_start,
    const CapacityQuotaBlocks& blocks);

// What does not hold of: the quotas' own sums; no limit is exceeded by nodes that were added; a
// reservation has left what is under way. `under_way`: how many nodes, by reservation.
std::vector<std::string> capacity_quota_rules_broken(const CapacityQuotas& quotas,
                                                     std::span<const CapacityQuotaStatus> at_start,
                                                     std::map<std::string, std::int64_t> under_way);

}  // namespace headroom
