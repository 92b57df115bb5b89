#include "server/service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "objects/assert.h"

namespace headroom {

namespace {

// A clock that moved so much more or less than time has passed was set. Ahead: followed at once.
// Back: corrected, beyond this; what is less is waited for.
constexpr std::int64_t kClockJumpUs = 60'000'000;

std::string no_profile(std::string_view scheduler_name, const std::vector<const Profile*>& served) {
  std::string names;
  for (const Profile* profile : served) {
    names += (names.empty() ? "" : ", ") + profile->scheduler_name;
  }
  return fmt::format("scheduler_name: \"{}\" has no profile here; served: {}", cut(scheduler_name),
                     names);
}

}  // namespace

Result<std::unique_ptr<RequestService>> RequestService::create(ServiceOptions options,
                                                               Metrics& metrics) {
  Result<std::unique_ptr<FedCluster>> cluster =
      FedCluster::create(options.profiles, options.engine, options.quotas);
  if (!cluster) return tl::unexpected(cluster.error());
  std::unique_ptr<RequestService> service(
      new RequestService(std::move(options), metrics, std::move(*cluster)));
  service->tick();
  return service;
}

RequestService::RequestService(ServiceOptions options, Metrics& metrics,
                               std::unique_ptr<FedCluster> cluster)
    : options_(std::move(options)),
      metrics_(metrics),
      current_(std::move(cluster)),
      reservations_(options_.reservation_time) {}

RequestService::~RequestService() {
  under_way_.clear();  // works give back what they took
  if (retiring_.joinable()) retiring_.join();
}

// --- Connections -------------------------------------------------------------------------------

void RequestService::connected(Peer& peer) { peers_.push_back(&peer); }

void RequestService::disconnected(Peer& peer) noexcept {
  std::erase(peers_, &peer);
  const bool fed = feeder_ == &peer;
  const auto leave = [&] {
    drop_work(peer);
    if (fed) {
      options_.log(LogLevel::kInfo, "feeder disconnected",
                   {{"client", peer.name}, {"sequence", fmt::to_string(sequence_)}});
    }
  };
  contain(nullptr, 0, false, std::cref(leave));
  if (!fed) return;
  feeder_ = nullptr;
  const auto abort = [&] { abort_resync(); };
  contain(nullptr, 0, false, std::cref(abort));
}

void RequestService::broken(Peer& peer, FrameFault fault, const Error& error) {
  const auto say = [&] {
    reject(peer, 0,
           fault == FrameFault::kOversized ? RequestRejection::kOversized
                                           : RequestRejection::kMalformed,
           error);
  };
  contain(&peer, 0, false, std::cref(say));
  peer.close();
}

bool RequestService::handle(Peer& peer, const FrameBuffer::Received& received) {
  HEADROOM_ASSERT(received.frame != nullptr);
  const wire::Frame& frame = *received.frame;
  const Request* request = request_of(frame.body_type());
  const bool feeds = request != nullptr && request->role == Role::kFeed && feeder_ == &peer;
  // By reference: what is called may not take memory before the barrier.
  bool answered = true;
  const auto serve = [&] { answered = handle_frame(peer, frame); };
  contain(&peer, frame.id(), feeds, std::cref(serve));
  return answered;
}

bool RequestService::handle_frame(Peer& peer, const wire::Frame& frame) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t id = frame.id();
  const wire::Body body = frame.body_type();
  if (!peer.greeted && body != wire::Body::Hello) {
    reject(
        peer, 0, RequestRejection::kUnexpected,
        {ErrorCode::kInvalid, fmt::format("body: {} before the Hello", wire::EnumNameBody(body))});
    peer.close();
    return true;
  }
  if (id == 0) {
    reject(peer, id, RequestRejection::kUnexpected,
           {ErrorCode::kInvalid, "id: 0 is for frames that nobody asked for"});
    return true;
  }
  const Request* request = request_of(body);
  if (request == nullptr) {
    reject(peer, id, RequestRejection::kUnexpected,
           {ErrorCode::kUnsupported, fmt::format("body: {} is not a request of protocol version {}",
                                                 static_cast<int>(body), kProtocolVersion)});
    return true;
  }
  advance();
  expire_reservations();
  begin_turn();
  builder_.Clear();
  const Result<void> done = serve(*request, peer, id, frame);
  if (begun_ != nullptr) {
    under_way_.push_back({&peer, id, request, std::move(begun_), std::move(builder_), start});
    builder_ = flatbuffers::FlatBufferBuilder();
    return false;
  }
  answer(peer, id, *request, done);
  metrics_.served(request->kind, std::chrono::steady_clock::now() - start);
  return true;
}

