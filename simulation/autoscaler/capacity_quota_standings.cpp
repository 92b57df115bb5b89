#include "simulation/autoscaler/capacity_quota_standings.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

std::vector<LimitStanding> limit_standings(const CapacityQuotas& quotas,
                                           const CapacityQuotaBlocks& blocks) {
  std::vector<LimitStanding> standings;
  for (const CapacityQuotaStatus& quota : quotas.status()) {
    if (!quota.in_force) continue;
    for (const CapacityQuotaStatus::Amount& amount : quota.amounts) {
      standings.push_back({.quota = quota.id,
                           .resource = amount.resource,
                           .limit = amount.limit,
                           .used = amount.used,
                           .reserved = amount.reserved,
                           .nodes_refused = blocks.refused_now({quota.id, amount.resource})});
    }
  }
  return standings;
}

std::vector<CapacityQuotaReport> capacity_quota_reports(
    const CapacityQuotas& quotas, std::span<const CapacityQuotaStatus> at_start,
    const CapacityQuotaBlocks& blocks) {
  std::vector<CapacityQuotaReport> reports;
  const std::vector<CapacityQuotaStatus> status = quotas.status();
  for (std::size_t q = 0; q < status.size(); ++q) {
    CapacityQuotaReport& quota = reports.emplace_back();
    quota.id = status[q].id;
    if (!status[q].in_force) quota.skipped = status[q].invalid;
    for (std::size_t r = 0; r < status[q].amounts.size(); ++r) {
      const CapacityQuotaStatus::Amount& amount = status[q].amounts[r];
      quota.limits.push_back({.resource = amount.resource,
                              .limit = amount.limit,
                              .used_at_start = at_start[q].amounts[r].used,
                              .used = amount.used,
                              .reserved = amount.reserved,
                              .block = blocks.find({quota.id, amount.resource})});
    }
  }
  return reports;
}

std::vector<std::string> capacity_quota_rules_broken(
    const CapacityQuotas& quotas, std::span<const CapacityQuotaStatus> at_start,
    std::map<std::string, std::int64_t> under_way) {
  std::vector<std::string> broken;
  if (Result<void> valid = quotas.validate(); !valid) broken.push_back(valid.error().message);
  const std::vector<CapacityQuotaStatus> status = quotas.status();
  for (std::size_t q = 0; q < status.size(); ++q) {
    for (std::size_t r = 0; r < status[q].amounts.size(); ++r) {
      const CapacityQuotaStatus::Amount& now = status[q].amounts[r];
      if (now.used + now.reserved > std::max(now.limit, at_start[q].amounts[r].used)) {
        broken.push_back(
            fmt::format("{}: {}: nodes were added beyond the limit", status[q].id, now.resource));
      }
    }
  }
  for (const ReservationStatus& reservation : quotas.reservations()) {
    if (reservation.nodes_left != under_way[reservation.id]) {
      broken.push_back(fmt::format("reservation {}: {} nodes left, {} under way", reservation.id,
                                   reservation.nodes_left, under_way[reservation.id]));
    }
    under_way.erase(reservation.id);
  }
  for (const auto& [id, nodes] : under_way) {
    if (nodes > 0) broken.push_back(fmt::format("reservation {}: gone before its nodes came", id));
  }
  return broken;
}

}  // namespace headroom
