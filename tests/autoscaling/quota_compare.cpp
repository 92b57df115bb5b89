// See quota_compare.h.
#include "tests/autoscaling/quota_compare.h"

namespace headroom {
namespace {

std::string text_of(std::string_view text) { return std::string(text); }

oracle::QuotaRow to_oracle(const QuotaRow& row) {
  return {text_of(row.quota), text_of(row.resource), row.limit,     row.used,      row.reserved,
          row.need,           row.headroom,          row.shortfall, row.max_nodes, row.binding};
}

std::vector<oracle::QuotaRow> to_oracle(const std::vector<QuotaRow>& rows) {
  std::vector<oracle::QuotaRow> list;
  for (const QuotaRow& row : rows) list.push_back(to_oracle(row));
  return list;
}

std::optional<oracle::QuotaPlanBreak> to_oracle(const std::optional<PlanBreak>& stop) {
  if (!stop) return std::nullopt;
  return oracle::QuotaPlanBreak{stop->item, stop->fits, to_oracle(stop->rows)};
}

std::optional<oracle::QuotaWhatIf::Amounts> to_oracle(
    const std::optional<WhatIf::Amounts>& amounts) {
  if (!amounts) return std::nullopt;
  return oracle::QuotaWhatIf::Amounts{amounts->limit, amounts->used, amounts->reserved};
}

}  // namespace

std::vector<std::string> skipped_ids(const std::vector<SkippedQuota>& skipped) {
  std::vector<std::string> ids;
  for (const SkippedQuota& one : skipped) {
    ids.push_back(text_of(one.quota) + (one.why.empty() ? " without a reason" : ""));
  }
  return ids;
}

oracle::QuotaCheck to_oracle(const CapacityCheck& answer) {
  return {answer.allowed, to_oracle(answer.rows), skipped_ids(answer.skipped)};
}

oracle::QuotaPlan to_oracle(const PlanAnswer& answer) {
  oracle::QuotaPlan plan{
      to_oracle(answer.net_break), to_oracle(answer.peak_break), {}, skipped_ids(answer.skipped)};
  for (const PlanRow& row : answer.rows) {
    plan.rows.push_back({text_of(row.quota), text_of(row.resource), row.limit, row.used,
                         row.reserved, row.added, row.removed, row.net, row.peak});
  }
  return plan;
}

oracle::QuotaReserved to_oracle(const ReserveAnswer& answer) {
  return {answer.accepted, answer.allowed, to_oracle(answer.stopped), skipped_ids(answer.skipped)};
}

std::vector<oracle::LiveReservation> to_oracle(const std::vector<ReservationStatus>& answer) {
  std::vector<oracle::LiveReservation> list;
  for (const ReservationStatus& one : answer) {
    list.push_back({one.id, one.expires_us, one.nodes_left, one.nodes_registered});
  }
  return list;
}

oracle::QuotaHeadroom to_oracle(const TemplateHeadroom& answer) {
  oracle::QuotaHeadroom headroom{answer.max_nodes, {}, skipped_ids(answer.skipped)};
  for (const TemplateHeadroom::Row& row : answer.rows) {
    headroom.rows.push_back({text_of(row.quota), text_of(row.resource), row.headroom, row.stranded,
                             row.max_nodes, row.binding});
  }
  return headroom;
}

std::vector<oracle::QuotaStatus> to_oracle(const std::vector<CapacityQuotaStatus>& answer) {
  std::vector<oracle::QuotaStatus> list;
  for (const CapacityQuotaStatus& one : answer) {
    oracle::QuotaStatus status{one.id,
                               one.name,
                               static_cast<oracle::QuotaClass>(one.quota_class),
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

oracle::QuotaWhatIf to_oracle(const WhatIf& answer) {
  oracle::QuotaWhatIf what_if;
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
