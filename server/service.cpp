#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace headroom {

namespace {

// Scratch memory that is kept from one request to the next.
constexpr std::size_t kKeptBytesMax = 4 << 20;
// A clock that moved so much more or less than time has passed was set. Ahead: followed at once.
// Back: corrected, beyond this; what is less is waited for.
constexpr std::int64_t kClockJumpUs = 60'000'000;

Error too_large(std::size_t bytes) {
  return {ErrorCode::kLimitExceeded,
          fmt::format("reply of {} bytes: kFrameBytesMax is {}; ask for fewer pods or nodes", bytes,
                      kFrameBytesMax)};
}

}  // namespace

Result<std::unique_ptr<Service>> Service::create(ServiceOptions options, Metrics& metrics) {
  Result<Engine> engine = Engine::create(options.profile, options.engine);
  if (!engine) return tl::unexpected(engine.error());
  std::unique_ptr<Service> service(new Service(std::move(options), metrics, std::move(*engine)));
  service->tick();
  return service;
}

Service::Service(ServiceOptions options, Metrics& metrics, Engine engine)
    : options_(std::move(options)),
      metrics_(metrics),
      current_(std::make_unique<FedCluster>(std::move(engine), options_.quotas)),
      reservations_(options_.reservation_time) {}

Service::~Service() {
  if (retiring_.joinable()) retiring_.join();
}

// --- Connections -------------------------------------------------------------------------------

void Service::connected(Peer&) { ++connections_; }

void Service::disconnected(Peer& peer) {
  --connections_;
  if (feeder_ == &peer) {
    options_.log(LogLevel::kInfo, "feeder disconnected",
                 {{"client", peer.name}, {"sequence", fmt::to_string(sequence_)}});
    feeder_ = nullptr;
    abort_resync();
  }
}

void Service::broken(Peer& peer, FrameFault fault, const Error& error) {
  const auto say = [&] {
    reject(peer, 0, fault == FrameFault::kOversized ? Rejection::kOversized : Rejection::kMalformed,
           error);
  };
  contain(&peer, 0, false, std::cref(say));
  peer.close();
}

void Service::handle(Peer& peer, const FrameBuffer::Received& received) {
  const wire::Frame& frame = *received.frame;
  const Request* request = request_of(frame.body_type());
  const bool feeds = request != nullptr && request->role == Role::kFeed && feeder_ == &peer;
  // By reference: what is called may not take memory before the barrier.
  const auto serve = [&] { handle_frame(peer, frame); };
  contain(&peer, frame.id(), feeds, std::cref(serve));
}

void Service::handle_frame(Peer& peer, const wire::Frame& frame) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t id = frame.id();
  const wire::Body body = frame.body_type();
  if (!peer.greeted && body != wire::Body::Hello) {
    reject(
        peer, 0, Rejection::kUnexpected,
        {ErrorCode::kInvalid, fmt::format("body: {} before the Hello", wire::EnumNameBody(body))});
    peer.close();
    return;
  }
  if (id == 0) {
    reject(peer, id, Rejection::kUnexpected,
           {ErrorCode::kInvalid, "id: 0 is for frames that nobody asked for"});
    return;
  }
  const Request* request = request_of(body);
  if (request == nullptr) {
    reject(peer, id, Rejection::kUnexpected,
           {ErrorCode::kUnsupported, fmt::format("body: {} is not a request of protocol version {}",
                                                 static_cast<int>(body), kProtocolVersion)});
    return;
  }
  advance();
  expire_reservations();
  builder_.Clear();
  const Result<void> done = serve(*request, peer, id, frame);
  if (!done) {
    send_error(peer, id, done.error());
  } else if (request->replies && builder_.GetSize() > kFrameBytesMax) {
    send_error(peer, id, too_large(builder_.GetSize()));
  } else if (request->replies) {
    peer.send(bytes_of(builder_));
  }
  metrics_.served(request->kind, std::chrono::steady_clock::now() - start);
}

void Service::send_error(Peer& peer, std::uint64_t id, const Error& error, std::int32_t change) {
  metrics_.request_failed(error.code);
  builder_.Clear();
  const std::string_view message = cut(error.message);
  finish(id, wire::CreateError(builder_, wire_code(error.code),
                               builder_.CreateString(message.data(), message.size()), change));
  peer.send(bytes_of(builder_));
}

