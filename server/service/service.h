// RequestService: every request of the protocol, without a socket in sight.
//
// Owns the cluster that decisions are made on and, during a resync, the one that is being fed and
// will replace it. One control thread calls it; frames are handled in the order they are given, so
// the answers of one run can be had again. Peers are told apart by their object; the service never
// keeps a frame. Cost: that of the engine's call, plus a copy of what is read and sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "schema/frame.h"
#include "server/answers/encode.h"
#include "server/answers/encode_nodes.h"
#include "server/frame_handler.h"
#include "server/log_function.h"
#include "server/metrics.h"
#include "server/peer.h"
#include "server/requests/decode.h"
#include "server/requests/size_check.h"
#include "server/service/fed_cluster.h"
#include "server/service/memory_budget.h"
#include "server/service/pod_reservations.h"
#include "server/service/work.h"

namespace headroom {

// Scratch memory that is kept from one request to the next.
inline constexpr std::size_t kKeptBytesMax = 4 << 20;
// After a fault the cluster is validated at once, but not more often: see service_faults.cpp.
inline constexpr std::chrono::seconds kFaultValidationPeriod(10);

struct ServiceOptions {
  // 1 to kProfilesMax, each for the scheduler of its name; see Hello.scheduler_name.
  std::vector<Profile> profiles = {Profile::standard()};
  EngineOptions engine;
  CapacityQuotasOptions quotas;
  std::uint64_t incarnation = 1;             // not 0
  std::function<std::int64_t()> wall_clock;  // microseconds since the Unix epoch
  // Never jumps; ends reservations and turns.
  std::function<SteadyTime()> steady_clock = std::chrono::steady_clock::now;
  std::chrono::seconds reservation_time = kReservationTime;
  std::size_t memory_bytes_max = 0;  // the budget; 0: none
  std::function<std::size_t()> memory_bytes = process_memory_bytes;
  LogFunction log = [](LogLevel, const char*, LogFields) {};
};

class RequestService final : public FrameHandler {
 public:
  // Errors: what Engine::create refuses.
  static Result<std::unique_ptr<RequestService>> create(ServiceOptions options, Metrics& metrics);
  ~RequestService() override;

  void connected(Peer& peer) override;
  void disconnected(Peer& peer) noexcept override;
  bool handle(Peer& peer, const FrameBuffer::Received& received) override;
  bool step() override;
  void broken(Peer& peer, FrameFault fault, const Error& error) override;

  // From now on resyncs make clusters of these profiles; the feeder is asked for one. Where no fact
  // is known yet they hold at once. On an error the old ones stay.
  Result<void> set_profiles(std::vector<Profile> profiles);
  // Moves the clock, unless the feeder gives the time, and sets the metrics' gauges. A clock that
  // was set back by more than a minute is followed, with all that the time decides.
  void tick();
  ServiceState state() const;
  // Whether clients may send it, with some role.
  static bool serves(wire::Body body) { return request_of(body) != nullptr; }
  const Engine& engine(std::size_t profile = 0) const { return current_->engine(profile); }
  const CapacityQuotas& capacity_quotas() const { return current_->capacity_quotas(); }
  // How often the cluster was validated because something failed.
  std::uint64_t fault_validations() const { return validations_; }
  // All that is kept twice: of the cluster (FedCluster), of reservations, and of both together.
  // O(nodes + pods).
  Result<void> validate() const;

 private:
  // A body that clients send: who may, how it is counted, and what serves it.
  struct Request {
    std::optional<Role> role;  // nullopt: whoever connects
    RequestKind kind;
    bool replies;  // the answer is in builder_ then; else the request sends what there is to say
    Result<void> (*serve)(RequestService&, Peer&, std::uint64_t id, const wire::Frame&);
  };
  static const Request* request_of(wire::Body body);  // nullptr: no request
  // kForbidden where the peer lacks the role.
  Result<void> serve(const Request& request, Peer& peer, std::uint64_t id,
                     const wire::Frame& frame);
  template <auto kHandler>
  struct Handler;

