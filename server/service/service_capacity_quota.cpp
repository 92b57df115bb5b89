// RequestService: how many nodes may be added, and which are reserved. All but a release and a page
// of reservations takes turns; see work.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "autoscaling/capacity_planning.h"
#include "objects/text/time_text.h"
#include "schema/frame.h"
#include "server/answers/encode_capacity_quota.h"
#include "server/service/service.h"

namespace headroom {

namespace {

// Owners that each new reservation of nodes looks at: those of reservations that are not live any
// more go sooner than they come.
constexpr std::size_t kNodeOwnersSwept = 2;

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

// --- Templates ---

// The templates of a request, read one by one: their list may be long, and each of them large.
class RequestService::Templates {
 public:
  using Items = flatbuffers::Vector<flatbuffers::Offset<wire::CapacityItem>>;

  Templates(RequestService& service, const char* field, const Items* items)
      : service_(service), field_(field), items_(items) {}
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  std::uint32_t count() const { return size_of(items_); }
  // kConflict: nothing is known yet.
  Result<void> check(bool may_be_empty) const {
    if (!service_.ready_) {
      return fail(ErrorCode::kConflict,
                  fmt::format("{}: no quota is known: no feeder has completed a resync", field_));
    }
    if (count() > kCapacityItemsPerRequestMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: {}: kCapacityItemsPerRequestMax is {}", field_, count(),
                              kCapacityItemsPerRequestMax));
    }
    if (count() == 0 && !may_be_empty) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: 0: at least 1", field_));
    }
    return {};
  }
  // Into `node`, in their order, from the first.
  Result<PlanItem> read(std::uint32_t at, Node& node) {
    if (at == 0) bytes_ = 0;
    const wire::CapacityItem& item = *items_->Get(at);
    const Result<std::size_t> decoded = decode(*item.node(), node);
    if (!decoded) {
      return fail(decoded.error().code,
                  fmt::format("{}[{}]: {}", field_, at, decoded.error().message));
    }
    bytes_ += *decoded;
    if (bytes_ > kRequestBytesMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: more than {} bytes in the first {}, which is kRequestBytesMax",
                              field_, kRequestBytesMax, at + 1));
    }
    if (item.count() < 0) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}[{}]: count: {} is below 0", field_, at, item.count()));
    }
    return PlanItem{.node = &node, .count = item.count()};
  }
  // All of them, in turns; false: some are left.
  Result<bool> read_all(const Pause& pause) {
    nodes_.resize(count());
    while (all_.size() < count()) {
      const auto at = static_cast<std::uint32_t>(all_.size());
      const Result<PlanItem> item = read(at, nodes_[at]);
      if (!item) return tl::unexpected(item.error());
      all_.push_back(*item);
      service_.note_kept(bytes_ - std::exchange(noted_, bytes_));
      if (pause()) return false;
    }
    return true;
  }
  const std::vector<PlanItem>& all() const { return all_; }

 private:
  RequestService& service_;
  const char* const field_;
  const Items* const items_;
  std::vector<Node> nodes_;
  std::vector<PlanItem> all_;  // point into nodes_
  std::size_t bytes_ = 0, noted_ = 0;
};

// --- Questions ---

// Each item is asked about by itself, as the facts are at its turn.
class RequestService::Checking final : public Work {
 public:
  Checking(RequestService& service, std::uint64_t id, const wire::CapacityCheck& request)
      : service_(service),
        id_(id),
        items_(service, "items", request.items()),
        reply_(service.builder_, request.binding_only()) {}

  Result<bool> turn(const Pause& pause) override {
    if (done_ == 0) {
      if (auto ok = items_.check(false); !ok) return tl::unexpected(ok.error());
    }
    CapacityCheck& answer = service_.check_;
    if (answer.rows.size() > kCapacityQuotaRowsPerReplyMax) answer = {};
    for (bool first = true; done_ < items_.count(); ++done_, first = false) {
      if (!first && pause()) return false;
      const Result<PlanItem> item = items_.read(done_, node_);
      if (!item) return tl::unexpected(item.error());
      if (auto checked =
              service_.current_->capacity_quotas().check(*item->node, item->count, answer);
          !checked) {
        return fail(checked.error().code,
                    fmt::format("items[{}]: {}", done_, checked.error().message));
      }
      service_.metrics_.capacity_asked(answer.allowed == item->count);
      reply_.add(answer);
    }
    service_.finish(id_, reply_.finish(service_.epoch(), answer.skipped));
    return true;
  }

 private:
  RequestService& service_;
  const std::uint64_t id_;
  Templates items_;
  CapacityCheckEncoder reply_;
  Node node_;
  std::uint32_t done_ = 0;
};

Result<void> RequestService::capacity_check(std::uint64_t id, const wire::CapacityCheck& request) {
  return begin(std::make_unique<Checking>(*this, id, request));
}

