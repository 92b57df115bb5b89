// See capacity_quota.h: plans, reservations, headroom, what_if.
#include <algorithm>
#include <set>

#include "oracle/quotas/capacity_quota.h"
#include "oracle/quotas/capacity_quota_rows.h"

namespace oracle {
namespace {

using headroom::ErrorCode;
using headroom::fail;
using headroom::Result;
using Limits = std::vector<CapacityQuotas::Limit>;

// Counts are added up in int64: a sum beyond it is refused.
Result<void> usable(const std::vector<CapacityQuotaItem>& items) {
  Int128 sum = 0;
  for (const CapacityQuotaItem& item : items) {
    if (item.count < 0) return fail(ErrorCode::kInvalid, "count");
    sum += item.count;
  }
  if (sum > INT64_MAX) return fail(ErrorCode::kLimitExceeded, "counts");
  for (const CapacityQuotaItem& item : items) {
    if (!node_amounts(item.node)) return fail(ErrorCode::kLimitExceeded, item.node.name);
  }
  return {};
}

// The check of the item, and as many as fit reserved.
CapacityQuotaCheck take(Limits& limits, const CapacityQuotaItem& item) {
  CapacityQuotaCheck check = check_rows(limits, item.node, item.count);
  for (CapacityQuotas::Limit& limit : limits) {
    limit.reserved += static_cast<Int128>(check.allowed) * limit.amount(item.node);
  }
  return check;
}

CapacityQuotaPlanBreak break_at(std::size_t item, const CapacityQuotaCheck& check) {
  CapacityQuotaPlanBreak stop{item, check.allowed, {}};
  for (const CapacityQuotaRow& row : check.rows) {
    if (row.binding) stop.rows.push_back(row);
  }
  return stop;
}

std::optional<CapacityQuotaPlanBreak> first_break(Limits limits,
                                                  const std::vector<CapacityQuotaItem>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const CapacityQuotaCheck check = take(limits, items[i]);
    if (check.allowed < items[i].count) return break_at(i, check);
  }
  return std::nullopt;
}

}  // namespace

Result<CapacityQuotaPlan> CapacityQuotas::plan(const std::vector<CapacityQuotaItem>& add,
                                               const std::vector<std::string>& remove) const {
  if (const Result<void> ok = usable(add); !ok) return tl::unexpected(ok.error());
  std::set<std::string> removed;
  for (const std::string& name : remove) {
    if (!facts_.nodes.contains(name)) return fail(ErrorCode::kNotFound, name);
    if (!removed.insert(name).second) return fail(ErrorCode::kInvalid, "a node twice");
  }
  CapacityQuotaPlan answer;
  const Limits before = limits();
  Limits without_removed = before;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Limit& limit = before[i];
    CapacityQuotaPlanRow row{limit.quota, limit.resource, limit.limit, limit.used, limit.reserved};
    bool touched = false;
    for (const CapacityQuotaItem& item : add) {
      const std::int64_t amount = limit.amount(item.node);
      touched = touched || amount > 0;
      row.added += static_cast<Int128>(item.count) * amount;
    }
    for (const std::string& name : remove) {
      const headroom::Node& node = facts_.nodes.at(name);
      const std::int64_t amount = counts(node) ? limit.amount(node) : 0;
      touched = touched || amount > 0;
      row.removed += amount;
    }
    row.peak = row.used + row.reserved + row.added;
    row.net = row.peak - row.removed;
    if (touched) answer.rows.push_back(row);
    without_removed[i].used -= row.removed;
  }
  answer.net_break = first_break(without_removed, add);
  answer.peak_break = first_break(before, add);
  answer.skipped = skipped();
  return answer;
}

Result<CapacityQuotaReserved> CapacityQuotas::reserve(const std::string& id,
                                                      const std::vector<CapacityQuotaItem>& items,
                                                      std::int64_t expires_us, bool up_to) {
  if (id.empty()) return fail(ErrorCode::kInvalid, "id");
  if (facts_.reservations.contains(id)) return fail(ErrorCode::kConflict, id);
  if (expires_us <= facts_.now_us) return fail(ErrorCode::kInvalid, "expires_us");
  if (const Result<void> ok = usable(items); !ok) return tl::unexpected(ok.error());
  CapacityQuotaReserved answer;
  answer.skipped = skipped();
  CapacityReservation reservation{expires_us, {}, {}};
  Limits left = limits();
  bool asked = false, any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const CapacityQuotaCheck check = take(left, items[i]);
    if (check.allowed < items[i].count && !answer.stopped) {
      answer.stopped = break_at(i, check);
    }
    answer.allowed.push_back(check.allowed);
    reservation.items.push_back({items[i].node, check.allowed});
    asked = asked || items[i].count > 0;
    any = any || check.allowed > 0;
  }
  answer.accepted = up_to ? any || !asked : !answer.stopped;
  if (answer.accepted) facts_.reservations[id] = reservation;
  return answer;
}

