#include "autoscaling/capacity_quota_rows.h"

#include <algorithm>
#include <limits>

namespace headroom {

std::int64_t times(Int128 left, std::int64_t amount) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (left <= 0) return 0;
  if (left <= kMost) return static_cast<std::int64_t>(left) / amount;
  const Int128 whole = left / amount;
  return whole > kMost ? kMost : static_cast<std::int64_t>(whole);
}

CapacityQuotaRow row_of(const CapacityQuotaEntry& entry, const LimitSums& sums, std::int64_t amount,
                        std::int64_t count) {
  CapacityQuotaRow row;
  row.quota = entry.id;
  row.resource = entry.name;
  row.limit = sums.limit;
  row.used = sums.used;
  row.reserved = sums.reserved;
  row.need = static_cast<Int128>(amount) * count;
  row.headroom = sums.headroom();
  row.shortfall = std::max(Int128{0}, row.need - row.headroom);
  row.max_nodes = times(row.headroom, amount);
  return row;
}

}  // namespace headroom
