// Metrics: what headroomd tells Prometheus, as headroomd_*, and of its process as process_*.
// deploy/ has a dashboard and alert rules over them; tests/server/metrics_names_test.py keeps both
// to the names that exist here.
//
// Thread safety: any thread may call text(), alive(), ready() and what is said of HTTP; the rest
// belongs to the control thread.
// Cost of a count: some atomic adds.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "autoscaling/capacity_quota_answers.h"
#include "engine/engine.h"
#include "server/quota_metrics.h"

namespace headroom {

enum class RequestKind : std::uint8_t {
  kEvaluate,
  kPlace,
  kReserve,
  kUnreserve,
  kExplain,
  kStats,
  kFacts,
  kFeed,
  kHello,
  kPostFilter,
  kElasticQuotaStatus,
  kExplainVictims,
  kCapacityCheck,
  kCapacityPlan,
  kCapacityReserve,
  kCapacityRelease,
  kCapacityQuotaStatus,
  kCapacityReservations,
  kEvaluateNodes,
  kRenewReservations,
  kReservations,
  kBoundVolumes
};
inline constexpr std::size_t kRequestKinds = 22;

// Why a frame was not served.
enum class RequestRejection : std::uint8_t {
  kOversized,   // above kFrameBytesMax, or kHelloBytesMax
  kMalformed,   // not a frame of the schema
  kUnexpected,  // no hello yet, or a message that only the server sends
  kOutOfOrder,  // facts of a connection that does not feed, or after a gap
  kSlowReader,  // replies beyond kQueuedBytesMax
};
inline constexpr std::size_t kRejections = 5;
// A metric's label, here and below: "oversized".
const char* to_string(RequestRejection why);

// Why a connection was not taken.
enum class Refusal : std::uint8_t { kTooMany, kUser, kTls, kAccept, kRole };
inline constexpr std::size_t kRefusals = 5;
const char* to_string(Refusal why);

// Gauges as they are now; set once a second.
struct ServiceState {
  EngineStats engine;  // counters: over all engines since the start
  CapacityQuotasStats capacity;
  std::uint64_t epoch = 0;
  std::uint32_t pending_pods = 0, reserved_pods = 0, connections = 0;
  std::chrono::steady_clock::duration oldest_reservation{0};
  // Since facts came; 0: none have come.
  std::chrono::steady_clock::duration facts_age{0};
  std::size_t memory_bytes = 0, memory_bytes_max = 0;
  bool ready = false, feeder = false;
};

// Why a connection had to go, that others have room.
enum class LetGo : std::uint8_t {
  kHello,   // it had not said hello
  kIdle,    // it was silent for kIdleSecondsMax
  kShare,   // its principal had more of them than others
  kMemory,  // it held most of kBufferedBytesMax
};
inline constexpr std::size_t kLetGos = 4;
const char* to_string(LetGo why);

// What requests of /metrics and the health checks are answered.
inline constexpr std::array<unsigned, 8> kHttpStatuses = {200, 400, 404, 405, 408, 413, 431, 503};

class Metrics {
 public:
  using Duration = std::chrono::steady_clock::duration;

  Metrics();
  void served(RequestKind kind, Duration time);
  void decided(Code code);
  // A check, plan or reservation of nodes: do all of them fit the quotas?
  void capacity_asked(bool all_fit) { (all_fit ? capacity_fits_ : capacity_limited_).Increment(); }
  void request_failed(ErrorCode code);
  void clock_jumped(bool ahead) { (ahead ? clock_ahead_ : clock_back_).Increment(); }
  // An exception that the barrier caught.
  void failed(ErrorCode code) {
    (code == ErrorCode::kLimitExceeded ? faults_memory_ : faults_internal_).Increment();
  }
  void refused_for_memory(bool facts) { (facts ? memory_facts_ : memory_connections_).Increment(); }
  void reservation_expired() { reservations_expired_.Increment(); }
  void facts(std::uint64_t applied, std::uint64_t refused);
  void rejected(RequestRejection why);
  void connection_refused(Refusal why);
  void let_go(LetGo why);
  void resync_ended(bool completed);
  void feeder_lag(double seconds) { feeder_lag_.Set(seconds); }
  void loop_turn(Duration time);
  // HTTP: a request was answered, a connection had to make room for another.
  void http_replied(unsigned status);
  void http_evicted() { http_evicted_.Increment(); }
  void set(const ServiceState& state);
  QuotaMetrics& quotas() { return quotas_; }