// Read, planned and written in turns; templates are read again rather than kept, as many who ask
// may be at it at once. Another cluster, or another quota, is asked from the first item on.
class RequestService::Planning final : public Work {
 public:
  Planning(RequestService& service, std::uint64_t id, const wire::CapacityPlan& request)
      : service_(service),
        id_(id),
        request_(request),
        add_(service, "add", request.add()),
        reply_(service.builder_) {}

  Result<bool> turn(const Pause& pause) override {
    if (planning_ == nullptr || cluster_ != service_.clusters_) {
      if (auto ok = add_.check(true); !ok) return tl::unexpected(ok.error());
      Result<std::vector<std::string_view>> removed = read_removed();
      if (!removed) return tl::unexpected(removed.error());
      cluster_ = service_.clusters_;
      written_ = copied_ = 0;
      planning_ = service_.current_->capacity_quotas().planning(
          {.count = add_.count(),
           .item =
               [this](std::size_t at) { return add_.read(static_cast<std::uint32_t>(at), node_); },
           .remove = std::move(*removed)});
    }
    if (auto ok = service_.check_memory(); !ok) return tl::unexpected(ok.error());
    const Result<bool> planned = planning_->turn(pause);
    service_.note_kept(planning_->bytes() - std::min(noted_, planning_->bytes()));
    noted_ = planning_->bytes();
    if (copied_ != planning_->copied()) {
      copied_ = planning_->copied();
      epoch_ = service_.epoch();
    }
    if (!planned || !*planned) return planned;
    const PlanAnswer& answer = planning_->answer();
    if (written_ != planning_->begun()) {
      written_ = planning_->begun();
      service_.builder_.Clear();
      reply_.begin();
    }
    while (reply_.add_rows(answer)) {
      if (pause()) return false;
    }
    service_.metrics_.capacity_asked(!answer.net_break);
    service_.finish(id_, reply_.finish(answer, epoch_));
    return true;
  }

 private:
  Result<std::vector<std::string_view>> read_removed() const {
    std::vector<std::string_view> names;
    if (auto ok = check_items("remove", size_of(request_.remove())); !ok) {
      return tl::unexpected(ok.error());
    }
    for (std::uint32_t n = 0; n < size_of(request_.remove()); ++n) {
      names.push_back(text(request_.remove()->Get(n)));
      if (auto ok = check_text("remove", names.back()); !ok) return tl::unexpected(ok.error());
    }
    return names;
  }

  RequestService& service_;
  const std::uint64_t id_;
  const wire::CapacityPlan& request_;
  Templates add_;
  Node node_;                  // the template at hand
  std::uint64_t cluster_ = 0;  // by RequestService::clusters_
  std::unique_ptr<CapacityPlanning> planning_;
  std::size_t noted_ = 0;                 // of its bytes
  std::uint64_t copied_ = 0, epoch_ = 0;  // what the answer is of, by copied(), and then
  std::uint64_t written_ = 0;             // whose rows are in the reply, by begun()
  CapacityPlanEncoder reply_;
};

Result<void> RequestService::capacity_plan(std::uint64_t id, const wire::CapacityPlan& request) {
  return begin(std::make_unique<Planning>(*this, id, request));
}

// A page of quotas, each as it is at its turn.
class RequestService::ListingQuotas final : public Work {
 public:
  ListingQuotas(RequestService& service, std::uint64_t id, std::optional<CapacityQuotaPlace> after)
      : service_(service), id_(id), after_(std::move(after)) {}

  Result<bool> turn(const Pause& pause) override {
    // One more than a reply has, so that it says that there are more.
    for (bool first = true; page_.size() <= kQuotasPerReplyMax; first = false) {
      if (!first && pause()) return false;
      std::vector<CapacityQuotaStatus> next = service_.capacity_quotas().status(after_, 1);
      if (next.empty()) break;
      after_.emplace(next.front().quota_class, next.front().name);
      page_.push_back(std::move(next.front()));
    }
    service_.finish(id_, encode(service_.builder_, std::span(page_), service_.epoch()));
    return true;
  }

 private:
  RequestService& service_;
  const std::uint64_t id_;
  std::optional<CapacityQuotaPlace> after_;
  std::vector<CapacityQuotaStatus> page_;
};

Result<void> RequestService::capacity_quota_status(std::uint64_t id,
                                                   const wire::CapacityQuotaStatus& request) {
  std::optional<CapacityQuotaPlace> after;
  if (const std::string_view id_before = text(request.after()); !id_before.empty()) {
    Result<CapacityQuotaPlace> place = place_of(id_before);
    if (!place) return tl::unexpected(place.error());
    after = std::move(*place);
  }
  return begin(std::make_unique<ListingQuotas>(*this, id, std::move(after)));
}

// --- Reservations ---

