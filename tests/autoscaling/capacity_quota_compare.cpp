// See capacity_quota_compare.h.
#include "tests/autoscaling/capacity_quota_compare.h"

namespace headroom {
namespace {

std::string text_of(std::string_view text) { return std::string(text); }

oracle::CapacityQuotaRow to_oracle(const CapacityQuotaRow& row) {
  return {text_of(row.quota), text_of(row.resource), row.limit,     row.used,      row.reserved,
          row.need,           row.headroom,          row.shortfall, row.max_nodes, row.binding};
}

std::vector<oracle::CapacityQuotaRow> to_oracle(const std::vector<CapacityQuotaRow>& rows) {
  std::vector<oracle::CapacityQuotaRow> list;
  for (const CapacityQuotaRow& row : rows) list.push_back(to_oracle(row));
  return list;
}

std::optional<oracle::CapacityQuotaPlanBreak> to_oracle(const std::optional<PlanBreak>& stop) {
  if (!stop) return std::nullopt;
  return oracle::CapacityQuotaPlanBreak{stop->item, stop->fits, to_oracle(stop->rows)};
}

std::optional<oracle::CapacityQuotaWhatIf::Amounts> to_oracle(
    const std::optional<WhatIf::Amounts>& amounts) {
  if (!amounts) return std::nullopt;
  return oracle::CapacityQuotaWhatIf::Amounts{amounts->limit, amounts->used, amounts->reserved};
}

}  // namespace

std::vector<std::string> skipped_ids(const std::vector<SkippedCapacityQuota>& skipped) {
  std::vector<std::string> ids;
  for (const SkippedCapacityQuota& one : skipped) {
    ids.push_back(text_of(one.quota) + (one.why.empty() ? " without a reason" : ""));
  }
  return ids;
}

oracle::CapacityQuotaCheck to_oracle(const CapacityCheck& answer) {
  return {answer.allowed, to_oracle(answer.rows), skipped_ids(answer.skipped)};
}

oracle::CapacityQuotaPlan to_oracle(const PlanAnswer& answer) {
  oracle::CapacityQuotaPlan plan{
      to_oracle(answer.net_break), to_oracle(answer.peak_break), {}, skipped_ids(answer.skipped)};
  for (const PlanRow& row : answer.rows) {
    plan.rows.push_back({text_of(row.quota), text_of(row.resource), row.limit, row.used,
                         row.reserved, row.added, row.removed, row.net, row.peak});
  }
  return plan;
}

oracle::CapacityQuotaReserved to_oracle(const ReserveAnswer& answer) {
  return {answer.accepted, answer.allowed, to_oracle(answer.stopped), skipped_ids(answer.skipped)};
}

std::vector<oracle::LiveReservation> to_oracle(const std::vector<ReservationStatus>& answer) {
  std::vector<oracle::LiveReservation> list;
  for (const ReservationStatus& one : answer) {
    list.push_back({one.id, one.expires_us, one.nodes_left, one.nodes_registered});
  }
  return list;
}

oracle::CapacityQuotaHeadroom to_oracle(const TemplateHeadroom& answer) {
  oracle::CapacityQuotaHeadroom headroom{answer.max_nodes, {}, skipped_ids(answer.skipped)};
  for (const TemplateHeadroom::Row& row : answer.rows) {
    headroom.rows.push_back({text_of(row.quota), text_of(row.resource), row.headroom, row.stranded,
                             row.max_nodes, row.binding});
  }
  return headroom;
}

std::vector<oracle::CapacityQuotaStatus> to_oracle(const std::vector<CapacityQuotaStatus>& answer) {
  std::vector<oracle::CapacityQuotaStatus> list;
  for (const CapacityQuotaStatus& one : answer) {
    oracle::CapacityQuotaStatus status{one.id,
                                       one.name,
                                       static_cast<oracle::CapacityQuotaClass>(one.quota_class),
                                       one.generation_in_force,
                                       one.generation,
                                       one.in_force,
                                       !one.invalid.empty(),
                                       one.nodes,
                                       {}};
    for (const auto& amount : one.amounts) {
      status.amounts.push_back({amount.resource, amount.limit, amount.used, amount.reserved});
    }
    list.push_back(status);
  }
  return list;
}

oracle::CapacityQuotaWhatIf to_oracle(const WhatIf& answer) {
  oracle::CapacityQuotaWhatIf what_if;
  for (const WhatIf::Row& row : answer.rows) {
    what_if.rows.push_back(
        {row.quota, row.resource, to_oracle(row.before), to_oracle(row.after), row.newly_over});
  }
  for (const WhatIf::Template& one : answer.templates) {
    what_if.templates.push_back(
        {one.name, one.max_nodes_before, one.max_nodes_after, one.blocked_by});
  }
  for (const auto& [id, why] : answer.skipped) {
    what_if.skipped.push_back(id + (why.empty() ? " without a reason" : ""));
  }
  return what_if;
}

}  // namespace headroom
