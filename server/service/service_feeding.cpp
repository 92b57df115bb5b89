// RequestService: facts, resyncs, and what becomes of reservations in them.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kept/check_times.h"
#include "server/service/service.h"

namespace headroom {

void RequestService::feed_begin(Peer& peer, std::uint64_t id, const wire::FeedBegin& begin) {
  if (begin.incarnation() != 0 && begin.incarnation() != options_.incarnation) {
    send_error(peer, id,
               {ErrorCode::kConflict, fmt::format("incarnation: {}; the server's is {}",
                                                  begin.incarnation(), options_.incarnation)});
    return;
  }
  if (begin.now_us() < 0 || begin.now_us() > kTimeMaxUs) {
    send_error(
        peer, id,
        {ErrorCode::kInvalid, fmt::format("now_us: {} is not within 1970 and kTimeMaxUs ({})",
                                          begin.now_us(), kTimeMaxUs)});
    return;
  }
  if (refusing_) {
    metrics_.refused_for_memory(true);
    send_error(peer, id, memory_used_up());
    return;
  }
  if (feeder_ != nullptr && feeder_ != &peer) {
    stop_feeding(wire::FeedStop::Replaced, fmt::format("{} feeds now", peer.name));
  }
  abort_resync();
  auto cluster = FedCluster::create(options_.profiles, options_.engine, options_.quotas);
  if (!cluster) {  // its profiles were checked when they were set
    send_error(peer, id, cluster.error());
    return;
  }
  options_.log(LogLevel::kInfo, "resync begins", {{"client", peer.name}});
  FedCluster& made = **cluster;
  made.begin_bulk(ready_);
  if (begin.now_us() != 0) (void)made.advance(begin.now_us());
  made.expect(*current_);
  next_ = std::move(*cluster);
  next_feeder_time_ = begin.now_us() != 0;
  ++resyncs_;
  feeder_ = &peer;
  peer.feeds = true;
  peer.told_to_stop = false;
  sequence_ = 0;
}

// Tells a peer that is not, or no longer, to feed.
bool RequestService::feeds(Peer& peer, std::uint64_t sequence, std::uint64_t expected) {
  if (feeder_ == &peer && sequence == expected) return true;
  metrics_.rejected(RequestRejection::kOutOfOrder);
  if (feeder_ == &peer) {
    stop_feeding(wire::FeedStop::Gap,
                 fmt::format("sequence: {} where {} was due", sequence, expected));
  } else if (!peer.told_to_stop) {
    tell_stopped(peer, wire::FeedStop::Gap, "facts without a FeedBegin");
  }
  return false;
}

void RequestService::tell_stopped(Peer& peer, wire::FeedStop why, const std::string& message) {
  peer.told_to_stop = true;
  Builder builder;  // there may be another peer's answer in builder_
  finish_frame(builder, 0, wire::CreateFeedStopped(builder, why, builder.CreateString(message)));
  peer.send(bytes_of(builder));
}

void RequestService::stop_feeding(wire::FeedStop why, const std::string& message) {
  Peer& peer = *std::exchange(feeder_, nullptr);
  peer.feeds = false;
  options_.log(LogLevel::kWarning, "feeder stopped",
               {{"client", peer.name}, {"why", wire::EnumNameFeedStop(why)}, {"message", message}});
  abort_resync();
  tell_stopped(peer, why, message);
}

void RequestService::abort_resync() {
  if (next_ == nullptr) return;
  metrics_.resync_ended(false);
  retire(std::move(next_));
}

// Epochs and counters go on.
bool RequestService::replace_current(std::unique_ptr<FedCluster> cluster) {
  epoch_base_ = epoch() + 1;
  retired_ = state().engine;
  const bool others_decide = std::exchange(profiles_wait_, false);
  std::swap(current_, cluster);
  ++clusters_;
  retire(std::move(cluster));
  return others_decide;
}

// Freeing a large cluster takes a while, in which decisions go on.
void RequestService::retire(std::unique_ptr<FedCluster> cluster) {
  if (retiring_.joinable()) retiring_.join();
  try {
    retiring_ = std::thread([old = std::move(cluster)]() mutable {
      old.reset();
      ::malloc_trim(0);  // what it held goes back to the system
    });
  } catch (...) {
    // No thread to be had: it has been freed here.
  }
}

// One change after the other, in their order; a change applies whole or not at all.
class RequestService::Applying final : public Work {
 public:
  Applying(RequestService& service, Peer& peer, std::uint64_t id, const wire::Facts& facts)
      : service_(service), peer_(peer), id_(id), facts_(facts), next_(service.next_.get()) {}
  std::chrono::microseconds turn_time() const override { return kFeedTurnTime; }