// Nothing is held before the last turn, and then all of it.
class RequestService::ReservingNodes final : public Work {
 public:
  ReservingNodes(RequestService& service, Peer& peer, std::uint64_t id,
                 const wire::CapacityReserve& request)
      : service_(service),
        peer_(peer),
        id_(id),
        request_(request),
        items_(service, "items", request.items()) {}

  Result<bool> turn(const Pause& pause) override {
    if (auto checked = check(); !checked) return tl::unexpected(checked.error());
    const Result<bool> read = items_.read_all(pause);
    if (!read || !*read) return read;
    CapacityQuotas& quotas = service_.current_->capacity_quotas();
    if (reserving_ == nullptr || cluster_ != service_.clusters_) {
      service_.sweep_node_owners();
      cluster_ = service_.clusters_;
      reserving_ = quotas.reserving({.id = text(request_.id()),
                                     .items = items_.all(),
                                     .expires_us = request_.expires_us(),
                                     .mode = request_.mode() == wire::ReserveMode::All
                                                 ? ReserveMode::kAll
                                                 : ReserveMode::kUpTo});
    }
    // Memory may end here, and not where the nodes are held.
    Owner owner = peer_.owner();
    const auto [its_owner, is_new] = service_.node_owners_.try_emplace(request_.id()->str(), owner);
    const Result<bool> done = reserving_->turn(pause);
    const ReserveAnswer& answer = reserving_->answer();
    if (done && *done && answer.accepted) {
      std::swap(its_owner->second, owner);
    } else if (is_new) {
      service_.node_owners_.erase(its_owner);
    }
    if (!done || !*done) return done;
    service_.metrics_.capacity_asked(!answer.stopped);
    service_.finish(id_, encode(service_.builder_, answer, quotas.now_us(), service_.epoch()));
    return true;
  }

 private:
  Result<void> check() const {
    if (auto checked = service_.check_memory(); !checked) return checked;
    if (auto checked = check_text("id", text(request_.id())); !checked) return checked;
    if (request_.mode() > wire::ReserveMode::MAX) {
      return fail(ErrorCode::kUnsupported, fmt::format("mode: {} is not known; accepted: 0 to {}",
                                                       static_cast<int>(request_.mode()),
                                                       static_cast<int>(wire::ReserveMode::MAX)));
    }
    if (auto checked = items_.check(false); !checked) return checked;
    const std::int64_t now_us = service_.capacity_quotas().now_us();
    if (request_.expires_us() > now_us + kNodeReservationSecondsMax * kMicrosPerSecond) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("expires_us: {}: it is {}, and kNodeReservationSecondsMax is {}",
                              request_.expires_us(), now_us, kNodeReservationSecondsMax));
    }
    return {};
  }

  RequestService& service_;
  Peer& peer_;
  const std::uint64_t id_;
  const wire::CapacityReserve& request_;
  Templates items_;
  std::uint64_t cluster_ = 0;  // by RequestService::clusters_
  std::unique_ptr<CapacityReserving> reserving_;
};

Result<void> RequestService::capacity_reserve(Peer& peer, std::uint64_t id,
                                              const wire::CapacityReserve& request) {
  return begin(std::make_unique<ReservingNodes>(*this, peer, id, request));
}

void RequestService::sweep_node_owners() {
  auto at = node_owners_.lower_bound(swept_);
  for (std::size_t swept = 0; swept < kNodeOwnersSwept && !node_owners_.empty(); ++swept) {
    if (at == node_owners_.end()) at = node_owners_.begin();
    at = capacity_quotas().is_reserved(at->first) ? std::next(at) : node_owners_.erase(at);
  }
  swept_ = at == node_owners_.end() ? std::string() : at->first;
}

Result<void> RequestService::capacity_release(Peer& peer, std::uint64_t id,
                                              const wire::CapacityRelease& request) {
  const std::string_view reservation = text(request.id());
  const auto owner = node_owners_.find(reservation);
  if (owner != node_owners_.end() && owner->second != peer.owner() &&
      capacity_quotas().is_reserved(reservation)) {
    return fail(ErrorCode::kForbidden,
                fmt::format("id: {} was reserved by {}", cut(reservation), owner->second.text()));
  }
  const bool released = current_->capacity_quotas().release(reservation);
  if (owner != node_owners_.end()) node_owners_.erase(owner);
  finish(id, wire::CreateCapacityReleased(builder_, epoch(), released));
  return {};
}

Result<void> RequestService::capacity_reservations(std::uint64_t id,
                                                   const wire::CapacityReservations& request) {
  // One more than a reply has, as above.
  const std::vector<ReservationStatus> page = capacity_quotas().reservations(
      text(request.after()), std::size_t{kReservationsPerReplyMax} + 1);
  finish(id, encode(builder_, std::span(page), capacity_quotas().now_us(), epoch()));
  return {};
}

}  // namespace headroom