// A row is binding where it decides the answer; none is where nothing does (INT64_MAX).
Result<CapacityQuotaHeadroom> CapacityQuotas::headroom(const headroom::Node& node_template) const {
  const Result<CapacityQuotaCheck> check = this->check(node_template, INT64_MAX);
  if (!check) return tl::unexpected(check.error());
  CapacityQuotaHeadroom answer;
  answer.max_nodes = check->allowed;
  answer.skipped = check->skipped;
  for (const CapacityQuotaRow& row : check->rows) {
    // need is INT64_MAX times the amount.
    const Int128 taken = row.need / INT64_MAX * check->allowed;
    answer.rows.push_back(
        {row.quota, row.resource, row.headroom, row.headroom - taken, row.max_nodes, row.binding});
  }
  return answer;
}

bool CapacityQuotas::feasible(const std::vector<headroom::Node>& templates,
                              const std::vector<std::int64_t>& counts) const {
  const Limits all = limits();
  return std::all_of(all.begin(), all.end(), [&](const Limit& limit) {
    Int128 need = 0;
    for (std::size_t i = 0; i < templates.size(); ++i) {
      need += static_cast<Int128>(counts[i]) * limit.amount(templates[i]);
    }
    return need == 0 || need <= limit.headroom();
  });
}

Result<CapacityQuotaWhatIf> CapacityQuotas::what_if(
    const std::vector<CapacityChange>& changes,
    const std::vector<headroom::Node>& templates) const {
  CapacityQuotas changed = *this;
  for (const CapacityChange& change : changes) {
    if (const auto* edit = std::get_if<CapacityQuotaEdit>(&change)) {
      changed.upsert(edit->quota, edit->quota_class);
    } else if (const auto* gone = std::get_if<CapacityQuotaGone>(&change)) {
      changed.remove_capacity_quota(gone->name, gone->quota_class);
    } else if (const Result<void> ok = changed.upsert(std::get<headroom::Node>(change)); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  CapacityQuotaWhatIf answer;
  answer.skipped = changed.skipped();

  // Quota order is that of (class, name): the keys of both, not of their ids.
  std::map<std::pair<std::size_t, std::string>, CapacityQuotaWhatIf::Row> rows;
  std::map<CapacityQuotaKey, std::size_t> order;
  for (const CapacityQuotas* side : {this, static_cast<const CapacityQuotas*>(&changed)}) {
    for (const auto& [key, fact] : side->facts_.quotas) order[key] = 0;
  }
  std::map<std::string, std::size_t> place;
  for (auto& [key, at] : order) place[capacity_quota_id(key)] = at = place.size();
  const auto collect = [&](const Limits& limits, bool after) {
    for (const Limit& limit : limits) {
      CapacityQuotaWhatIf::Row& row = rows[{place.at(limit.quota), limit.resource}];
      row.quota = limit.quota;
      row.resource = limit.resource;
      (after ? row.after : row.before) =
          CapacityQuotaWhatIf::Amounts{limit.limit, limit.used, limit.reserved};
    }
  };
  collect(limits(), false);
  collect(changed.limits(), true);
  const auto over = [](const std::optional<CapacityQuotaWhatIf::Amounts>& amounts) {
    return amounts && amounts->used + amounts->reserved > amounts->limit;
  };
  for (auto& [key, row] : rows) {
    row.newly_over = over(row.after) && !over(row.before);
    if (row.before != row.after) answer.rows.push_back(row);
  }

  for (const headroom::Node& node : templates) {
    const Result<CapacityQuotaHeadroom> before = headroom(node), after = changed.headroom(node);
    if (!before) return tl::unexpected(before.error());
    if (before->max_nodes == after->max_nodes) continue;
    CapacityQuotaWhatIf::Template one{node.name, before->max_nodes, after->max_nodes, {}};
    for (const CapacityQuotaHeadroom::Row& row : after->rows) {
      if (row.max_nodes > 0) continue;
      if (one.blocked_by.empty() || one.blocked_by.back() != row.quota) {
        one.blocked_by.push_back(row.quota);
      }
    }
    answer.templates.push_back(one);
  }
  return answer;
}

}  // namespace oracle
