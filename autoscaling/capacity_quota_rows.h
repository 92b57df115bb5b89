// One limit against some nodes, as a row of an answer.
//
// Pure functions.
#pragma once

#include <cstdint>

#include "autoscaling/capacity_quota_answers.h"
#include "autoscaling/capacity_quota_table.h"

namespace headroom {

// How many times `amount` (above 0) fits into what is left; INT64_MAX: or more.
std::int64_t times(Int128 left, std::int64_t amount);
// Of so many nodes that have `amount` each, where the limit's sums are these.
CapacityQuotaRow row_of(const CapacityQuotaEntry& entry, const LimitSums& sums, std::int64_t amount,
                        std::int64_t count);

}  // namespace headroom
