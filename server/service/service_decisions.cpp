// RequestService: which nodes are best for a pod, for many, and why. See work.h for what takes
// turns.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/service/service.h"

namespace headroom {

namespace {

// Pods of a batch that are decided together: with threads for both, the new shapes of two take no
// longer than one's. With one thread they would only make a turn twice as long.
std::uint32_t pods_together(const EngineOptions& options) { return options.threads == 1 ? 1 : 2; }

EvaluateOptions options_of(const wire::Evaluate& request) {
  return {
      .top_k = request.top_k(), .plugin_scores = request.scores(), .reasons = request.reasons()};
}

}  // namespace

Result<const Pod*> RequestService::resolve(const wire::PodRef& ref, Pod& scratch,
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

Result<const Pod*> RequestService::resolve_at(const char* field, const PodRefs& refs,
                                              std::uint32_t at, Pod& scratch,
                                              std::size_t& bytes) const {
  Result<const Pod*> pod = resolve(*refs.Get(at), scratch, bytes);
  if (!pod) {
    return fail(pod.error().code, fmt::format("{}[{}]: {}", field, at, pod.error().message));
  }
  if (bytes > kRequestBytesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: more than {} bytes in the first {}, which is kRequestBytesMax",
                            field, kRequestBytesMax, at + 1));
  }
  return pod;
}

Result<void> RequestService::check_count(const PodRefs& refs) {
  if (refs.size() != 0 && refs.size() <= kPodsPerRequestMax) return {};
  return fail(refs.size() == 0 ? ErrorCode::kInvalid : ErrorCode::kLimitExceeded,
              fmt::format("pods: {}: at least 1, and kPodsPerRequestMax is {}", refs.size(),
                          kPodsPerRequestMax));
}

Result<void> RequestService::resolve_each(const char* field, const PodRefs* refs) {
  const std::uint32_t count = size_of(refs);
  if (pods_bytes_ > kKeptBytesMax) pods_ = {};
  pods_.resize(count);
  pods_bytes_ = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    const Result<const Pod*> pod = resolve_at(field, *refs, p, pods_[p], pods_bytes_);
    if (!pod) return tl::unexpected(pod.error());
    if (*pod != &pods_[p]) pods_[p] = **pod;
  }
  return {};
}

Error RequestService::too_large() const {
  return {ErrorCode::kLimitExceeded,
          fmt::format("reply of {} bytes: kFrameBytesMax is {}; ask for fewer pods or nodes",
                      builder_.GetSize(), kFrameBytesMax)};
}

flatbuffers::Offset<wire::Reserved> RequestService::reserved(const Result<void>& result) {
  if (result) return wire::CreateReserved(builder_, epoch());
  metrics_.request_failed(result.error().code);
  return wire::CreateReserved(builder_, epoch(), wire_code(result.error().code),
                              write_text(builder_, cut(result.error().message)));
}

// --- One pod, the usual case: without a copy of it, and at once where its shape is known ---

Result<void> RequestService::evaluate_single(Peer& peer, std::uint64_t id,
                                             const wire::Evaluate& request) {
  const wire::PodRef& ref = *request.pods()->Get(0);
  const Result<const Pod*> pod = resolve(ref, pod_);
  if (!pod) return fail(pod.error().code, "pods[0]: " + pod.error().message);
  Engine& engine = engine_of(peer);
  const auto later = [&] {
    ask_later(peer, ref, [this, &peer, id, &request](const Pod& asked) {
      return evaluate_prepared(peer, id, request, asked);
    });
  };
  if (request.reserve() != nullptr) {
    // Only once nothing of the pod's own is left to wait for.
    const Result<bool> prepared = engine.prepare(**pod, pause_);
    if (!prepared) return tl::unexpected(prepared.error());
    if (*prepared) return evaluate_prepared(peer, id, request, **pod);
    later();
    return {};
  }
  const Result<bool> decided = engine.evaluate(**pod, options_of(request), pause_, decision_);
  if (!decided) return tl::unexpected(decided.error());
  if (!*decided) {
    later();
    return {};
  }
  return finish_single(peer, id, request, {});
}