  // --- Turns (service_turns.cpp) ---
  struct UnderWay {
    Peer* peer;
    std::uint64_t id;
    const Request* request;
    std::unique_ptr<Work> work;
    flatbuffers::FlatBufferBuilder builder;  // what is written of the answer
    std::chrono::steady_clock::time_point since;
  };
  class Applying;
  class EndingFeed;
  class Evaluating;
  class Placing;
  class Auditing;
  class Checking;
  class Planning;
  class ListingQuotas;
  class ReservingNodes;
  class Templates;
  void begin_turn(std::chrono::microseconds time = kWorkTurnTime);
  // The first turn of a work. What is left is begun_.
  Result<void> begin(std::unique_ptr<Work> work);
  // Answers for a pod once its shape is prepared: now, or when it has taken its turns. The frame
  // that holds `ref` stays, so that the answer may refer to it.
  using PodAnswer = std::function<Result<void>(const Pod&)>;
  Result<void> ask(const Peer& peer, const wire::PodRef& ref, PodAnswer answer);
  // The same where the answer takes turns, too: true when it is complete.
  using PodTurn = std::function<Result<bool>(const Pod&, const Pause&)>;
  Result<void> ask_in_turns(const Peer& peer, const wire::PodRef& ref, PodTurn turn);
  // What is left of either, as begun_ or to begin; the pod may lie in pod_.
  void ask_later(const Peer& peer, const wire::PodRef& ref, PodAnswer answer);
  std::unique_ptr<Work> question(const Peer& peer, const wire::PodRef& ref, PodTurn turn);
  void answer(Peer& peer, std::uint64_t id, const Request& request, const Result<void>& done);
  void drop_work(const Peer& peer);

  RequestService(ServiceOptions options, Metrics& metrics, std::unique_ptr<FedCluster> cluster);

  void greet(Peer& peer, std::uint64_t id, const wire::Hello& hello);
  void send_greeting(Peer& peer, std::uint64_t id,
                     const std::vector<const Profile*>& profiles) const;
  // What the hello's reply said of profiles holds no more.
  void greet_again() const;
  // The scheduler's first, then the others, and those that wait for a resync. Empty: it has none.
  std::vector<const Profile*> profiles_for(std::string_view scheduler_name) const;
  // kInternal where the request is for a profile, and the peer's waits for a resync or went with
  // the last one. Before every turn.
  Result<void> decides_for(const Peer& peer, const Request& request) const;
  // Who decides for the peer, then.
  std::size_t profile_of(const Peer& peer) const;
  Engine& engine_of(const Peer& peer) { return current_->engine(profile_of(peer)); }
  void feed_begin(Peer& peer, std::uint64_t id, const wire::FeedBegin& begin);
  void facts(Peer& peer, std::uint64_t id, const wire::Facts& facts);
  void feed_end(Peer& peer, std::uint64_t id, const wire::FeedEnd& end);
  void end_resync();
  void stop_feeding(wire::FeedStop why, const std::string& message);
  void tell_stopped(Peer& peer, wire::FeedStop why, const std::string& message);
  bool feeds(Peer& peer, std::uint64_t sequence, std::uint64_t expected);
  void abort_resync();
  // True: other profiles decide from now on.
  bool replace_current(std::unique_ptr<FedCluster> cluster);
  void retire(std::unique_ptr<FedCluster> cluster);
  void settle(const FedCluster::Applied& applied);
  void adopt_reservations();

