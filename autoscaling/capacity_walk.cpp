#include "autoscaling/capacity_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "autoscaling/capacity_quota_rows.h"

namespace headroom {

Result<void> check_count(const Node& node_template, std::int64_t count) {
  if (count >= 0) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("template {}: count {} is negative", node_template.name, count));
}

Result<void> check_item_count(std::size_t items) {
  if (items <= kPlanItemsMax) return {};
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("{} templates are more than kPlanItemsMax ({})", items, kPlanItemsMax));
}

Result<void> add_count(const PlanItem& item, std::int64_t& sum) {
  if (Result<void> ok = check_count(*item.node, item.count); !ok) return ok;
  if (!__builtin_add_overflow(sum, item.count, &sum)) return {};
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("template {}: with its count of {} the sum is beyond 64 bits",
                          item.node->name, item.count));
}

Result<void> check_items(std::span<const PlanItem> items) {
  if (Result<void> ok = check_item_count(items.size()); !ok) return ok;
  std::int64_t sum = 0;
  for (const PlanItem& item : items) {
    if (Result<void> ok = add_count(item, sum); !ok) return ok;
  }
  return {};
}

void CapacityWalk::begin() {
  stopped_.reset();
  limits_.assign(facts_.table().limits(), {});
  for (const auto& [key, quota] : facts_.table().capacity_quotas()) {
    for (const CapacityQuotaEntry& entry : quota->entries) {
      static_cast<LimitSums&>(limits_[entry.number]) = entry;
    }
  }
}

std::int64_t CapacityWalk::fits(const AskedTemplate& asked, std::size_t item, std::int64_t count) {
  std::int64_t allowed = count;
  facts_.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
    const Int128 left = at(entry).planned().headroom();
    if (left < static_cast<Int128>(amount) * count)
      allowed = std::min(allowed, times(left, amount));
  });
  if (allowed == count || stopped_) return allowed;
  stopped_ = PlanBreak{item, allowed, {}};
  facts_.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
    CapacityQuotaRow row = row_of(entry, at(entry).planned(), amount, count);
    row.binding = row.max_nodes == allowed;
    if (row.binding) stopped_->rows.push_back(row);
  });
  return allowed;
}

void CapacityWalk::add(const AskedTemplate& asked, std::int64_t count) {
  facts_.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
    Limit& limit = limits_[entry.number];
    limit.added += static_cast<Int128>(amount) * count;
    limit.touched = true;
  });
}

void CapacityWalk::remove(const AskedTemplate& node) {
  facts_.for_each_touched(node, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
    Limit& limit = limits_[entry.number];
    limit.removed += amount;
    limit.touched = true;
  });
}

void CapacityWalk::take_back_added() {
  stopped_.reset();
  for (Limit& limit : limits_) limit.added = 0;
}

bool CapacityWalk::still_fits() const {
  for (const auto& [key, quota] : facts_.table().capacity_quotas()) {
    for (const CapacityQuotaEntry& entry : quota->entries) {
      const Int128 added = at(entry).added;
      if (added > 0 && added > entry.headroom()) return false;
    }
  }
  return true;
}

}  // namespace headroom