Result<void> RequestService::evaluate_prepared(const Peer& peer, std::uint64_t id,
                                               const wire::Evaluate& request, const Pod& pod) {
  flatbuffers::Offset<wire::Reserved> first;
  Provisional provisional(*this);
  if (request.reserve() != nullptr) {
    first = reserve_first(peer, *request.reserve(), provisional.made);
  }
  Result<void> done = engine_of(peer).evaluate(pod, options_of(request), decision_);
  if (done) done = finish_single(peer, id, request, first);
  if (done) provisional.made.reset();
  return done;
}

Result<void> RequestService::finish_single(const Peer& peer, std::uint64_t id,
                                           const wire::Evaluate& request,
                                           flatbuffers::Offset<wire::Reserved> first) {
  metrics_.decided(decision_.code);
  const auto one = encoder_.encode(builder_, decision_, engine_of(peer), request.raw_scores());
  finish(id, wire::CreateEvaluated(builder_, epoch(), builder_.CreateVector(&one, 1), first));
  if (builder_.GetSize() > kFrameBytesMax) return tl::unexpected(too_large());
  return {};
}

// The answer to Evaluate.reserve; `made` where it is reserved.
flatbuffers::Offset<wire::Reserved> RequestService::reserve_first(const Peer& peer,
                                                                  const wire::Reserve& request,
                                                                  std::optional<Made>& made) {
  Result<Made> reservation = reserve(peer, request);
  if (!reservation) return reserved(tl::unexpected(reservation.error()));
  made = std::move(*reservation);
  return reserved({});
}

// --- Many pods ---

// Some at a time: read, prepared, decided and written, so that of a large batch little is held.
class RequestService::Evaluating final : public Work {
 public:
  Evaluating(RequestService& service, Peer& peer, std::uint64_t id, const wire::Evaluate& request)
      : service_(service),
        peer_(peer),
        id_(id),
        request_(request),
        together_(pods_together(service.options_.engine)) {}

  // Unless it was answered: on an error, or when the peer went.
  ~Evaluating() override {
    if (made_ && !answered_) service_.undo_all(std::span(&*made_, 1));
  }

  Result<bool> turn(const Pause& pause) override {
    const PodRefs& refs = *request_.pods();
    for (bool first = true; done_ < refs.size(); first = false) {
      if (!first && pause()) return false;
      const std::uint32_t count = std::min(together_, refs.size() - done_);
      pods_.resize(count);
      for (; read_ < count; ++read_) {
        Pod& pod = pods_[read_];
        const Result<const Pod*> found =
            service_.resolve_at("pods", refs, done_ + read_, pod, bytes_);
        if (!found) return tl::unexpected(found.error());
        if (*found != &pod) pod = **found;
      }
      Engine& engine = service_.engine_of(peer_);
      for (; prepared_ < count; ++prepared_) {
        const Result<bool> prepared = engine.prepare(pods_[prepared_], pause);
        if (!prepared || !*prepared) return prepared;
      }
      if (auto decided = decide(engine); !decided) return tl::unexpected(decided.error());
      done_ += count;
      read_ = prepared_ = 0;
    }
    Builder& builder = service_.builder_;
    service_.finish(id_, wire::CreateEvaluated(builder, service_.epoch(),
                                               builder.CreateVector(decisions_), first_));
    if (builder.GetSize() > kFrameBytesMax) return tl::unexpected(service_.too_large());
    answered_ = true;
    return true;
  }

 private:
  Result<void> decide(Engine& engine) {
    if (done_ == 0 && request_.reserve() != nullptr) {
      first_ = service_.reserve_first(peer_, *request_.reserve(), made_);
    }
    const auto decided = engine.evaluate(pods_, options_of(request_));
    if (!decided) return tl::unexpected(decided.error());
    for (const Decision& decision : *decided) {
      service_.metrics_.decided(decision.code);
      decisions_.push_back(
          service_.encoder_.encode(service_.builder_, decision, engine, request_.raw_scores()));
    }
    return {};
  }

  RequestService& service_;
  Peer& peer_;
  const std::uint64_t id_;
  const wire::Evaluate& request_;
  const std::uint32_t together_;
  std::vector<Pod> pods_;                             // from done_ on
  std::uint32_t done_ = 0, read_ = 0, prepared_ = 0;  // of all; of pods_
  std::size_t bytes_ = 0;
  std::optional<Made> made_;
  bool answered_ = false;
  flatbuffers::Offset<wire::Reserved> first_;
  std::vector<flatbuffers::Offset<wire::Decision>> decisions_;
};