void RequestService::answer(Peer& peer, std::uint64_t id, const Request& request,
                            const Result<void>& done) {
  if (!done) {
    send_error(peer, id, done.error());
  } else if (request.replies && builder_.GetSize() > kFrameBytesMax) {
    send_error(peer, id, too_large());
  } else if (request.replies) {
    HEADROOM_ASSERT(builder_.GetSize() != 0);
    peer.send(bytes_of(builder_));
  }
}

void RequestService::send_error(Peer& peer, std::uint64_t id, const Error& error,
                                std::int32_t change) {
  metrics_.request_failed(error.code);
  builder_.Clear();
  finish(id, wire::CreateError(builder_, wire_code(error.code),
                               write_text(builder_, cut(error.message)), change));
  peer.send(bytes_of(builder_));
}

void RequestService::reject(Peer& peer, std::uint64_t id, RequestRejection why,
                            const Error& error) {
  metrics_.rejected(why);
  options_.log(LogLevel::kWarning, "frame rejected",
               {{"client", peer.name}, {"reason", std::string(cut(error.message))}});
  send_error(peer, id, error);
}

void RequestService::greet(Peer& peer, std::uint64_t id, const wire::Hello& hello) {
  const auto refuse = [&](ErrorCode code, const std::string& message) {
    options_.log(LogLevel::kWarning, "hello refused", {{"reason", message}});
    send_error(peer, id, {code, message});
    peer.close();
  };
  if (peer.greeted) {
    refuse(ErrorCode::kInvalid, "Hello: a connection says it once");
    return;
  }
  const std::string_view name = text(hello.client_name());
  if (name.size() > kClientNameBytesMax) {
    refuse(ErrorCode::kLimitExceeded,
           fmt::format("client_name: {} bytes: kClientNameBytesMax is {}", name.size(),
                       kClientNameBytesMax));
    return;
  }
  if (refusing_) {
    metrics_.refused_for_memory(false);
    refuse(ErrorCode::kLimitExceeded, memory_used_up().message);
    return;
  }
  if (hello.version_min() > kProtocolVersion || hello.version_max() < kProtocolVersion) {
    refuse(ErrorCode::kUnsupported,
           fmt::format("version: the client speaks {} to {}, this server {}", hello.version_min(),
                       hello.version_max(), kProtocolVersion));
    return;
  }
  const std::string_view scheduler_name = text(hello.scheduler_name());
  if (auto checked = check_text("scheduler_name", scheduler_name); !checked) {
    refuse(checked.error().code, checked.error().message);
    return;
  }
  const std::vector<const Profile*> profiles = profiles_for(scheduler_name);
  if (profiles.empty()) {
    refuse(ErrorCode::kNotFound, no_profile(scheduler_name, profiles_for({})));
    return;
  }
  peer.greeted = true;
  peer.scheduler_name = scheduler_name;
  peer.name = name.empty() ? "?" : std::string(name);
  peer.client_name = name;
  options_.log(LogLevel::kDebug, "client connected", {{"client", peer.name}});
  send_greeting(peer, id, profiles);
}

// --- Profiles ----------------------------------------------------------------------------------

void RequestService::send_greeting(Peer& peer, std::uint64_t id,
                                   const std::vector<const Profile*>& profiles) const {
  Builder builder;  // there may be another peer's answer in builder_
  finish_frame(builder, id,
               encode_hello(builder, {.incarnation = options_.incarnation,
                                      .profiles = profiles,
                                      .roles = peer.roles,
                                      .owner = peer.owner().text(),
                                      .reservation_seconds = static_cast<std::uint32_t>(
                                          options_.reservation_time.count())}));
  peer.send(bytes_of(builder));
}

void RequestService::greet_again() const {
  for (Peer* peer : peers_) {
    if (!peer->greeted || peer->feeds) continue;
    const std::vector<const Profile*> profiles = profiles_for(peer->scheduler_name);
    if (!profiles.empty()) send_greeting(*peer, 0, profiles);
  }
}