  Result<void> evaluate(Peer& peer, std::uint64_t id, const wire::Evaluate& request);
  Result<void> evaluate_nodes(Peer& peer, std::uint64_t id, const wire::EvaluateNodes& request);
  Result<void> resolve_what_if(const Engine& engine, const wire::EvaluateNodes& request);
  Result<void> evaluate_single(Peer& peer, std::uint64_t id, const wire::Evaluate& request);
  Result<void> evaluate_prepared(const Peer& peer, std::uint64_t id, const wire::Evaluate& request,
                                 const Pod& pod);
  Result<void> finish_single(const Peer& peer, std::uint64_t id, const wire::Evaluate& request,
                             flatbuffers::Offset<wire::Reserved> first);
  Result<void> place(Peer& peer, std::uint64_t id, const wire::Place& request);
  Result<void> explain(Peer& peer, std::uint64_t id, const wire::Explain& request);
  Result<void> bound_volumes(Peer& peer, std::uint64_t id, const wire::BoundVolumes& request);
  Result<void> post_filter(Peer& peer, std::uint64_t id, const wire::PostFilter& request);
  Result<void> elastic_quota_status(std::uint64_t id, const wire::ElasticQuotaStatus& request);
  Result<void> explain_victims(Peer& peer, std::uint64_t id, const wire::ExplainVictims& request);
  Result<void> capacity_check(std::uint64_t id, const wire::CapacityCheck& request);
  Result<void> capacity_plan(std::uint64_t id, const wire::CapacityPlan& request);
  Result<void> capacity_reserve(Peer& peer, std::uint64_t id, const wire::CapacityReserve& request);
  Result<void> capacity_release(Peer& peer, std::uint64_t id, const wire::CapacityRelease& request);
  // Forgets the owners of some reservations that are not live any more.
  void sweep_node_owners();
  Result<void> capacity_quota_status(std::uint64_t id, const wire::CapacityQuotaStatus& request);
  Result<void> capacity_reservations(std::uint64_t id, const wire::CapacityReservations& request);
  Result<void> serve_reserve(Peer& peer, std::uint64_t id, const wire::Reserve& request);
  Result<void> unreserve(Peer& peer, std::uint64_t id, const wire::Unreserve& request);
  Result<void> renew_reservations(Peer& peer, std::uint64_t id,
                                  const wire::RenewReservations& request);
  Result<void> reservations(std::uint64_t id, const wire::Reservations& request);
  Result<void> stats(Peer& peer, std::uint64_t id, const wire::Stats& request);
  Result<void> validate_reservations() const;
  // `digests`: where they were asked for.
  void finish_stats(const Peer& peer, std::uint64_t id, const Result<void>& valid,
                    const FedAudit* digests);

  // What a request has reserved, and what that replaced: to be undone if the request fails.
  struct Made {
    std::string pod_key;
    std::uint64_t serial = 0;
    std::unique_ptr<const PodReservation> former;  // nullptr: nothing
  };
  // A reservation that ends with it, unless it is let go of.
  struct Provisional {
    explicit Provisional(RequestService& its) : service(its) {}
    Provisional(const Provisional&) = delete;
    Provisional& operator=(const Provisional&) = delete;
    ~Provisional() {
      if (made) service.undo_all(std::span(&*made, 1));
    }

    RequestService& service;
    std::optional<Made> made;
  };
  Result<Made> reserve(const Peer& peer, const wire::Reserve& request);
  void undo(const Made& made);
  void undo_all(std::span<const Made> made) noexcept;
  flatbuffers::Offset<wire::Reserved> reserve_first(const Peer& peer, const wire::Reserve& request,
                                                    std::optional<Made>& made);
  // kConflict where the pod is bound or has ended, kForbidden where it is reserved by another
  // owner, kIo where memory is used up. Else what is reserved under its key, or nullptr.
  Result<const PodReservation*> check_reservable(const Peer& peer, const Pod& pod,
                                                 const std::string& key) const;
  // kIo: there is no memory for what is to be reserved.
  Result<void> check_memory() const;
  // Of labels and annotations, which are most of a large pod.
  static std::size_t text_bytes(const Pod& pod);
  // So many bytes were read of what may be kept: memory is looked at again where it was many.
  void note_kept(std::size_t bytes);
  void expire_reservations();
  void tell_expired();
  SteadyTime steady_now() const { return options_.steady_clock(); }
  std::int64_t wall_now_us() const { return options_.wall_clock ? options_.wall_clock() : 0; }
  flatbuffers::Offset<wire::Reserved> reserved(const Result<void>& result);
  // `bytes` grows by what was read.
  Result<const Pod*> resolve(const wire::PodRef& ref, Pod& scratch, std::size_t& bytes) const;
  Result<const Pod*> resolve(const wire::PodRef& ref, Pod& scratch) const {
    std::size_t bytes = 0;
    return resolve(ref, scratch, bytes);
  }
  using PodRefs = flatbuffers::Vector<flatbuffers::Offset<wire::PodRef>>;
  // One of a list: an error names its place, and so does kRequestBytesMax for the list up to there.
  Result<const Pod*> resolve_at(const char* field, const PodRefs& refs, std::uint32_t at,
                                Pod& scratch, std::size_t& bytes) const;
  // 1 to kPodsPerRequestMax pods.
  static Result<void> check_count(const PodRefs& refs);
  // Into pods_, none where there is no list; errors name the place in `field`.
  Result<void> resolve_each(const char* field, const PodRefs* refs);
  std::uint64_t epoch() const { return epoch_base_ + current_->epoch(); }
  // The barrier: what throws is an error for the peer, and the state is looked after. `feeds`:
  // facts may have been cut short.
  void contain(Peer* peer, std::uint64_t id, bool feeds,
               const std::function<void()>& what) noexcept;
  void failed(Peer* peer, std::uint64_t id, bool feeds, const Error& error) noexcept;
  void validate_after_fault() noexcept;
  void give_up() noexcept;
  bool handle_frame(Peer& peer, const wire::Frame& frame);
  void watch_memory();
  void set_refusing(bool refuse);
  void set_cache_size(FedCluster& cluster) const;
  void tell_memory(const char* what) const;
  Error memory_used_up() const;
  void advance();
  void watch_clock(std::int64_t now_us);
  void send_error(Peer& peer, std::uint64_t id, const Error& error, std::int32_t change = -1);
  template <typename Body>
  void finish(std::uint64_t id, flatbuffers::Offset<Body> body) {
    finish_frame(builder_, id, body);
  }
  void reject(Peer& peer, std::uint64_t id, RequestRejection why, const Error& error);
  Error too_large() const;  // the reply in builder_