Result<void> RequestService::evaluate(Peer& peer, std::uint64_t id, const wire::Evaluate& request) {
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
  if (request.pods()->size() == 1) return evaluate_single(peer, id, request);
  if (auto checked = check_count(*request.pods()); !checked) return checked;
  return begin(std::make_unique<Evaluating>(*this, peer, id, request));
}

// --- Pods one after the other ---

// First every pod is read, checked and prepared, so that what can be refused is refused before the
// first is placed; then each is placed and reserved. What fails even then undoes the others.
class RequestService::Placing final : public Work {
 public:
  Placing(RequestService& service, Peer& peer, std::uint64_t id, const wire::Place& request)
      : service_(service), peer_(peer), id_(id), request_(request) {
    std::swap(pods_, service.pods_);  // their memory is used again
  }
  // Unless it was answered: on an error, or when the peer went.
  ~Placing() override {
    if (!answered_) service_.undo_all(made_);
    if (bytes_ <= kKeptBytesMax) std::swap(pods_, service_.pods_);
  }

  Result<bool> turn(const Pause& pause) override {
    const bool later_turn = std::exchange(begun_, true);  // what was prepared may need it again
    const std::uint32_t count = request_.pods()->size();
    for (bool first = true; checked_ < count; ++checked_, first = false) {
      if (!first && pause()) return false;
      const Result<const Pod*> pod = read(checked_, bytes_);
      if (!pod) return tl::unexpected(pod.error());
      const std::string key = pod_key((*pod)->namespace_name, (*pod)->name);
      if (auto reservable = service_.check_reservable(peer_, **pod, key); !reservable) {
        return tl::unexpected(reservable.error());
      }
      const Result<bool> prepared = service_.engine_of(peer_).prepare(**pod, pause);
      if (!prepared || !*prepared) return prepared;
      bytes_ = read_bytes_;
    }
    if (placed_ == 0 && service_.reservations_.size() + count > kReservedPodsMax) {
      return fail(ErrorCode::kLimitExceeded, fmt::format("pods: {} more reserved pods:"
                                                         " kReservedPodsMax is {}",
                                                         count, kReservedPodsMax));
    }
    for (bool first = true; placed_ < count; ++placed_, first = false) {
      if (!first && pause()) return false;
      const Result<const Pod*> pod = read(placed_, 0);
      if (!pod) return tl::unexpected(pod.error());
      if (later_turn) {
        const Result<bool> prepared = service_.engine_of(peer_).prepare(**pod, pause);
        if (!prepared || !*prepared) return prepared;
      }
      if (auto placed = place(**pod); !placed) return tl::unexpected(placed.error());
    }
    finish(failures_);
    if (service_.builder_.GetSize() > kFrameBytesMax) {
      // The pods are placed: they have to be told, if need be without the reasons of the others.
      Builder& builder = service_.builder_;
      builder.Clear();
      std::vector<flatbuffers::Offset<wire::Decision>> bare;
      for (const Decision& decision : bare_failures_) {
        bare.push_back(service_.encoder_.encode(builder, decision, service_.engine_of(peer_)));
      }
      finish(bare);
    }
    answered_ = true;
    return true;
  }

 private:
  // As long as they are few they are kept; of many each is read again when its turn comes.
  // `bytes` are those of the pods before.
  Result<const Pod*> read(std::uint32_t at, std::size_t bytes) {
    if (at < kept_) return &pods_[at];
    const bool keep = at == kept_ && bytes <= kKeptBytesMax;
    if (keep && pods_.size() <= at) pods_.resize(at + std::size_t{1});
    Pod& scratch = keep ? pods_[at] : pod_;
    const Result<const Pod*> pod =
        service_.resolve_at("pods", *request_.pods(), at, scratch, bytes);
    if (pod && keep && *pod == &scratch) ++kept_;
    read_bytes_ = bytes;
    return pod;
  }

