// The most nodes of several templates together: by trying every choice, and where the limits are
// nested and needs equal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracle/quotas/capacity_quota.h"

namespace oracle {

// Of all choices of at most the items' counts; nullopt where there are more than `choices_max`.
std::optional<std::int64_t> best_total(const CapacityQuotas& quotas,
                                       const std::vector<CapacityQuotaItem>& items,
                                       std::int64_t choices_max);

// Where every limit needs the same of each template that it touches, and the sets of templates that
// limits touch are nested or disjoint: a set holds the least of its limit and what its parts hold.
// Nullopt elsewhere.
std::optional<Int128> nested_total(const CapacityQuotas& quotas,
                                   const std::vector<CapacityQuotaItem>& items);

}  // namespace oracle