std::vector<const Profile*> RequestService::profiles_for(std::string_view scheduler_name) const {
  std::vector<const Profile*> profiles;
  for (std::size_t p = 0; p < current_->profile_count(); ++p) {
    profiles.push_back(&engine(p).profile());
  }
  std::optional<std::size_t> its = current_->profile_for(scheduler_name);
  if (profiles_wait_) {
    for (const Profile& profile : options_.profiles) {
      if (!its && profile.scheduler_name == scheduler_name) its = profiles.size();
      profiles.push_back(&profile);
    }
  }
  if (!its) return {};
  const auto first = profiles.begin() + static_cast<std::ptrdiff_t>(*its);
  std::rotate(profiles.begin(), first, first + 1);
  return profiles;
}

// Facts and Stats are of all profiles.
Result<void> RequestService::decides_for(const Peer& peer, const Request& request) const {
  const bool asked =
      request.role && *request.role != Role::kFeed && request.kind != RequestKind::kStats;
  if (!asked || current_->profile_for(peer.scheduler_name)) return {};
  if (!profiles_for(peer.scheduler_name).empty()) {
    return fail(ErrorCode::kInternal,
                fmt::format("not ready: the profile \"{}\" waits for a feeder's resync",
                            cut(peer.scheduler_name)));
  }
  return fail(ErrorCode::kInternal,
              "not ready: " + no_profile(peer.scheduler_name, profiles_for({})));
}

std::size_t RequestService::profile_of(const Peer& peer) const {
  const std::optional<std::size_t> profile = current_->profile_for(peer.scheduler_name);
  HEADROOM_ASSERT(profile);
  return *profile;
}

// --- Looking -----------------------------------------------------------------------------------

// Looks at the whole state: its digest, or whether it is what it is made of. The reply is of the
// moment of the last turn (FedAudit).
class RequestService::Auditing final : public Work {
 public:
  Auditing(RequestService& service, const Peer& peer, std::uint64_t id, const wire::Stats& request)
      : service_(service), peer_(peer), id_(id), request_(request) {}

  Result<bool> turn(const Pause& pause) override {
    if (!audit_ || cluster_ != service_.clusters_) {
      // Of the cluster that a resync has ended since the last turn nothing is asked.
      cluster_ = service_.clusters_;
      audit_ =
          service_.current_->audit({.digest = request_.digest(), .validate = request_.validate()});
    }
    const Result<bool> done = audit_->turn(pause);
    if (done && !*done) return false;
    Result<void> valid;
    if (!done) {
      valid = tl::unexpected(done.error());
    } else if (request_.validate()) {
      valid = service_.current_->validate_rest();
      if (valid) valid = service_.validate_reservations();
    }
    service_.finish_stats(peer_, id_, valid, request_.digest() ? &*audit_ : nullptr);
    return true;
  }

 private:
  RequestService& service_;
  const Peer& peer_;
  const std::uint64_t id_;
  const wire::Stats& request_;
  std::uint64_t cluster_ = 0;  // by RequestService::clusters_
  std::optional<FedAudit> audit_;
};

Result<void> RequestService::stats(Peer& peer, std::uint64_t id, const wire::Stats& request) {
  if (request.validate() || request.digest()) {
    return begin(std::make_unique<Auditing>(*this, peer, id, request));
  }
  finish_stats(peer, id, {}, nullptr);
  return {};
}

// Who waits for a profile may ask, too: of the first.
void RequestService::finish_stats(const Peer& peer, std::uint64_t id, const Result<void>& valid,
                                  const FedAudit* digests) {
  const ServiceState now = state();
  flatbuffers::Offset<flatbuffers::String> invalid;
  if (!valid) invalid = write_text(builder_, cut(valid.error().message));
  wire::StatsReplyBuilder reply(builder_);
  reply.add_incarnation(options_.incarnation);
  reply.add_epoch(now.epoch);
  reply.add_fed_sequence(sequence_);
  reply.add_ready(ready_);
  reply.add_resyncing(next_ != nullptr);
  reply.add_nodes(now.engine.nodes);
  reply.add_pods(now.engine.pods);
  reply.add_pending_pods(now.pending_pods);
  reply.add_reserved_pods(now.reserved_pods);
  reply.add_shapes(now.engine.shapes);
  reply.add_connections(now.connections);
  reply.add_decisions(now.engine.decisions);
  reply.add_cache_hits(now.engine.cache_hits);
  reply.add_cold_passes(now.engine.cold_passes);
  reply.add_rows_replayed(now.engine.rows_replayed);
  if (digests != nullptr) {
    reply.add_digest(
        digests->engine_digest(current_->profile_for(peer.scheduler_name).value_or(0)));
  }
  if (!invalid.IsNull()) reply.add_invalid(invalid);
  reply.add_capacity_quotas(now.capacity.quotas);
  reply.add_capacity_quotas_invalid(now.capacity.invalid_quotas);
  reply.add_capacity_reservations(now.capacity.reservations);
  if (digests != nullptr) reply.add_capacity_digest(digests->capacity_quotas_digest());
  reply.add_memory_bytes(now.memory_bytes);
  reply.add_memory_bytes_max(now.memory_bytes_max);
  reply.add_time_us(engine().now_us());
  finish(id, reply.Finish());
}