  Result<void> place(const Pod& pod) {
    RequestService& service = service_;
    service.note_kept(text_bytes(pod));
    std::string key = pod_key(pod.namespace_name, pod.name);
    const Result<const PodReservation*> known = service.check_reservable(peer_, pod, key);
    if (!known) return tl::unexpected(known.error());
    if (*known == nullptr && service.reservations_.size() >= kReservedPodsMax) {
      return fail(
          ErrorCode::kLimitExceeded,
          fmt::format("pod {}: kReservedPodsMax ({}) pods are reserved", key, kReservedPodsMax));
    }
    FedCluster& cluster = *service.current_;
    const EvaluateOptions options{
        .top_k = 1, .plugin_scores = false, .reasons = request_.reasons()};
    const std::size_t profile = service.profile_of(peer_);
    if (auto placed = cluster.place(profile, pod, options, placement_); !placed) return placed;
    const Engine& engine = cluster.engine(profile);
    Decision& decision = placement_.decision;
    service.metrics_.decided(decision.code);
    nodes_.push_back(static_cast<std::uint32_t>(placement_.node));
    node_names_.emplace_back(engine.node_name(placement_.node));
    if (placement_.node == kNoNode) {
      failures_.push_back(service.encoder_.encode(service.builder_, decision, engine));
      decision.reasons.clear();
      decision.pre_filter.clear();
      bare_failures_.push_back(decision);
      return {};
    }
    try {
      Made& made = made_.emplace_back(
          Made{.pod_key = key, .serial = ++service.reserved_serial_, .former = {}});
      if (*known != nullptr) made.former = std::make_unique<PodReservation>(**known);
      service.reservations_.put(key,
                                {.pod = pod,
                                 .node_name = node_names_.back(),
                                 .owner = peer_.owner(),
                                 .reserved_us = service.wall_now_us(),
                                 .serial = made.serial},
                                service.steady_now());
    } catch (...) {
      service.reservations_.erase(key);  // as reserve() does
      throw;
    }
    return {};
  }

  void finish(const std::vector<flatbuffers::Offset<wire::Decision>>& failures) {
    Builder& builder = service_.builder_;
    const auto all_names = write_list<flatbuffers::String>(
        builder, node_names_, [&](const std::string& name) { return write_text(builder, name); });
    const auto all_indices = builder.CreateVector(nodes_);
    service_.finish(id_, wire::CreatePlaced(builder, service_.epoch(), all_names, all_indices,
                                            builder.CreateVector(failures)));
  }

  RequestService& service_;
  Peer& peer_;
  const std::uint64_t id_;
  const wire::Place& request_;
  bool begun_ = false, answered_ = false;
  std::uint32_t checked_ = 0, placed_ = 0;
  std::vector<Pod> pods_;  // the first kept_ that are not fed ones
  std::uint32_t kept_ = 0;
  std::size_t bytes_ = 0, read_bytes_ = 0;  // of those that are checked, and the one at hand
  Pod pod_;
  Placement placement_;
  std::vector<Made> made_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::string> node_names_;
  std::vector<flatbuffers::Offset<wire::Decision>> failures_;
  std::vector<Decision> bare_failures_;  // without what could exceed a frame
};

Result<void> RequestService::place(Peer& peer, std::uint64_t id, const wire::Place& request) {
  if (auto checked = check_count(*request.pods()); !checked) return checked;
  return begin(std::make_unique<Placing>(*this, peer, id, request));
}

// --- Why ---

Result<void> RequestService::explain(Peer& peer, std::uint64_t id, const wire::Explain& request) {
  return ask(peer, *request.pod(), [this, &peer, id, &request](const Pod& pod) -> Result<void> {
    const auto explained = engine_of(peer).explain(pod, text(request.node_name()));
    if (!explained) return tl::unexpected(explained.error());
    finish(id, encode(builder_, *explained, epoch()));
    return {};
  });
}

Result<void> RequestService::bound_volumes(Peer& peer, std::uint64_t id,
                                           const wire::BoundVolumes& request) {
  return ask(peer, *request.pod(), [this, &peer, id, &request](const Pod& pod) -> Result<void> {
    const auto objects = engine_of(peer).bound_volumes(pod, text(request.node_name()));
    if (!objects) return tl::unexpected(objects.error());
    finish(id, encode_bound_volumes(builder_, *objects, epoch()));
    return {};
  });
}

}  // namespace headroom