void Service::reject(Peer& peer, std::uint64_t id, Rejection why, const Error& error) {
  metrics_.rejected(why);
  options_.log(LogLevel::kWarning, "frame rejected",
               {{"client", peer.name}, {"reason", std::string(cut(error.message))}});
  send_error(peer, id, error);
}

void Service::greet(Peer& peer, std::uint64_t id, const wire::Hello& hello) {
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
  peer.greeted = true;
  peer.name = name.empty() ? "?" : std::string(name);
  peer.client_name = name;
  options_.log(LogLevel::kDebug, "client connected", {{"client", peer.name}});
  finish(id, encode_hello(builder_, {.incarnation = options_.incarnation,
                                     .profile = current_->engine().profile(),
                                     .roles = peer.roles,
                                     .owner = peer.owner().text(),
                                     .reservation_seconds = static_cast<std::uint32_t>(
                                         options_.reservation_time.count())}));
  peer.send(bytes_of(builder_));
}

// --- Decisions ---------------------------------------------------------------------------------

Result<const Pod*> Service::resolve(const wire::PodRef& ref, Pod& scratch,
                                    std::size_t& bytes) const {
  if (ref.pod() != nullptr) {
    const Result<std::size_t> decoded = decode(*ref.pod(), scratch);
    if (!decoded) return tl::unexpected(decoded.error());
    bytes += *decoded;
    return &scratch;
  }
  const std::string_view uid = text(ref.uid());
  if (uid.empty()) return fail(ErrorCode::kInvalid, "pod: neither uid nor pod is given");
  const Pod* pod = current_->pending().of_uid(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod: uid {} was not fed as pending", uid));
  }
  return pod;
}

Result<void> Service::resolve_all(
    const flatbuffers::Vector<flatbuffers::Offset<wire::PodRef>>& refs) {
  if (refs.size() == 0 || refs.size() > kPodsPerRequestMax) {
    return fail(refs.size() == 0 ? ErrorCode::kInvalid : ErrorCode::kLimitExceeded,
                fmt::format("pods: {}: at least 1, and kPodsPerRequestMax is {}", refs.size(),
                            kPodsPerRequestMax));
  }
  return resolve_each("pods", &refs);
}

Result<void> Service::resolve_each(
    const char* field, const flatbuffers::Vector<flatbuffers::Offset<wire::PodRef>>* refs) {
  const std::uint32_t count = refs == nullptr ? 0 : refs->size();
  if (pods_bytes_ > kKeptBytesMax) pods_ = {};
  pods_.resize(count);
  pods_bytes_ = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    const Result<const Pod*> pod = resolve(*refs->Get(p), pods_[p], pods_bytes_);
    if (!pod) {
      return fail(pod.error().code, fmt::format("{}[{}]: {}", field, p, pod.error().message));
    }
    if (pods_bytes_ > kRequestBytesMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: more than {} bytes in the first {}, which is kRequestBytesMax",
                              field, kRequestBytesMax, p + 1));
    }
    if (*pod != &pods_[p]) pods_[p] = **pod;
  }
  return {};
}