  Result<bool> turn(const Pause& pause) override {
    RequestService& service = service_;
    const std::uint32_t count = size_of(facts_.changes());
    for (bool first = true; applied_ < count; ++applied_, first = false) {
      if (!first && pause()) return false;
      if (is_over() || service.refusing_) return stop(count);
      const auto applied = cluster().apply(*facts_.changes()->Get(applied_));
      if (!applied) {
        ++refused_;
        service.send_error(peer_, id_, applied.error(), static_cast<std::int32_t>(applied_));
      } else {
        service.settle(*applied);
        service.note_kept(applied->bytes);
      }
    }
    if (is_over()) return stop(count);
    service.metrics_.facts(count - refused_, refused_);
    const bool feeder_time =
        service.next_ != nullptr ? service.next_feeder_time_ : service.feeder_time_;
    if (feeder_time && facts_.now_us() != 0) {
      if (auto advanced = cluster().advance(facts_.now_us()); !advanced) {
        service.send_error(peer_, id_, advanced.error());
      }
    }
    if (facts_.sent_us() != 0 && service.options_.wall_clock) {
      const auto now = static_cast<double>(service.options_.wall_clock());
      service.metrics_.feeder_lag((now - static_cast<double>(facts_.sent_us())) / 1e6);
    }
    return true;
  }

  // What has come is applied, as it would have been before the peer went.
  void drop() override {
    while (!*turn(kInOneTurn)) {
    }
  }

 private:
  // Another feeds since the last turn, the server has another profile, or the resync that this is
  // a part of was ended: the peer was told.
  bool is_over() const { return service_.feeder_ != &peer_ || service_.next_.get() != next_; }
  FedCluster& cluster() { return next_ != nullptr ? *next_ : *service_.current_; }
  // The rest is not applied. For want of memory, which ends a resync, the peer is told here; there
  // will be another one once there is some.
  bool stop(std::uint32_t count) {
    if (!service_.refusing_ || service_.feeder_ != &peer_) return true;
    service_.facts_lost_ = true;
    service_.metrics_.refused_for_memory(true);
    service_.metrics_.facts(applied_ - refused_, refused_ + count - applied_);
    service_.send_error(peer_, id_, service_.memory_used_up());
    return true;
  }

  RequestService& service_;
  Peer& peer_;
  const std::uint64_t id_;
  const wire::Facts& facts_;
  FedCluster* const next_;  // that they are for; nullptr: the one that decides
  std::uint32_t applied_ = 0, refused_ = 0;
};

void RequestService::facts(Peer& peer, std::uint64_t id, const wire::Facts& facts) {
  if (!feeds(peer, facts.sequence(), sequence_ + 1)) return;
  ++sequence_;
  facts_at_ = steady_now();
  if (refusing_) {
    facts_lost_ = true;
    metrics_.refused_for_memory(true);
    send_error(peer, id, memory_used_up());
    return;
  }
  const std::uint32_t count = size_of(facts.changes());
  if (count > kChangesPerFactsMax) {
    metrics_.facts(0, count);
    // Nothing of it was applied: the feeder cannot go on as if it were.
    send_error(peer, id,
               {ErrorCode::kLimitExceeded,
                fmt::format("changes: {}: kChangesPerFactsMax is {}", count, kChangesPerFactsMax)});
    stop_feeding(wire::FeedStop::Gap,
                 fmt::format("sequence: {} was refused as a whole", facts.sequence()));
    return;
  }
  (void)begin(std::make_unique<Applying>(*this, peer, id, facts));
}

// The columns of the rows that the facts changed are derived in turns, the rest is done at once:
// decisions go from one state to the other.
class RequestService::EndingFeed final : public Work {
 public:
  EndingFeed(RequestService& service, Peer& peer) : service_(service), peer_(peer) {}
  std::chrono::microseconds turn_time() const override { return kFeedTurnTime; }