  bool ready() const { return is_ready_.load(std::memory_order_relaxed); }
  // The control thread has set its state within the last `kAliveSeconds`.
  bool alive() const;
  // In Prometheus' text format. Ends the period of the slowest turn.
  std::string text();

  static constexpr int kAliveSeconds = 10;

 private:
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  template <std::size_t count>
  using Counters = std::array<Counter*, count>;

  Counter& counter(const char* name, const char* help, const prometheus::Labels& labels = {});
  Gauge& gauge(const char* name, const char* help, const prometheus::Labels& labels = {});
  // One for each value of a label, which `its_text` gives by its number.
  template <std::size_t count>
  Counters<count> counters(const char* name, const char* help, const char* label,
                           std::string (*its_text)(std::size_t value)) {
    Counters<count> all;
    for (std::size_t value = 0; value < count; ++value) {
      all[value] = &counter(name, help, {{label, its_text(value)}});
    }
    return all;
  }
  template <typename Enum>
  static std::string text_of(std::size_t value) {
    return to_string(static_cast<Enum>(value));
  }

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  // /metrics has the counters in this order, then the gauges, then the histograms.
  const Counters<4> decisions_ = counters<4>(
      "headroomd_decisions_total", "Pods decided on, by result.", "result", text_of<Code>);
  const Counters<kErrorCodes> errors_ =
      counters<kErrorCodes>("headroomd_request_errors_total", "Requests refused, by error code.",
                            "code", text_of<ErrorCode>);
  const Counters<kRejections> rejections_ =
      counters<kRejections>("headroomd_frames_rejected_total", "Frames not served, by reason.",
                            "reason", text_of<RequestRejection>);
  static constexpr const char* kFactsHelp = "Changes of facts, by what became of them.";
  Counter& facts_applied_ = counter("headroomd_facts_total", kFactsHelp, {{"result", "applied"}});
  Counter& facts_refused_ = counter("headroomd_facts_total", kFactsHelp, {{"result", "refused"}});
  static constexpr const char* kResyncsHelp = "Resyncs, by how they ended.";
  Counter& resyncs_completed_ =
      counter("headroomd_resyncs_total", kResyncsHelp, {{"result", "completed"}});
  Counter& resyncs_aborted_ =
      counter("headroomd_resyncs_total", kResyncsHelp, {{"result", "aborted"}});
  Counter& cache_hits_ =
      counter("headroomd_cache_hits_total", "Decisions answered from the shape cache.");
  Counter& cold_passes_ = counter("headroomd_cold_passes_total", "Passes over all nodes.");
  Counter& rows_replayed_ =
      counter("headroomd_rows_replayed_total", "Changed nodes that cached shapes caught up with.");
  static constexpr const char* kFaultsHelp =
      "Requests that threw, by reason; each is an error of one peer.";
  Counter& faults_memory_ = counter("headroomd_faults_total", kFaultsHelp, {{"reason", "memory"}});
  Counter& faults_internal_ =
      counter("headroomd_faults_total", kFaultsHelp, {{"reason", "internal"}});
  static constexpr const char* kRefusedHelp =
      "Facts (frames) and connections refused for want of memory.";
  Counter& memory_facts_ =
      counter("headroomd_memory_refused_total", kRefusedHelp, {{"what", "facts"}});
  Counter& memory_connections_ =
      counter("headroomd_memory_refused_total", kRefusedHelp, {{"what", "connections"}});
  static constexpr const char* kJumpsHelp =
      "Times that the wall clock was set by more than a minute.";
  Counter& clock_ahead_ =
      counter("headroomd_clock_jumps_total", kJumpsHelp, {{"direction", "ahead"}});
  Counter& clock_back_ =
      counter("headroomd_clock_jumps_total", kJumpsHelp, {{"direction", "back"}});
  Counter& reservations_expired_ =
      counter("headroomd_reservations_expired_total",
              "Reservations of pods that ended because nobody bound or renewed them in time.");
  static constexpr const char* kAskedHelp =
      "Checks, plans and reservations of nodes, by whether all nodes fit the quotas.";
  Counter& capacity_fits_ =
      counter("headroomd_capacity_asked_total", kAskedHelp, {{"result", "fits"}});
  Counter& capacity_limited_ =
      counter("headroomd_capacity_asked_total", kAskedHelp, {{"result", "limited"}});
  const Counters<kRefusals> refusals_ =
      counters<kRefusals>("headroomd_connections_refused_total",
                          "Connections not taken, by reason.", "reason", text_of<Refusal>);
  const Counters<kLetGos> let_gos_ = counters<kLetGos>(
      "headroomd_connections_let_go_total", "Connections that had to go for others, by reason.",
      "reason", text_of<LetGo>);
  const Counters<kHttpStatuses.size()> http_replies_ = counters<kHttpStatuses.size()>(
      "headroomd_http_replies_total", "Requests of metrics and health, by their answer.", "status",
      [](std::size_t value) { return std::to_string(kHttpStatuses[value]); });
  Counter& http_evicted_ =
      counter("headroomd_http_connections_evicted_total",
              "Connections of the metrics port that made room for others: kHttpConnectionsMax.");
  Gauge& memory_bytes_max_ =
      gauge("headroomd_memory_budget_bytes",
            "Memory that the process may hold (--memory-mib); 0: no budget.");
  Gauge& epoch_ = gauge("headroomd_epoch", "Grows with every change of a node.");
  Gauge& nodes_ = gauge("headroomd_nodes", "Nodes known.");
  Gauge& pods_ = gauge("headroomd_pods", "Pods known.");
  Gauge& pending_pods_ = gauge("headroomd_pending_pods", "Fed pods that wait for a node.");
  Gauge& reserved_pods_ = gauge("headroomd_reserved_pods", "Reserved pods that are not bound yet.");
  Gauge& shapes_ = gauge("headroomd_pod_shapes", "Distinct shapes of pods.");
  Gauge& reservation_oldest_ = gauge("headroomd_reservation_oldest_seconds",
                                     "Age of the oldest reservation of a pod; 0: there is none.");
  Gauge& elastic_quotas_ =
      gauge("headroomd_elastic_quotas", "ElasticQuotas that count: one in a namespace.");
  Gauge& capacity_quotas_ =
      gauge("headroomd_capacity_quotas", "CapacityQuotas known, of all classes.");
  Gauge& capacity_quotas_invalid_ =
      gauge("headroomd_capacity_quotas_invalid", "CapacityQuotas whose last spec cannot be used.");
  Gauge& capacity_reservations_ =
      gauge("headroomd_capacity_reservations", "Reservations of nodes that are live.");
  Gauge& cache_bytes_ = gauge("headroomd_cache_bytes", "Memory of the shape cache.");
  Gauge& connections_ = gauge("headroomd_connections", "Open connections.");
  Gauge& ready_ = gauge("headroomd_ready", "1 once a feeder has completed a resync.");
  Gauge& feeder_ = gauge("headroomd_feeder_connected", "1 while a connection feeds.");
  Gauge& feeder_lag_ =
      gauge("headroomd_feeder_lag_seconds",
            "Age of the last facts when they were applied, by the feeder's clock.");
  Gauge& facts_age_ =
      gauge("headroomd_facts_age_seconds", "Time since facts came last; 0: none have come yet.");
  Gauge& slowest_turn_ = gauge("headroomd_loop_turn_slowest_seconds",
                               "The slowest turn of the event loop since the last scrape.");
  std::array<prometheus::Histogram*, kRequestKinds> durations_{};
  QuotaMetrics quotas_;
  EngineStats counted_;  // what the counters have of the engine's
  std::atomic<bool> is_ready_{false};
  std::atomic<std::int64_t> alive_at_{0};       // steady clock, in its own ticks
  std::atomic<std::int64_t> slowest_ticks_{0};  // since text()
};

}  // namespace headroom