Result<void> Service::evaluate(Peer& peer, std::uint64_t id, const wire::Evaluate& request) {
  const std::uint64_t candidates = std::uint64_t{request.pods()->size()} * request.top_k();
  if (candidates > kCandidatesPerRequestMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("pods * top_k: {}: kCandidatesPerRequestMax is {}", candidates,
                            kCandidatesPerRequestMax));
  }
  if (request.top_k() == 0 || request.top_k() > kTopKMax) {
    return fail(ErrorCode::kInvalid,
                fmt::format("top_k: {} is not in [1, kTopKMax = {}]", request.top_k(), kTopKMax));
  }
  // One pod, the usual case, without a copy of it.
  const bool single = request.pods()->size() == 1;
  Result<const Pod*> pod = nullptr;
  if (single) {
    pod = resolve(*request.pods()->Get(0), pod_);
    if (!pod) return fail(pod.error().code, "pods[0]: " + pod.error().message);
  } else if (auto resolved = resolve_all(*request.pods()); !resolved) {
    return resolved;
  }
  flatbuffers::Offset<wire::Reserved> first;
  std::optional<PodReservation> former;
  Result<void> reservation;
  if (request.reserve() != nullptr) {
    reservation = reserve(peer, *request.reserve(), &former);
    first = reserved(reservation);
  }
  Engine& engine = current_->engine();
  const EvaluateOptions options{
      .top_k = request.top_k(), .plugin_scores = request.scores(), .reasons = request.reasons()};
  const auto failed = [&](const Error& error) {
    if (request.reserve() != nullptr && reservation) undo_reserve(former);
    return tl::unexpected(error);
  };
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Decision>>> decisions;
  if (single) {
    if (auto decided = engine.evaluate(**pod, options, decision_); !decided) {
      return failed(decided.error());
    }
    metrics_.decided(decision_.code);
    const auto one = encoder_.encode(builder_, decision_, engine, request.raw_scores());
    decisions = builder_.CreateVector(&one, 1);
  } else {
    const auto decided = engine.evaluate(pods_, options);
    if (!decided) return failed(decided.error());
    std::vector<flatbuffers::Offset<wire::Decision>> many;
    for (const Decision& decision : *decided) {
      metrics_.decided(decision.code);
      many.push_back(encoder_.encode(builder_, decision, engine, request.raw_scores()));
    }
    decisions = builder_.CreateVector(many);
  }
  finish(id, wire::CreateEvaluated(builder_, epoch(), decisions, first));
  if (builder_.GetSize() > kFrameBytesMax) return failed(too_large(builder_.GetSize()));
  return {};
}

flatbuffers::Offset<wire::Reserved> Service::reserved(const Result<void>& result) {
  if (result) return wire::CreateReserved(builder_, epoch());
  metrics_.request_failed(result.error().code);
  const std::string_view message = cut(result.error().message);
  return wire::CreateReserved(builder_, epoch(), wire_code(result.error().code),
                              builder_.CreateString(message.data(), message.size()));
}

Result<void> Service::place(Peer& peer, std::uint64_t id, const wire::Place& request) {
  if (auto resolved = resolve_all(*request.pods()); !resolved) return resolved;
  Engine& engine = current_->engine();
  if (reservations_.size() + pods_.size() > kReservedPodsMax) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("pods: {} more reserved pods:"
                                                       " kReservedPodsMax is {}",
                                                       pods_.size(), kReservedPodsMax));
  }
  for (const Pod& pod : pods_) {
    const std::string key = pod_key(pod.namespace_name, pod.name);
    if (auto reservable = check_reservable(peer, pod, key); !reservable) {
      return tl::unexpected(reservable.error());
    }
  }
  auto placed =
      engine.place(pods_, {.top_k = 1, .plugin_scores = false, .reasons = request.reasons()});
  if (!placed) return tl::unexpected(placed.error());
  const SteadyTime now = steady_now();
  for (std::size_t p = 0; p < pods_.size(); ++p) {
    const Placement& placement = (*placed)[p];
    metrics_.decided(placement.decision.code);
    if (placement.node == kNoNode) continue;
    const std::string key = pod_key(pods_[p].namespace_name, pods_[p].name);
    reservations_.put(key,
                      {.pod = pods_[p],
                       .node_name = std::string(engine.node_name(placement.node)),
                       .owner = peer.owner(),
                       .reserved_us = wall_now_us()},
                      now);
  }
  finish(id, encode_placed(*placed));
  if (builder_.GetSize() > kFrameBytesMax) {
    // The pods are placed: they have to be told, if need be without the reasons of the others.
    for (Placement& placement : *placed) {
      placement.decision.reasons.clear();
      placement.decision.pre_filter.clear();
    }
    builder_.Clear();
    finish(id, encode_placed(*placed));
  }
  return {};
}

