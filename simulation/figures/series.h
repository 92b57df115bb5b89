// SimulationSeries: a simulation at some moments, evenly spread over it: what is allocated, how
// nodes share it, who is pending, what quotas do.
//
// SeriesRecorder takes the samples. It starts with an interval of which kSamplesMax fill the
// arrivals' time; where the simulation goes on (with an autoscaler), every second sample is dropped
// and the interval doubled, so that there are never more. Where all pods arrive at one moment, or
// nothing but arrivals happens, the samples are spread over the decisions instead.
//
// Usage is not what an engine sees but what pods, by rule, use, by the same rule for all profiles:
//
//   estimated  LoadAwareScheduling's estimate with its default factors: the limit where it is above
//              the request, else 85 % of the requested cpu and 70 % of the requested memory
//   usage      simulated_usage() (cluster_generator.h), but one pod in kBurstEvery, drawn from the
//              seed for each sample, uses all of its limits
//
// Thread safety: one thread at a time. Cost: O(resources) per pod; a sample is O(nodes * resources
// + pods). Samples take memory for 4 measures of every resource, and for kElasticQuotasSampledMax
// quotas.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects/hash.h"
#include "objects/objects.h"
#include "simulation/autoscaler/cluster_autoscaler.h"
#include "simulation/figures/cluster_usage.h"
#include "simulation/figures/elastic_quota_ledger.h"

namespace headroom {

inline constexpr std::size_t kSamplesMax = 128;
inline constexpr std::uint32_t kBurstEvery = 10;
// The first of them, by namespace or id.
inline constexpr std::size_t kElasticQuotasSampledMax = 1000;
inline constexpr std::size_t kCapacityLimitsSampledMax = 1000;

enum class Measure : std::uint8_t { kRequested, kLimits, kEstimated, kUsage };
inline constexpr std::size_t kMeasures = 4;

// Nodes by how much of their allocatable a measure takes: exactly 0, then kBucketPercent each, its
// upper end included, then all that is above the last.
inline constexpr std::int64_t kBucketPercent = 10;
inline constexpr std::size_t kBuckets = 32;

// A measure over the nodes that have some of the resource, in thousandths of allocatable.
struct Distribution {
  std::int64_t mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  std::uint32_t nodes = 0;
  std::uint32_t above_allocatable = 0;  // nodes above 1000
  std::uint32_t hot = 0;                // nodes above hot_percent()
  std::array<std::uint32_t, kBuckets> buckets{};
};

// LoadAwareScheduling's default usage threshold of the resource; 0: it has none.
std::int64_t hot_percent(std::string_view resource);

struct Sample {
  struct CapacityLimit {
    Int128 limit = 0, used = 0, reserved = 0;
    std::int64_t nodes_refused = 0;
  };

  std::int64_t time_us = 0;
  std::uint64_t decisions = 0;  // since the simulation began
  double busy_seconds = 0;      // that the engine has needed for all that since then
  std::uint32_t nodes = 0;
  std::uint64_t pods = 0;  // on nodes
  // Without a node, and their time has not ended. Also those that are not tried again.
  std::uint64_t pending = 0;
  // Since the sample before.
  std::uint64_t placed = 0, failed = 0, preemptors = 0, victims = 0, victims_placed_again = 0;
  std::vector<std::uint64_t> failures;  // by SimulationSeries::reasons; those after its end: 0

  std::vector<std::int64_t> allocatable;                      // by resource
  std::array<std::vector<std::int64_t>, kMeasures> sums;      // by resource
  std::array<std::vector<Distribution>, kMeasures> by_nodes;  // by resource
  std::vector<ElasticQuotaLedger::Standing> quotas;  // [quota * quota_resources + resource]
  std::vector<CapacityLimit> capacity_limits;
};

struct SimulationSeries {
  bool over_decisions = false;  // evenly spread over decisions, not over time
  std::vector<std::string> resources;
  std::vector<std::string> reasons;   // why pods failed, in the order of their first coming
  std::vector<LimitStanding> limits;  // of capacity quotas; the names of Sample's
  std::vector<std::string> quota_resources;
  std::vector<ElasticQuotaReport> quotas;  // at the end
  std::vector<Sample> samples;             // the first is the beginning, the last the end
};

class SeriesRecorder {
 public:
  // What the simulation knows at a moment.
  struct Moment {
    std::int64_t time_us = 0;
    std::uint64_t decisions = 0;
    double busy_seconds = 0;
    const ElasticQuotaLedger& ledger;
    const ClusterAutoscaler* autoscaler;  // or nullptr
    std::size_t waiting = 0;              // with an autoscaler
  };
  struct Span {
    std::int64_t begin_us = 0, end_us = 0;  // of the arrivals
    std::uint64_t arrivals = 0;
    bool arrivals_alone = false;  // nobody leaves, no node comes
  };

  // `usage` has to outlive it, and knows every node before a pod is on it.
  SeriesRecorder(const ClusterUsage& usage, Span span, std::uint64_t seed);

  // The moment of the next sample; INT64_MAX where samples are spread over decisions.
  std::int64_t next_us() const;
  bool due_by_decisions(std::uint64_t decisions) const;
  void take(const Moment& moment);
  // The last sample: replaces one of the same moment.
  SimulationSeries finish(const Moment& moment);

  // Pods on nodes, by name.
  void add(const Pod& pod, const ClusterUsage::Holding& holding);
  void remove(std::string_view namespace_name, std::string_view name);
  void count_placed() { ++since_.placed; }
  void count_failed(const std::string& reason);
  // Found no node, or lost it, and is not tried again.
  void add_pending(std::int64_t departure_us) { pending_until_.push(departure_us); }
  void count_preemptor() { ++since_.preemptors; }
  void count_victim() { ++since_.victims; }
  void count_placed_again() { ++since_.victims_placed_again; }

 private:
  struct Resident {
    ClusterUsage::Holding holding;
    // Of the resources that usage is known of, which come first in usage_resources_.
    std::array<std::int64_t, 2> estimated{}, steady{};
    std::uint64_t hash = 0;
  };

  void change(const Resident& resident, int sign);
  std::vector<Int128> usage_now(std::uint64_t draw) const;
  Distribution distribution(std::size_t resource, const std::vector<Int128>& amounts) const;
  void halve();

  const ClusterUsage& usage_;
  const Span span_;
  const std::uint64_t seed_;
  std::int64_t interval_us_ = 0;  // 0: over decisions
  std::uint64_t interval_decisions_ = 0;
  std::array<std::size_t, 2>
      usage_resources_{};  // cpu and memory; resource_count(): no node has it
  std::unordered_map<std::string, Resident, BytesHash, std::equal_to<>> residents_;
  // What is on nodes, [node * resources + resource]; usage is drawn for each sample.
  std::array<std::vector<Int128>, 3> amounts_;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> pending_until_;
  std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>> reason_ids_;
  Sample since_;  // what is counted since the last sample
  SimulationSeries series_;
};

}  // namespace headroom
