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

// Why a connection was not taken.
enum class Refusal : std::uint8_t { kTooMany, kUser, kTls, kAccept, kRole };
inline constexpr std::size_t kRefusals = 5;

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
// A metric's label: "hello", "idle", "share", "memory".
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
  void capacity_asked(bool all_fit) { (all_fit ? capacity_fits_ : capacity_limited_)->Increment(); }
  void request_failed(ErrorCode code);
  void clock_jumped(bool ahead) { (ahead ? clock_ahead_ : clock_back_)->Increment(); }
  // An exception that the barrier caught.
  void failed(ErrorCode code) {
    (code == ErrorCode::kLimitExceeded ? faults_memory_ : faults_internal_)->Increment();
  }
  void refused_for_memory(bool facts) {
    (facts ? memory_facts_ : memory_connections_)->Increment();
  }
  void reservation_expired() { reservations_expired_->Increment(); }
  void facts(std::uint64_t applied, std::uint64_t refused);
  void rejected(RequestRejection why);
  void connection_refused(Refusal why);
  void let_go(LetGo why);
  void resync_ended(bool completed);
  void feeder_lag(double seconds) { feeder_lag_->Set(seconds); }
  void loop_turn(Duration time);
  // HTTP: a request was answered, a connection had to make room for another.
  void http_replied(unsigned status);
  void http_evicted() { http_evicted_->Increment(); }
  void set(const ServiceState& state);
  QuotaMetrics& quotas() { return quotas_; }

  bool ready() const { return is_ready_.load(std::memory_order_relaxed); }
  // The control thread has set its state within the last `kAliveSeconds`.
  bool alive() const;
  // In Prometheus' text format. Ends the period of the slowest turn.
  std::string text();

  static constexpr int kAliveSeconds = 10;

 private:
  prometheus::Counter& counter(const char* name, const char* help,
                               const prometheus::Labels& labels = {});
  prometheus::Gauge& gauge(const char* name, const char* help,
                           const prometheus::Labels& labels = {});

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::array<prometheus::Histogram*, kRequestKinds> durations_{};
  std::array<prometheus::Counter*, 4> decisions_{};
  std::array<prometheus::Counter*, kErrorCodes> errors_{};
  std::array<prometheus::Counter*, kRejections> rejections_{};
  prometheus::Counter *facts_applied_, *facts_refused_, *resyncs_completed_, *resyncs_aborted_;
  prometheus::Counter *cache_hits_, *cold_passes_, *rows_replayed_;
  prometheus::Counter *faults_memory_, *faults_internal_, *memory_facts_, *memory_connections_;
  prometheus::Gauge* memory_bytes_max_;
  prometheus::Counter *clock_ahead_, *clock_back_;
  prometheus::Counter* reservations_expired_;
  prometheus::Counter *capacity_fits_, *capacity_limited_;
  std::array<prometheus::Counter*, kRefusals> refusals_{};
  std::array<prometheus::Counter*, kLetGos> let_gos_{};
  std::array<prometheus::Counter*, kHttpStatuses.size()> http_replies_{};
  prometheus::Counter* http_evicted_;
  prometheus::Gauge *epoch_, *nodes_, *pods_, *pending_pods_, *reserved_pods_, *shapes_;
  prometheus::Gauge *elastic_quotas_, *capacity_quotas_, *capacity_quotas_invalid_,
      *capacity_reservations_;
  prometheus::Gauge* reservation_oldest_;
  prometheus::Gauge *cache_bytes_, *connections_, *ready_, *feeder_, *feeder_lag_, *slowest_turn_;
  prometheus::Gauge* facts_age_;
  QuotaMetrics quotas_;
  EngineStats counted_;  // what the counters have of the engine's
  std::atomic<bool> is_ready_{false};
  std::atomic<std::int64_t> alive_at_{0};       // steady clock, in its own ticks
  std::atomic<std::int64_t> slowest_ticks_{0};  // since text()
};

}  // namespace headroom
