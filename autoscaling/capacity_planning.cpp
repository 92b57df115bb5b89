#include "autoscaling/capacity_planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "objects/limits.h"

namespace headroom {

namespace {

// `piece(next)` for each from `next` on; false: the turn is over.
template <typename Piece>
Result<bool> each(std::size_t count, std::size_t& next, const std::function<bool()>& pause,
                  const Piece& piece) {
  while (next < count) {
    if (Result<void> done = piece(next); !done) return tl::unexpected<Error>(done.error());
    ++next;
    if (pause()) return false;
  }
  return true;
}

template <typename Stage>
Stage after(Stage stage) {
  return static_cast<Stage>(static_cast<int>(stage) + 1);
}

}  // namespace

// --- A plan ---

CapacityPlanning::CapacityPlanning(CapacityFacts& facts, PlanningRequest request)
    : facts_(facts), request_(std::move(request)), walk_(facts) {}

Result<void> CapacityPlanning::begin() {
  if (Result<void> ok = check_item_count(request_.count); !ok) return ok;
  ++begun_;
  edition_ = facts_.edition();
  stage_ = Stage::kLook;
  next_ = 0;
  asked_.assign(request_.count, {});
  counts_.clear();
  sum_ = 0;
  answer_ = {};
  return {};
}

Result<void> CapacityPlanning::look_at(std::size_t item) {
  const Result<PlanItem> asked = request_.item(item);
  if (!asked) return tl::unexpected<Error>(asked.error());
  if (Result<void> ok = add_count(*asked, sum_); !ok) return ok;
  counts_.push_back(asked->count);
  return facts_.look_at(*asked->node, asked_[item]);
}

Result<bool> CapacityPlanning::turn(const std::function<bool()>& pause) {
  const auto until = [&] { return begun_ <= kPlanningBeginningsMax && pause(); };
  if (begun_ == 0 || edition_ != facts_.edition()) {
    if (Result<void> ok = begin(); !ok) return tl::unexpected<Error>(ok.error());
  }
  for (; stage_ != Stage::kDone; stage_ = after(stage_), next_ = 0) {
    const Result<bool> done = stage(until);
    if (!done || !*done) return done;
  }
  return true;
}

Result<bool> CapacityPlanning::stage(const std::function<bool()>& pause) {
  const auto items = [&](const auto& piece) {
    return each(request_.count, next_, pause, [&](std::size_t item) -> Result<void> {
      piece(item, counts_[item]);
      return {};
    });
  };
  const auto walk = [&](std::optional<PlanBreak>& stopped) {
    const Result<bool> done = items([&](std::size_t item, std::int64_t count) {
      walk_.add(asked_[item], walk_.fits(asked_[item], item, count));
    });
    if (*done) {
      stopped = std::move(walk_.stopped());
      walk_.take_back_added();
    }
    return done;
  };
  switch (stage_) {
    case Stage::kLook:
      return each(request_.count, next_, pause, [&](std::size_t item) { return look_at(item); });
    case Stage::kCopy:
      if (Result<void> copied = copy(); !copied) return tl::unexpected<Error>(copied.error());
      return true;
    // At the peak, then again with the removed nodes gone.
    case Stage::kPeak:
      return walk(answer_.peak_break);
    case Stage::kRemove:
      return each(removed_.size(), next_, pause, [&](std::size_t node) -> Result<void> {
        walk_.remove(removed_[node]);
        return {};
      });
    case Stage::kNet:
      return walk(answer_.net_break);
    case Stage::kAll:
      return items([&](std::size_t item, std::int64_t count) { walk_.add(asked_[item], count); });
    case Stage::kRows: {
      const CapacityQuotaTable::ByKey& quotas = facts_.table().capacity_quotas();
      if (next_ == 0) quota_ = quotas.begin();
      return each(quotas.size(), next_, pause, [&](std::size_t) -> Result<void> {
        write(*quota_->second);
        ++quota_;
        return {};
      });
    }
    case Stage::kDone:
      break;
  }
  return true;
}

// The moment that the answer is of.
Result<void> CapacityPlanning::copy() {
  removed_.clear();
  std::set<std::string_view> names;
  for (const std::string_view name : request_.remove) {
    const CountedNode* node = facts_.find_node(name);
    if (node == nullptr) {
      return fail(ErrorCode::kNotFound, fmt::format("node {}: is not known", name));
    }
    if (!names.insert(name).second) {
      return fail(ErrorCode::kInvalid, fmt::format("node {}: is removed twice", name));
    }
    removed_.push_back({node->label_class, std::nullopt, node->amounts});
  }
  facts_.table().list_skipped(answer_.skipped);
  walk_.begin();
  copied_ = begun_;
  return {};
}

void CapacityPlanning::write(const CountedCapacityQuota& quota) {
  for (const CapacityQuotaEntry& entry : quota.entries) {
    const CapacityWalk::Limit& limit = walk_.at(entry);
    if (!limit.touched) continue;
    PlanRow& row = answer_.rows.emplace_back();
    row.quota = quota.id;
    row.resource = entry.name;
    row.limit = limit.limit;
    row.used = limit.used;
    row.reserved = limit.reserved;
    row.added = limit.added;
    row.removed = limit.removed;
    row.peak = limit.used + limit.reserved + limit.added;
    row.net = row.peak - limit.removed;
  }
}

// --- A reservation ---

CapacityReserving::CapacityReserving(CapacityFacts& facts, const ReservingRequest& request)
    : facts_(facts), request_(request), walk_(facts) {}

// What may have changed since the last turn, too.
Result<void> CapacityReserving::check() const {
  const std::string_view id = request_.id;
  if (id.empty()) return fail(ErrorCode::kInvalid, "reservation: the id is empty");
  if (id.size() > kStringBytesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("reservation: the id has {} bytes, kStringBytesMax is {}", id.size(),
                            kStringBytesMax));
  }
  if (facts_.reservations().find(id) != facts_.reservations().end()) {
    return fail(ErrorCode::kConflict, fmt::format("reservation {}: is live", id));
  }
  if (request_.expires_us <= facts_.now_us()) {
    return fail(ErrorCode::kInvalid, fmt::format("reservation {}: expires at {} us; it is {} us",
                                                 id, request_.expires_us, facts_.now_us()));
  }
  if (facts_.reservations().size() >= kNodeReservationsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("reservation {}: kNodeReservationsMax ({}) are live", id,
                            kNodeReservationsMax));
  }
  return {};
}

