// RequestService: pods that are reserved: by whom, until when, and what becomes of them.
#include <fmt/format.h>

#include <algorithm>

#include "schema/frame.h"
#include "server/answers/encode.h"
#include "server/service/service.h"

namespace headroom {

namespace {

// That one turn ends; the others have the next.
constexpr std::uint32_t kExpiredPerTurnMax = 256;

}  // namespace

std::size_t RequestService::text_bytes(const Pod& pod) {
  std::size_t bytes = 0;
  for (const StringMap* map : {&pod.labels, &pod.annotations}) {
    for (const auto& [key, value] : *map) bytes += key.size() + value.size();
  }
  return bytes;
}

Result<const PodReservation*> RequestService::check_reservable(const Peer& peer, const Pod& pod,
                                                               const std::string& key) const {
  if (auto checked = check_memory(); !checked) return tl::unexpected(checked.error());
  const NodeIndex node = engine().node_of_pod(pod.namespace_name, pod.name);
  // What is reserved counts there, so that of most pods the list is not asked.
  const PodReservation* known = node == kNoNode ? nullptr : reservations_.find(key);
  if (known != nullptr) {
    if (known->owner == peer.owner()) return known;
    return fail(ErrorCode::kForbidden, fmt::format("pod {} is reserved on node {} by {}", key,
                                                   known->node_name, known->owner.text()));
  }
  // A front-end may look at what was: the engine would leave the pod where it ended.
  if (engine().has_ended(pod.namespace_name, pod.name, pod.uid)) {
    return fail(ErrorCode::kConflict, fmt::format("pod {} (uid {}) has ended", key, pod.uid));
  }
  if (node == kNoNode) return nullptr;
  return fail(ErrorCode::kConflict,
              fmt::format("pod {} is bound to node {}", key, engine().node_name(node)));
}

Result<RequestService::Made> RequestService::reserve(const Peer& peer,
                                                     const wire::Reserve& request) {
  const Result<const Pod*> found = resolve(*request.pod(), reserve_pod_);
  if (!found) return tl::unexpected(found.error());
  const Pod& pod = **found;
  const std::string_view node_name = text(request.node_name());
  const std::string key = pod_key(pod.namespace_name, pod.name);
  note_kept(text_bytes(pod));
  const Result<const PodReservation*> known = check_reservable(peer, pod, key);
  if (!known) return tl::unexpected(known.error());
  if (*known == nullptr && reservations_.size() >= kReservedPodsMax) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("pod {}: kReservedPodsMax ({}) pods are reserved", key, kReservedPodsMax));
  }
  const Result<NodeDetail> detail = engine_of(peer).filter(pod, node_name);
  if (!detail) return tl::unexpected(detail.error());
  if (detail->code != Code::kSuccess) {
    return fail(ErrorCode::kConflict,
                fmt::format("node {}: {}", node_name, fmt::join(detail->reasons, ", ")));
  }
  Made made{.pod_key = key, .serial = ++reserved_serial_, .former = {}};
  if (*known != nullptr) made.former = std::make_unique<PodReservation>(**known);
  try {
    if (auto assumed = current_->assume(pod, node_name); !assumed) {
      return tl::unexpected(assumed.error());
    }
    // Where `pod` points into the pending pods it is copied; it may be bound before it is asked
    // for.
    reserve_pod_ = pod;
    reservations_.put(key,
                      {.pod = pod,
                       .node_name = std::string(node_name),
                       .owner = peer.owner(),
                       .reserved_us = wall_now_us(),
                       .serial = made.serial},
                      steady_now());
  } catch (...) {
    // One of another uid would pass for the engine's, and end without it. With none the barrier
    // sees that a pod is assumed that nobody has reserved.
    reservations_.erase(key);
    throw;
  }
  return made;
}

// Unless it has become another one since: in another turn, of another request.
void RequestService::undo(const Made& made) {
  const PodReservation* now = reservations_.find(made.pod_key);
  if (now == nullptr || now->serial != made.serial) return;
  current_->forget(now->pod, now->node_name);
  if (made.former != nullptr && current_->assume(made.former->pod, made.former->node_name)) {
    reservations_.restore(made.pod_key, *made.former);
  } else {
    reservations_.erase(made.pod_key);
  }
}