  Result<bool> turn(const Pause& pause) override {
    // Another feeds since the last turn, or the server has another profile: this one was told.
    if (service_.feeder_ != &peer_ || service_.next_ == nullptr) return true;
    if (!service_.next_->derive(pause)) return false;
    service_.end_resync();
    return true;
  }

 private:
  RequestService& service_;
  Peer& peer_;
};

void RequestService::feed_end(Peer& peer, std::uint64_t id, const wire::FeedEnd& end) {
  if (!feeds(peer, end.sequence(), sequence_)) return;
  if (next_ == nullptr) {
    send_error(peer, id, {ErrorCode::kConflict, "FeedEnd: no resync is under way"});
    return;
  }
  (void)begin(std::make_unique<EndingFeed>(*this, peer));
}

void RequestService::end_resync() {
  adopt_reservations();
  next_->capacity_quotas().adopt(current_->capacity_quotas());
  next_->end_bulk();
  const bool others_decide = replace_current(std::move(next_));
  given_up_ = false;
  if (small_cache_) set_cache_size(*current_);
  feeder_time_ = next_feeder_time_;
  ready_ = true;
  metrics_.resync_ended(true);
  const EngineStats stats = engine().stats();
  options_.log(LogLevel::kInfo, "resync complete",
               {{"client", feeder_->name},
                {"nodes", fmt::to_string(stats.nodes)},
                {"pods", fmt::to_string(stats.pods)},
                {"reserved", fmt::to_string(reservations_.size())}});
  tick();
  if (others_decide) greet_again();
}

// A reservation ends when its pod is bound, terminal, gone, or another one of that name: at once,
// or with the resync whose facts say so.
void RequestService::settle(const FedCluster::Applied& applied) {
  if (reservations_.size() == 0 || applied.pod_key.empty()) return;
  const PodReservation* found = reservations_.find(applied.pod_key);
  if (found == nullptr || (applied.waits && found->pod.uid == applied.pod_uid)) return;
  if (next_ != nullptr) {
    reservations_.settle(applied.pod_key, resyncs_);
  } else {
    reservations_.erase(applied.pod_key);
  }
}

// What is reserved stays so in the next cluster, its owner's and with its times, unless the new
// facts settle it: the pod is bound, another one has its name, or it was fed before and is not
// mentioned any more.
void RequestService::adopt_reservations() {
  std::vector<std::string> ended;
  for (const auto& [key, reservation] : reservations_.by_key()) {
    const Pod& pod = reservation.pod;
    const Pod* fed = next_->pending().of_key(key);
    bool holds = reservation.settled_by != resyncs_;
    if (fed != nullptr) {
      holds = holds && fed->uid == pod.uid;
    } else {
      const Pod* was_fed = current_->pending().of_key(key);
      holds = holds && (was_fed == nullptr || was_fed->uid != pod.uid) &&
              next_->engine().node_of_pod(pod.namespace_name, pod.name) == kNoNode;
    }
    if (!holds || !next_->assume(pod, reservation.node_name)) ended.push_back(key);
  }
  for (const std::string& key : ended) reservations_.erase(key);
}

Result<void> RequestService::set_profiles(std::vector<Profile> profiles) {
  if (profiles == options_.profiles) {
    options_.log(LogLevel::kInfo, "profile unchanged", {});
    return {};
  }
  auto cluster = FedCluster::create(profiles, options_.engine, options_.quotas);
  if (!cluster) return tl::unexpected(cluster.error());
  options_.profiles = std::move(profiles);
  profiles_wait_ = true;
  const EngineStats stats = current_->engine().stats();
  const CapacityQuotasStats capacity = capacity_quotas().stats();
  if (feeder_ != nullptr) {
    stop_feeding(wire::FeedStop::NewProfile, "the server has another profile: resync");
  } else if (stats.nodes == 0 && stats.pods == 0 && capacity.quotas == 0 &&
             capacity.reservations == 0) {
    (void)replace_current(std::move(*cluster));
    options_.log(LogLevel::kInfo, "profile changed", {});
    greet_again();
  } else {
    options_.log(LogLevel::kWarning, "the new profile waits for a feeder's resync", {});
  }
  return {};
}

}  // namespace headroom