Result<void> CapacityReserving::begin() {
  if (Result<void> ok = check(); !ok) return ok;
  for (const PlanItem& item : request_.items) {
    if (item.count > kCapacityQuotaNodesMax) {
      return fail(
          ErrorCode::kLimitExceeded,
          fmt::format(
              "reservation {}: template {}: {} nodes are more than kCapacityQuotaNodesMax ({})",
              request_.id, item.node->name, item.count, kCapacityQuotaNodesMax));
    }
  }
  if (Result<void> ok = check_items(request_.items); !ok) return ok;
  facts_.tidy();
  ++begun_;
  edition_ = facts_.edition();
  stage_ = Stage::kLook;
  next_ = 0;
  asked_.assign(request_.items.size(), {});
  answer_ = {};
  return {};
}

Result<bool> CapacityReserving::turn(const std::function<bool()>& pause) {
  const auto until = [&] { return begun_ <= kPlanningBeginningsMax && pause(); };
  for (;;) {
    if (begun_ == 0 || edition_ != facts_.edition() ||
        (stage_ == Stage::kHold && !walk_.still_fits())) {
      if (Result<void> ok = begin(); !ok) return tl::unexpected<Error>(ok.error());
    }
    const Result<bool> done = stage(until);
    if (!done || !*done) return done;
    if (stage_ == Stage::kDone) return true;
    stage_ = after(stage_);
    next_ = 0;
  }
}

Result<bool> CapacityReserving::stage(const std::function<bool()>& pause) {
  const std::span<const PlanItem> items = request_.items;
  switch (stage_) {
    case Stage::kLook:
      return each(items.size(), next_, pause, [&](std::size_t item) {
        return facts_.look_at(*items[item].node, asked_[item]);
      });
    case Stage::kWalk:
      if (next_ == 0) walk_.begin();
      return each(items.size(), next_, pause, [&](std::size_t item) -> Result<void> {
        const std::int64_t fits = walk_.fits(asked_[item], item, items[item].count);
        answer_.allowed.push_back(fits);
        walk_.add(asked_[item], fits);
        return {};
      });
    case Stage::kAccept: {
      answer_.stopped = std::move(walk_.stopped());
      const bool some = std::any_of(answer_.allowed.begin(), answer_.allowed.end(),
                                    [](std::int64_t count) { return count > 0; });
      answer_.accepted = !answer_.stopped || (request_.mode == ReserveMode::kUpTo && some);
      facts_.table().list_skipped(answer_.skipped);
      if (!answer_.accepted) stage_ = Stage::kDone;
      return true;
    }
    // Of many items they would take longer than what is left then.
    case Stage::kClasses:
      return each(items.size(), next_, pause, [&](std::size_t item) -> Result<void> {
        facts_.add_class_of(*items[item].node);
        return {};
      });
    case Stage::kHold:
      if (Result<void> held = hold(); !held) return tl::unexpected<Error>(held.error());
      stage_ = Stage::kDone;
      return true;
    case Stage::kDone:
      break;
  }
  return true;
}

Result<void> CapacityReserving::hold() {
  if (Result<void> ok = check(); !ok) return ok;
  Result<std::vector<ReservedItem>> held = facts_.hold(request_.items);
  if (!held) return tl::unexpected<Error>(std::move(held.error()));
  for (std::size_t i = 0; i < held->size(); ++i) (*held)[i].left = answer_.allowed[i];
  facts_.reserve(request_.id, NodeReservation{std::move(*held), request_.expires_us, {}});
  return {};
}

}  // namespace headroom
