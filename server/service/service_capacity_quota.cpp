// RequestService: how many nodes may be added, and which are reserved.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "objects/text/time_text.h"
#include "schema/frame.h"
#include "server/answers/encode_capacity_quota.h"
#include "server/service/service.h"

namespace headroom {

namespace {

// Of whom a reservation of nodes was that is not live any more.
constexpr std::size_t kSpareNodeOwnersMax = 1024;

// Where an id stands in the order of quotas: its class, and its name ("" where the class has one
// quota).
using CapacityQuotaPlace = std::pair<CapacityQuotaClass, std::string>;

Result<CapacityQuotaPlace> place_of(std::string_view id) {
  for (const CapacityQuotaClass only :
       {CapacityQuotaClass::kClusterWide, CapacityQuotaClass::kMaxNodes}) {
    if (id == capacity_quota_id(only, {})) return CapacityQuotaPlace(only, {});
  }
  for (const CapacityQuotaClass named :
       {CapacityQuotaClass::kNodeGroup, CapacityQuotaClass::kCapacityQuota}) {
    const std::string prefix = capacity_quota_id(named, {});
    if (id.starts_with(prefix)) return CapacityQuotaPlace(named, id.substr(prefix.size()));
  }
  return fail(ErrorCode::kInvalid, fmt::format("after: \"{}\" is not the id of a quota", cut(id)));
}

}  // namespace

Result<void> RequestService::resolve_nodes(
    const char* field, const flatbuffers::Vector<flatbuffers::Offset<wire::CapacityItem>>* items) {
  if (!ready_) {
    return fail(ErrorCode::kConflict,
                fmt::format("{}: no quota is known: no feeder has completed a resync", field));
  }
  const std::uint32_t count = size_of(items);
  if (count > kCapacityItemsPerRequestMax) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("{}: {}: kCapacityItemsPerRequestMax is {}",
                                                       field, count, kCapacityItemsPerRequestMax));
  }
  if (templates_bytes_ > kKeptBytesMax) templates_ = {};
  templates_.resize(count);
  plan_items_.resize(count);
  templates_bytes_ = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const wire::CapacityItem& item = *items->Get(i);
    const Result<std::size_t> decoded = decode(*item.node(), templates_[i]);
    if (!decoded) {
      return fail(decoded.error().code,
                  fmt::format("{}[{}]: {}", field, i, decoded.error().message));
    }
    templates_bytes_ += *decoded;
    if (templates_bytes_ > kRequestBytesMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: more than {} bytes in the first {}, which is kRequestBytesMax",
                              field, kRequestBytesMax, i + 1));
    }
    if (item.count() < 0) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}[{}]: count: {} is below 0", field, i, item.count()));
    }
    plan_items_[i] = {.node = &templates_[i], .count = item.count()};
  }
  return {};
}

Result<void> RequestService::capacity_check(std::uint64_t id, const wire::CapacityCheck& request) {
  if (auto resolved = resolve_nodes("items", request.items()); !resolved) return resolved;
  if (plan_items_.empty()) return fail(ErrorCode::kInvalid, "items: 0: at least 1");
  if (check_.rows.size() > kCapacityQuotaRowsPerReplyMax) check_ = {};
  CapacityCheckEncoder reply(builder_, request.binding_only());
  for (std::size_t i = 0; i < plan_items_.size(); ++i) {
    const PlanItem& item = plan_items_[i];
    if (auto checked = current_->capacity_quotas().check(*item.node, item.count, check_);
        !checked) {
      return fail(checked.error().code, fmt::format("items[{}]: {}", i, checked.error().message));
    }
    metrics_.capacity_asked(check_.allowed == item.count);
    reply.add(check_);
  }
  finish(id, reply.finish(epoch(), check_.skipped));
  return {};
}

Result<void> RequestService::capacity_plan(std::uint64_t id, const wire::CapacityPlan& request) {
  if (auto resolved = resolve_nodes("add", request.add()); !resolved) return resolved;
  Plan plan{.add = plan_items_, .remove = {}};
  if (request.remove() != nullptr) {
    if (auto checked = check_items("remove", request.remove()->size()); !checked) return checked;
    for (const flatbuffers::String* name : *request.remove()) {
      if (auto checked = check_text("remove", text(name)); !checked) return checked;
      plan.remove.push_back(name->str());
    }
  }
  const Result<PlanAnswer> answer = current_->capacity_quotas().plan(plan);
  if (!answer) return tl::unexpected(answer.error());
  metrics_.capacity_asked(!answer->net_break);
  finish(id, encode(builder_, *answer, epoch()));
  return {};
}