// For destructors: of what could not be undone for lack of memory the reservation ends by itself.
void RequestService::undo_all(std::span<const Made> made) noexcept {
  try {
    for (std::size_t m = made.size(); m-- > 0;) undo(made[m]);
  } catch (const std::exception& failed) {
    options_.log(LogLevel::kError, "not undone", {{"reason", failed.what()}});
  }
}

Result<void> RequestService::serve_reserve(Peer& peer, std::uint64_t id,
                                           const wire::Reserve& request) {
  Provisional provisional(*this);
  Result<void> done;
  if (Result<Made> made = reserve(peer, request); made) {
    provisional.made = std::move(*made);
  } else {
    done = tl::unexpected(made.error());
  }
  finish(id, reserved(done));
  provisional.made.reset();
  return {};
}

Result<void> RequestService::unreserve(Peer& peer, std::uint64_t id,
                                       const wire::Unreserve& request) {
  const std::string key = pod_key(text(request.namespace_name()), text(request.name()));
  const PodReservation* found = reservations_.find(key);
  if (found != nullptr && found->pod.uid == text(request.uid()) &&
      found->node_name == text(request.node_name()) && found->owner == peer.owner()) {
    current_->forget(found->pod, found->node_name);
    reservations_.erase(key);
  }
  finish(id, wire::CreateUnreserved(builder_, epoch()));
  return {};
}

Result<void> RequestService::renew_reservations(Peer& peer, std::uint64_t id,
                                                const wire::RenewReservations&) {
  finish(id, wire::CreateReservationsRenewed(builder_,
                                             reservations_.renew(peer.owner(), steady_now())));
  return {};
}

Result<void> RequestService::reservations(std::uint64_t id, const wire::Reservations& request) {
  const PodReservations::ByKey& all = reservations_.by_key();
  auto next = all.begin();
  if (const wire::PodKey* after = request.after(); after != nullptr) {
    next = all.upper_bound(pod_key(text(after->namespace_name()), text(after->name())));
  }
  const std::int64_t now_us = wall_now_us();
  const SteadyTime now = steady_now();
  std::vector<flatbuffers::Offset<wire::Reservation>> page;
  for (; next != all.end() && page.size() < kReservationsPerReplyMax; ++next) {
    const PodReservation& held = next->second;
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(reservations_.ends(held) - now);
    const auto namespace_name = write_text(builder_, held.pod.namespace_name);
    const auto name = write_text(builder_, held.pod.name);
    const auto uid = write_text(builder_, held.pod.uid);
    const auto node_name = write_text(builder_, held.node_name);
    page.push_back(wire::CreateReservation(builder_, namespace_name, name, uid, node_name,
                                           write_text(builder_, held.owner.text()),
                                           held.reserved_us, now_us + left.count()));
    // Names are long where somebody makes them so: the page ends before a frame does.
    if (builder_.GetSize() > kFrameBytesMax / 2) {
      ++next;
      break;
    }
  }
  const auto items = builder_.CreateVector(page);
  finish(id, wire::CreateReservationsReply(builder_, items, next != all.end(), now_us));
  return {};
}

void RequestService::expire_reservations() {
  const SteadyTime now = steady_now();
  for (std::uint32_t e = 0; e < kExpiredPerTurnMax; ++e) {
    const std::string key(reservations_.ended(now));
    if (key.empty()) return;
    const PodReservation& held = *reservations_.find(key);
    if (expired_++ == 0) {
      expired_first_ = fmt::format("{} on {}, of {}", key, held.node_name, held.owner.text());
    }
    metrics_.reservation_expired();
    current_->forget(held.pod, held.node_name);
    reservations_.erase(key);
  }
}

// Once a tick, however many.
void RequestService::tell_expired() {
  if (expired_ == 0) return;
  options_.log(LogLevel::kWarning, "reservations expired: neither bound nor renewed in time",
               {{"pods", fmt::to_string(expired_)},
                {"first", expired_first_},
                {"seconds", fmt::to_string(options_.reservation_time.count())}});
  expired_ = 0;
}

}  // namespace headroom
