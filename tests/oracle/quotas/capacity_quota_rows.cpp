// See capacity_quota_rows.h.
#include "oracle/quotas/capacity_quota_rows.h"

#include <algorithm>

namespace oracle {

std::int64_t most_nodes(Int128 headroom, std::int64_t amount) {
  if (headroom <= 0) return 0;
  return static_cast<std::int64_t>(std::min<Int128>(INT64_MAX, headroom / amount));
}

CapacityQuotaCheck check_rows(const std::vector<CapacityQuotas::Limit>& limits,
                              const headroom::Node& node_template, std::int64_t count) {
  CapacityQuotaCheck answer;
  answer.allowed = count;
  for (const CapacityQuotas::Limit& limit : limits) {
    const std::int64_t amount = limit.amount(node_template);
    if (amount == 0) continue;
    CapacityQuotaRow row{limit.quota, limit.resource, limit.limit, limit.used, limit.reserved};
    row.need = static_cast<Int128>(count) * amount;
    row.headroom = limit.headroom();
    row.shortfall = std::max<Int128>(0, row.need - row.headroom);
    row.max_nodes = most_nodes(row.headroom, amount);
    answer.allowed = std::min(answer.allowed, row.max_nodes);
    answer.rows.push_back(row);
  }
  for (CapacityQuotaRow& row : answer.rows) {
    row.binding = answer.allowed < count && row.max_nodes == answer.allowed;
  }
  return answer;
}

}  // namespace oracle