  ServiceOptions options_;
  Metrics& metrics_;
  std::unique_ptr<FedCluster> current_;
  std::uint64_t clusters_ = 0;        // how many have been replaced
  std::unique_ptr<FedCluster> next_;  // during a resync
  bool profiles_wait_ = false;        // those of options_ are not those of the current cluster yet
  Encoder encoder_;
  NodesEncoder nodes_encoder_;
  std::uint64_t epoch_base_ = 0;  // epochs go on where the cluster before ended
  EngineStats retired_;           // counters of clusters before
  bool ready_ = false;
  // The feeder gives the time: of the current cluster, of the next one.
  bool feeder_time_ = false, next_feeder_time_ = false;
  bool given_up_ = false;                // the cluster is not what its facts say: no decisions
  bool validation_due_ = false;          // after a fault
  std::optional<SteadyTime> validated_;  // after the last one that was
  std::uint64_t validations_ = 0;        // so far
  bool refusing_ = false;                // facts and new connections, for want of memory
  bool facts_lost_ = false;              // since then
  bool small_cache_ = false;             // of shapes, for want of memory
  std::size_t memory_bytes_ = 0;
  std::size_t kept_unwatched_ = 0;  // bytes, since memory was looked at
  SteadyTime watched_{};            // when the wall clock was looked at last,
  std::int64_t watched_us_ = 0;     // and what it said
  Peer* feeder_ = nullptr;
  std::uint64_t sequence_ = 0;  // of the last Facts
  SteadyTime facts_at_;         // when they came; zero: none have
  std::vector<Peer*> peers_;    // that are connected
  PodReservations reservations_;
  // Whose reservations of nodes are, by id; of some that are not live any more, too.
  std::map<std::string, Owner, std::less<>> node_owners_;
  std::string swept_;                  // where the next sweep of them begins
  std::uint64_t reserved_serial_ = 0;  // the last one
  std::uint64_t resyncs_ = 0;          // begun; the number of the one under way
  std::uint32_t expired_ = 0;          // reservations, since the last tick
  std::string expired_first_;          // the first of them
  std::deque<UnderWay> under_way_;     // first in line first
  std::unique_ptr<Work> begun_;        // by the request that is being handled
  SteadyTime turn_ends_{};
  const Pause pause_ = [this] { return steady_now() >= turn_ends_; };
  std::thread retiring_;  // frees the last replaced cluster, which takes a while

  // Scratch: their memory is used again.
  flatbuffers::FlatBufferBuilder builder_;
  Pod pod_, reserve_pod_;
  Decision decision_;
  NodesDecision nodes_decision_;
  std::vector<NodeIndex> nodes_;
  std::vector<PodName> without_;  // point into the request
  std::vector<Pod> pods_;
  std::size_t pods_bytes_ = 0;  // of pods_, as kRequestBytesMax counts them
  CapacityCheck check_;
};

}  // namespace headroom