Result<void> RequestService::capacity_reserve(Peer& peer, std::uint64_t id,
                                              const wire::CapacityReserve& request) {
  if (auto checked = check_memory(); !checked) return checked;
  if (auto checked = check_text("id", text(request.id())); !checked) return checked;
  if (request.mode() > wire::ReserveMode::MAX) {
    return fail(ErrorCode::kUnsupported, fmt::format("mode: {} is not known; accepted: 0 to {}",
                                                     static_cast<int>(request.mode()),
                                                     static_cast<int>(wire::ReserveMode::MAX)));
  }
  if (auto resolved = resolve_nodes("items", request.items()); !resolved) return resolved;
  if (plan_items_.empty()) return fail(ErrorCode::kInvalid, "items: 0: at least 1");
  CapacityQuotas& quotas = current_->capacity_quotas();
  if (request.expires_us() > quotas.now_us() + kNodeReservationSecondsMax * kMicrosPerSecond) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("expires_us: {}: it is {}, and kNodeReservationSecondsMax is {}",
                            request.expires_us(), quotas.now_us(), kNodeReservationSecondsMax));
  }
  note_kept(templates_bytes_);
  // Memory may end here, and not where the nodes are held.
  sweep_node_owners();
  Owner owner = peer.owner();
  const auto [its_owner, is_new] = node_owners_.try_emplace(request.id()->str(), owner);
  const Result<ReserveAnswer> answer = quotas.reserve(
      text(request.id()), plan_items_, request.expires_us(),
      request.mode() == wire::ReserveMode::All ? ReserveMode::kAll : ReserveMode::kUpTo);
  if (answer && answer->accepted) {
    std::swap(its_owner->second, owner);
  } else if (is_new) {
    node_owners_.erase(its_owner);
  }
  if (!answer) return tl::unexpected(answer.error());
  metrics_.capacity_asked(!answer->stopped);
  finish(id, encode(builder_, *answer, quotas.now_us(), epoch()));
  return {};
}

void RequestService::sweep_node_owners() {
  const std::size_t live = capacity_quotas().stats().reservations;
  if (node_owners_.size() <= 2 * live + kSpareNodeOwnersMax) return;
  std::map<std::string, Owner, std::less<>> kept;
  for (const ReservationStatus& reservation : capacity_quotas().reservations()) {
    const auto known = node_owners_.find(reservation.id);
    if (known != node_owners_.end()) kept.insert(*known);
  }
  node_owners_ = std::move(kept);
}

bool RequestService::is_live(std::string_view node_reservation) const {
  const std::vector<ReservationStatus> live = capacity_quotas().reservations();
  return std::any_of(live.begin(), live.end(), [&](const ReservationStatus& reservation) {
    return reservation.id == node_reservation;
  });
}

Result<void> RequestService::capacity_release(Peer& peer, std::uint64_t id,
                                              const wire::CapacityRelease& request) {
  const std::string_view reservation = text(request.id());
  const auto owner = node_owners_.find(reservation);
  if (owner != node_owners_.end() && owner->second != peer.owner() && is_live(reservation)) {
    return fail(ErrorCode::kForbidden,
                fmt::format("id: {} was reserved by {}", cut(reservation), owner->second.text()));
  }
  const bool released = current_->capacity_quotas().release(reservation);
  if (owner != node_owners_.end()) node_owners_.erase(owner);
  finish(id, wire::CreateCapacityReleased(builder_, epoch(), released));
  return {};
}

Result<void> RequestService::capacity_quota_status(std::uint64_t id,
                                                   const wire::CapacityQuotaStatus& request) {
  std::optional<CapacityQuotaPlace> after;
  if (const std::string_view id_before = text(request.after()); !id_before.empty()) {
    Result<CapacityQuotaPlace> place = place_of(id_before);
    if (!place) return tl::unexpected(place.error());
    after = std::move(*place);
  }
  // One more than a reply has, so that it says that there are more.
  const std::vector<CapacityQuotaStatus> page =
      capacity_quotas().status(after, std::size_t{kQuotasPerReplyMax} + 1);
  finish(id, encode(builder_, std::span(page), epoch()));
  return {};
}

Result<void> RequestService::capacity_reservations(std::uint64_t id,
                                                   const wire::CapacityReservations& request) {
  const std::vector<ReservationStatus> all = capacity_quotas().reservations();  // by id
  const std::string_view after = text(request.after());
  const auto first = std::partition_point(
      all.begin(), all.end(),
      [&](const ReservationStatus& reservation) { return reservation.id <= after; });
  finish(id, encode(builder_, std::span(first, all.end()), capacity_quotas().now_us(), epoch()));
  return {};
}

}  // namespace headroom