Result<void> RequestService::validate() const {
  if (auto valid = current_->validate(); !valid) return valid;
  return validate_reservations();
}

Result<void> RequestService::validate_reservations() const {
  if (!reservations_.valid()) return fail(ErrorCode::kInternal, "reservations: the list is wrong");
  for (const auto& [key, held] : reservations_.by_key()) {
    for (std::size_t p = 0; p < current_->profile_count(); ++p) {
      const NodeIndex node = engine(p).node_of_pod(held.pod.namespace_name, held.pod.name);
      if (node == kNoNode || engine(p).node_name(node) != held.node_name) {
        return fail(ErrorCode::kInternal,
                    fmt::format("reservations: {} does not count on {}", key, held.node_name));
      }
    }
  }
  if (engine().assumed_pods() != reservations_.size()) {
    return fail(ErrorCode::kInternal, fmt::format("reservations: {}, and {} pods are assumed",
                                                  reservations_.size(), engine().assumed_pods()));
  }
  return {};
}

ServiceState RequestService::state() const {
  ServiceState state;
  state.engine = current_->stats();
  state.engine.decisions += retired_.decisions;
  state.engine.cache_hits += retired_.cache_hits;
  state.engine.cold_passes += retired_.cold_passes;
  state.engine.rows_replayed += retired_.rows_replayed;
  state.capacity = capacity_quotas().stats();
  state.epoch = epoch();
  state.pending_pods = current_->pending().size();
  state.reserved_pods = reservations_.size();
  const SteadyTime now = steady_now();
  state.oldest_reservation = now - reservations_.oldest(now);
  if (facts_at_ != SteadyTime{}) state.facts_age = now - facts_at_;
  state.connections = static_cast<std::uint32_t>(peers_.size());
  state.memory_bytes = memory_bytes_;
  state.memory_bytes_max = options_.memory_bytes_max;
  state.ready = ready_;
  state.feeder = feeder_ != nullptr;
  return state;
}

void RequestService::advance() {
  if (!options_.wall_clock) return;
  const std::int64_t now_us = options_.wall_clock();
  watch_clock(now_us);
  const auto advance = [now_us](FedCluster& cluster) {
    // A clock that was set back a little stands still until it has caught up.
    if (cluster.engine().now_us() - now_us > kClockJumpUs) {
      cluster.correct_clock(now_us);
    } else if (now_us > cluster.engine().now_us()) {
      (void)cluster.advance(now_us);
    }
  };
  if (!feeder_time_) advance(*current_);
  if (next_ != nullptr && !next_feeder_time_) advance(*next_);
}

// The wall clock against one that never jumps.
void RequestService::watch_clock(std::int64_t now_us) {
  const SteadyTime steady = steady_now();
  const std::int64_t passed_us =
      std::chrono::duration_cast<std::chrono::microseconds>(steady - watched_).count();
  const std::int64_t jump_us = now_us - watched_us_ - passed_us;
  const bool first = watched_us_ == 0;
  watched_ = steady;
  watched_us_ = now_us;
  if (first || (jump_us <= kClockJumpUs && jump_us >= -kClockJumpUs)) return;
  metrics_.clock_jumped(jump_us > 0);
  options_.log(LogLevel::kWarning, "the clock jumped",
               {{"seconds", fmt::format("{:.0f}", static_cast<double>(jump_us) / 1e6)}});
}

void RequestService::tick() {
  const auto look = [&] {
    watch_memory();
    advance();
    expire_reservations();
    tell_expired();
    if (validation_due_) validate_after_fault();
    metrics_.set(state());
    metrics_.quotas().set(current_->quota_engine().elastic_quota_status({}, kQuotasInMetricsMax),
                          capacity_quotas().amounts(kQuotasInMetricsMax));
  };
  contain(nullptr, 0, false, std::cref(look));
}

}  // namespace headroom
