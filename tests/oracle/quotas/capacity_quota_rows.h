// The table of one template against limits as they stand. Shared by the oracle's questions.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/quotas/capacity_quota.h"

namespace oracle {

// The most nodes of `amount` that fit; INT64_MAX: or more.
std::int64_t most_nodes(Int128 headroom, std::int64_t amount);

// Without `skipped`.
CapacityQuotaCheck check_rows(const std::vector<CapacityQuotas::Limit>& limits,
                              const headroom::Node& node_template, std::int64_t count);

}  // namespace oracle