flatbuffers::Offset<wire::Placed> Service::encode_placed(const std::vector<Placement>& placed) {
  const Engine& engine = current_->engine();
  std::vector<flatbuffers::Offset<flatbuffers::String>> names;
  std::vector<std::uint32_t> indices;
  std::vector<flatbuffers::Offset<wire::Decision>> failures;
  for (const Placement& placement : placed) {
    const std::string_view name = engine.node_name(placement.node);
    names.push_back(builder_.CreateString(name.data(), name.size()));
    indices.push_back(static_cast<std::uint32_t>(placement.node));
    if (placement.node == kNoNode) {
      failures.push_back(encoder_.encode(builder_, placement.decision, engine));
    }
  }
  const auto all_names = builder_.CreateVector(names);
  const auto all_indices = builder_.CreateVector(indices);
  return wire::CreatePlaced(builder_, epoch(), all_names, all_indices,
                            builder_.CreateVector(failures));
}

Result<void> Service::explain(std::uint64_t id, const wire::Explain& request) {
  const Result<const Pod*> pod = resolve(*request.pod(), pod_);
  if (!pod) return tl::unexpected(pod.error());
  const auto explained = current_->engine().explain(**pod, text(request.node_name()));
  if (!explained) return tl::unexpected(explained.error());
  finish(id, encode(builder_, *explained, epoch()));
  return {};
}

// --- Looking -----------------------------------------------------------------------------------

Result<void> Service::stats(std::uint64_t id, const wire::Stats& request) {
  const ServiceState now = state();
  flatbuffers::Offset<flatbuffers::String> invalid;
  if (request.validate()) {
    if (const Result<void> valid = validate(); !valid) {
      invalid = builder_.CreateString(std::string(cut(valid.error().message)));
    }
  }
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
  if (request.digest()) reply.add_digest(engine().digest());
  if (!invalid.IsNull()) reply.add_invalid(invalid);
  reply.add_capacity_quotas(now.capacity.quotas);
  reply.add_capacity_quotas_invalid(now.capacity.invalid_quotas);
  reply.add_capacity_reservations(now.capacity.reservations);
  if (request.digest()) reply.add_capacity_digest(quotas().digest());
  reply.add_memory_bytes(now.memory_bytes);
  reply.add_memory_bytes_max(now.memory_bytes_max);
  reply.add_time_us(engine().now_us());
  finish(id, reply.Finish());
  return {};
}

Result<void> Service::validate() const {
  if (auto valid = current_->validate(); !valid) return valid;
  if (!reservations_.valid()) return fail(ErrorCode::kInternal, "reservations: the list is wrong");
  for (const auto& [key, held] : reservations_.by_key()) {
    const NodeIndex node = engine().node_of_pod(held.pod.namespace_name, held.pod.name);
    if (node == kNoNode || engine().node_name(node) != held.node_name) {
      return fail(ErrorCode::kInternal,
                  fmt::format("reservations: {} does not count on {}", key, held.node_name));
    }
  }
  if (engine().assumed_pods() != reservations_.size()) {
    return fail(ErrorCode::kInternal, fmt::format("reservations: {}, and {} pods are assumed",
                                                  reservations_.size(), engine().assumed_pods()));
  }
  return {};
}

ServiceState Service::state() const {
  ServiceState state;
  state.engine = engine().stats();
  state.engine.decisions += retired_.decisions;
  state.engine.cache_hits += retired_.cache_hits;
  state.engine.cold_passes += retired_.cold_passes;
  state.engine.rows_replayed += retired_.rows_replayed;
  state.capacity = quotas().stats();
  state.epoch = epoch();
  state.pending_pods = current_->pending().size();
  state.reserved_pods = reservations_.size();
  const SteadyTime now = steady_now();
  state.oldest_reservation = now - reservations_.oldest(now);
  state.connections = connections_;
  state.memory_bytes = memory_bytes_;
  state.memory_bytes_max = options_.memory_bytes_max;
  state.ready = ready_;
  state.feeder = feeder_ != nullptr;
  return state;
}

void Service::advance() {
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
void Service::watch_clock(std::int64_t now_us) {
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

void Service::tick() {
  const auto look = [&] {
    watch_memory();
    advance();
    expire_reservations();
    tell_expired();
    metrics_.set(state());
  };
  contain(nullptr, 0, false, std::cref(look));
}

}  // namespace headroom
