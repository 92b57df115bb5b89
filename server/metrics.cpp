#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "schema/limits.h"
#include "server/process_metrics.h"

namespace headroom {

namespace {

constexpr std::array<const char*, kRequestKinds> kKindNames = {"evaluate",
                                                               "place",
                                                               "reserve",
                                                               "unreserve",
                                                               "explain",
                                                               "stats",
                                                               "facts",
                                                               "feed",
                                                               "hello",
                                                               "post_filter",
                                                               "elastic_quota_status",
                                                               "explain_victims",
                                                               "capacity_check",
                                                               "capacity_plan",
                                                               "capacity_reserve",
                                                               "capacity_release",
                                                               "capacity_quota_status",
                                                               "capacity_reservations",
                                                               "evaluate_nodes",
                                                               "renew_reservations",
                                                               "reservations",
                                                               "bound_volumes"};
constexpr std::array<const char*, kRejections> kRejectionNames = {
    "oversized", "malformed", "unexpected", "out_of_order", "slow_reader"};

constexpr std::array<const char*, kRefusals> kRefusalNames = {"kConnectionsMax", "user", "tls",
                                                              "accept", "role"};

constexpr std::array<const char*, kLetGos> kLetGoNames = {"hello", "idle", "share", "memory"};

double seconds(Metrics::Duration time) { return std::chrono::duration<double>(time).count(); }

std::int64_t now_ticks() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

const char* to_string(RequestRejection why) {
  return kRejectionNames[static_cast<std::size_t>(why)];
}

const char* to_string(Refusal why) { return kRefusalNames[static_cast<std::size_t>(why)]; }

const char* to_string(LetGo why) { return kLetGoNames[static_cast<std::size_t>(why)]; }

Metrics::Metrics() {
  auto& durations = prometheus::BuildHistogram()
                        .Name("headroomd_request_duration_seconds")
                        .Help("Time from a frame's last byte to its queued reply, by request.")
                        .Register(*registry_);
  // 1 us to 1 s: a warm decision takes about 1 us, a cold one at 50,000 nodes some hundred.
  const prometheus::Histogram::BucketBoundaries bounds = {
      1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, 1};
  for (std::size_t kind = 0; kind < kRequestKinds; ++kind) {
    durations_[kind] = &durations.Add({{"request", kKindNames[kind]}}, bounds);
  }
  gauge("headroomd_build_info", "1: the version of headroomd, and of the protocol that it speaks.",
        {{"version", HEADROOM_VERSION}, {"protocol", std::to_string(kProtocolVersion)}})
      .Set(1);
}

prometheus::Counter& Metrics::counter(const char* name, const char* help,
                                      const prometheus::Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Gauge& Metrics::gauge(const char* name, const char* help,
                                  const prometheus::Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add(labels);
}

void Metrics::served(RequestKind kind, Duration time) {
  durations_[static_cast<std::size_t>(kind)]->Observe(seconds(time));
}

void Metrics::decided(Code code) { decisions_[static_cast<std::size_t>(code)]->Increment(); }

void Metrics::request_failed(ErrorCode code) {
  errors_[static_cast<std::size_t>(code)]->Increment();
}

void Metrics::facts(std::uint64_t applied, std::uint64_t refused) {
  facts_applied_.Increment(static_cast<double>(applied));
  facts_refused_.Increment(static_cast<double>(refused));
}

void Metrics::rejected(RequestRejection why) {
  rejections_[static_cast<std::size_t>(why)]->Increment();
}

void Metrics::connection_refused(Refusal why) {
  refusals_[static_cast<std::size_t>(why)]->Increment();
}

void Metrics::let_go(LetGo why) { let_gos_[static_cast<std::size_t>(why)]->Increment(); }

void Metrics::resync_ended(bool completed) {
  (completed ? resyncs_completed_ : resyncs_aborted_).Increment();
}

void Metrics::loop_turn(Duration time) {
  if (time.count() > slowest_ticks_.load(std::memory_order_relaxed)) {
    slowest_ticks_.store(time.count(), std::memory_order_relaxed);
  }
}

void Metrics::http_replied(unsigned status) {
  for (std::size_t s = 0; s < kHttpStatuses.size(); ++s) {
    if (kHttpStatuses[s] == status) http_replies_[s]->Increment();
  }
}

void Metrics::set(const ServiceState& state) {
  const EngineStats& engine = state.engine;
  const auto add = [](prometheus::Counter& counter, std::uint64_t now, std::uint64_t before) {
    counter.Increment(static_cast<double>(now - before));
  };
  add(cache_hits_, engine.cache_hits, counted_.cache_hits);
  add(cold_passes_, engine.cold_passes, counted_.cold_passes);
  add(rows_replayed_, engine.rows_replayed, counted_.rows_replayed);
  counted_ = engine;
  epoch_.Set(static_cast<double>(state.epoch));
  nodes_.Set(engine.nodes);
  pods_.Set(engine.pods);
  pending_pods_.Set(state.pending_pods);
  reserved_pods_.Set(state.reserved_pods);
  memory_bytes_max_.Set(static_cast<double>(state.memory_bytes_max));
  reservation_oldest_.Set(seconds(state.oldest_reservation));
  facts_age_.Set(seconds(state.facts_age));
  shapes_.Set(engine.shapes);
  elastic_quotas_.Set(engine.elastic_quotas);
  capacity_quotas_.Set(state.capacity.quotas);
  capacity_quotas_invalid_.Set(state.capacity.invalid_quotas);
  capacity_reservations_.Set(state.capacity.reservations);
  cache_bytes_.Set(static_cast<double>(engine.cache_bytes));
  connections_.Set(state.connections);
  ready_.Set(state.ready ? 1 : 0);
  feeder_.Set(state.feeder ? 1 : 0);
  is_ready_.store(state.ready, std::memory_order_relaxed);
  alive_at_.store(now_ticks(), std::memory_order_relaxed);
}

bool Metrics::alive() const {
  const Duration age(now_ticks() - alive_at_.load(std::memory_order_relaxed));
  return age < std::chrono::seconds(kAliveSeconds);
}

std::string Metrics::text() {
  slowest_turn_.Set(seconds(Duration(slowest_ticks_.exchange(0, std::memory_order_relaxed))));
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  std::ranges::move(quotas_.Collect(), std::back_inserter(families));
  std::ranges::move(process_metrics(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace headroom
