#include "simulation/figures/series.h"

#include <algorithm>
#include <iterator>

#include "engine/policies/load_estimate.h"
#include "objects/hash.h"
#include "objects/pod_resources.h"
#include "simulation/figures/ranks.h"
#include "workloads/cluster_generator.h"
#include "workloads/random.h"

namespace headroom {
namespace {

constexpr std::uint64_t kForBurst = 201;
constexpr std::array<const char*, 2> kUsageResources = {"cpu", "memory"};
// Shares are exact up to here; what is above counts as this in quantiles, not in max and mean.
constexpr std::int64_t kShareMax = 10'000;

// a * 1000 / b, rounded up, so that nothing above b reads as 1000.
std::int64_t permille(std::int64_t a, std::int64_t b) {
  return saturated((Int128{a} * 1000 + b - 1) / b);
}

std::vector<std::int64_t> all_saturated(const std::vector<Int128>& sums) {
  std::vector<std::int64_t> all;
  std::transform(sums.begin(), sums.end(), std::back_inserter(all), saturated);
  return all;
}

std::size_t bucket_of(std::int64_t share) {
  const std::int64_t bucket = share / (10 * kBucketPercent) + (share % (10 * kBucketPercent) > 0);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(bucket, 0, static_cast<std::int64_t>(kBuckets) - 1));
}

void add_counts(Sample& to, const Sample& from) {
  to.placed += from.placed;
  to.failed += from.failed;
  to.preemptors += from.preemptors;
  to.victims += from.victims;
  to.victims_placed_again += from.victims_placed_again;
  to.failures.resize(std::max(to.failures.size(), from.failures.size()));
  for (std::size_t r = 0; r < from.failures.size(); ++r) to.failures[r] += from.failures[r];
}

}  // namespace

std::int64_t hot_percent(std::string_view resource) {
  static const ResourcePercents thresholds = LoadAwareArgs{}.usage_thresholds;
  const auto found = thresholds.find(std::string(resource));
  return found == thresholds.end() ? 0 : found->second;
}

SeriesRecorder::SeriesRecorder(const ClusterUsage& usage, Span span, std::uint64_t seed)
    : usage_(usage), span_(span), seed_(seed) {
  constexpr std::int64_t kIntervals = kSamplesMax - 1;
  if (span.end_us > span.begin_us && !span.arrivals_alone) {
    interval_us_ = (span.end_us - span.begin_us + kIntervals - 1) / kIntervals;
  } else {
    series_.over_decisions = true;
    interval_decisions_ = std::max<std::uint64_t>((span.arrivals + kIntervals - 1) / kIntervals, 1);
  }
  usage_resources_.fill(usage.resource_count());
  for (std::size_t r = 0; r < usage.resource_count(); ++r) {
    series_.resources.push_back(usage.resource_name(r));
    for (std::size_t u = 0; u < kUsageResources.size(); ++u) {
      if (usage.resource_name(r) == kUsageResources[u]) usage_resources_[u] = r;
    }
  }
}

// --- Pods. -------------------------------------------------------------------------------------

void SeriesRecorder::add(const Pod& pod, const ClusterUsage::Holding& holding) {
  static const ResourcePercents factors = LoadAwareArgs{}.estimated_scaling_factors;
  std::string key = pod_key(pod.namespace_name, pod.name);
  Resident resident{.holding = holding, .hash = hash_bytes(key)};
  if (!holding.needs.empty()) {
    const ResourceList requests = pod_requests(pod), limits = pod_limits(pod);
    const ResourceList usage = simulated_usage(pod, seed_);
    for (std::size_t u = 0; u < kUsageResources.size(); ++u) {
      const std::string name = kUsageResources[u];
      const Quantity* request = find(requests, name);
      const Quantity* limit = find(limits, name);
      const Quantity* used = find(usage, name);
      resident.estimated[u] = estimated_usage(name, request == nullptr ? Quantity() : *request,
                                              limit == nullptr ? Quantity() : *limit,
                                              factors.at(name), Mode::kProposal);
      if (used != nullptr) resident.steady[u] = resource_amount(name, *used).value_or(0);
    }
  }
  change(resident, 1);
  residents_[std::move(key)] = std::move(resident);
}

void SeriesRecorder::remove(std::string_view namespace_name, std::string_view name) {
  const auto found = residents_.find(pod_key(namespace_name, name));
  if (found == residents_.end()) return;
  change(found->second, -1);
  residents_.erase(found);
}

void SeriesRecorder::change(const Resident& resident, int sign) {
  const std::size_t resources = usage_.resource_count();
  for (std::vector<Int128>& amounts : amounts_) {
    amounts.resize(usage_.node_count() * resources, 0);
  }
  const std::size_t row = resident.holding.node * resources;
  for (const ClusterUsage::Holding::Need& need : resident.holding.needs) {
    amounts_[0][row + need.resource] += sign * need.request;
    amounts_[1][row + need.resource] += sign * need.limit;
  }
  for (std::size_t u = 0; u < usage_resources_.size(); ++u) {
    if (usage_resources_[u] < resources) {
      amounts_[2][row + usage_resources_[u]] += sign * resident.estimated[u];
    }
  }
}

void SeriesRecorder::count_failed(const std::string& reason) {
  ++since_.failed;
  const auto [place, is_new] = reason_ids_.try_emplace(reason, series_.reasons.size());
  if (is_new) series_.reasons.push_back(reason);
  since_.failures.resize(series_.reasons.size());
  ++since_.failures[place->second];
}

// --- Samples. ----------------------------------------------------------------------------------

std::int64_t SeriesRecorder::next_us() const {
  if (series_.over_decisions || series_.samples.empty()) return INT64_MAX;
  return series_.samples.back().time_us + interval_us_;
}

bool SeriesRecorder::due_by_decisions(std::uint64_t decisions) const {
  return series_.over_decisions &&
         decisions >= series_.samples.back().decisions + interval_decisions_;
}

void SeriesRecorder::take(const Moment& moment) {
  if (series_.samples.size() == kSamplesMax) halve();
  Sample& sample = series_.samples.emplace_back(std::move(since_));
  since_ = {};
  sample.time_us = moment.time_us;
  sample.decisions = moment.decisions;
  sample.busy_seconds = moment.busy_seconds;
  sample.nodes = static_cast<std::uint32_t>(usage_.node_count());
  sample.pods = residents_.size();
  while (!pending_until_.empty() && pending_until_.top() <= moment.time_us) pending_until_.pop();
  sample.pending = pending_until_.size() + moment.waiting;

  const std::size_t nodes = usage_.node_count(), resources = usage_.resource_count();
  for (std::vector<Int128>& amounts : amounts_) amounts.resize(nodes * resources, 0);
  const std::vector<Int128> usage = usage_now(
      series_.over_decisions ? moment.decisions : static_cast<std::uint64_t>(moment.time_us));
  std::vector<Int128> sums(resources, 0);
  for (std::size_t cell = 0; cell < nodes * resources; ++cell) {
    sums[cell % resources] += usage_.allocatable(cell / resources, cell % resources);
  }
  sample.allocatable = all_saturated(sums);
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const std::vector<Int128>& amounts = m < amounts_.size() ? amounts_[m] : usage;
    sums.assign(resources, 0);
    for (std::size_t cell = 0; cell < amounts.size(); ++cell) {
      sums[cell % resources] += amounts[cell];
    }
    sample.sums[m] = all_saturated(sums);
    for (std::size_t r = 0; r < resources; ++r) {
      sample.by_nodes[m].push_back(distribution(r, amounts));
    }
  }

  sample.quotas = moment.ledger.standings();
  const std::size_t amounts_max = kElasticQuotasSampledMax * moment.ledger.resources().size();
  sample.quotas.resize(std::min(sample.quotas.size(), amounts_max));
  if (moment.autoscaler == nullptr) return;
  std::vector<LimitStanding> limits = moment.autoscaler->standings();
  limits.resize(std::min(limits.size(), kCapacityLimitsSampledMax));
  for (const LimitStanding& at : limits) {
    sample.capacity_limits.push_back({.limit = at.limit,
                                      .used = at.used,
                                      .reserved = at.reserved,
                                      .nodes_refused = at.nodes_refused});
  }
  series_.limits = std::move(limits);
}

SimulationSeries SeriesRecorder::finish(const Moment& moment) {
  std::vector<Sample>& samples = series_.samples;
  const bool same_moment = series_.over_decisions ? samples.back().decisions == moment.decisions
                                                  : samples.back().time_us == moment.time_us;
  if (same_moment && samples.size() > 1) {
    add_counts(since_, samples.back());
    samples.pop_back();
  }
  take(moment);
  series_.quota_resources = moment.ledger.resources();
  series_.quotas = moment.ledger.reports();
  series_.quotas.resize(std::min(series_.quotas.size(), kElasticQuotasSampledMax));
  return std::move(series_);
}

// Keeps the first sample, and of the others every second with what both counted.
void SeriesRecorder::halve() {
  static_assert(kSamplesMax % 2 == 0);
  std::vector<Sample>& samples = series_.samples;
  std::size_t kept = 1;
  for (std::size_t s = 2; s < samples.size(); s += 2) {
    add_counts(samples[s], samples[s - 1]);
    samples[kept++] = std::move(samples[s]);
  }
  add_counts(since_, samples.back());  // had no partner, since their number is even
  samples.resize(kept);
  interval_us_ *= 2;
  interval_decisions_ *= 2;
}

std::vector<Int128> SeriesRecorder::usage_now(std::uint64_t draw) const {
  const std::size_t resources = usage_.resource_count();
  std::vector<Int128> usage(usage_.node_count() * resources, 0);
  for (const auto& [name, resident] : residents_) {
    Random random{seed_, kForBurst, resident.hash, draw};
    const bool bursts = random.below(kBurstEvery) == 0;
    std::array<std::int64_t, 2> amounts = resident.steady;
    if (bursts) {
      for (const ClusterUsage::Holding::Need& need : resident.holding.needs) {
        for (std::size_t u = 0; u < amounts.size(); ++u) {
          if (need.resource == usage_resources_[u]) amounts[u] = need.limit;
        }
      }
    }
    for (std::size_t u = 0; u < amounts.size(); ++u) {
      if (usage_resources_[u] == resources) continue;
      usage[resident.holding.node * resources + usage_resources_[u]] += amounts[u];
    }
  }
  return usage;
}

Distribution SeriesRecorder::distribution(std::size_t resource,
                                          const std::vector<Int128>& amounts) const {
  const std::size_t resources = usage_.resource_count();
  const std::int64_t hot = 10 * hot_percent(series_.resources[resource]);
  Distribution at;
  std::vector<std::uint32_t> nodes_at(kShareMax + 1, 0);  // by share
  Int128 sum = 0;
  for (std::size_t node = 0; node < usage_.node_count(); ++node) {
    const std::int64_t allocatable = usage_.allocatable(node, resource);
    if (allocatable <= 0) continue;
    const std::int64_t share =
        permille(saturated(amounts[node * resources + resource]), allocatable);
    ++at.nodes;
    ++nodes_at[static_cast<std::size_t>(std::clamp<std::int64_t>(share, 0, kShareMax))];
    ++at.buckets[bucket_of(share)];
    sum += share;
    at.max = std::max(at.max, share);
    at.above_allocatable += share > 1000;
    at.hot += hot > 0 && share > hot;
  }
  if (at.nodes == 0) return at;
  at.mean = saturated((sum + at.nodes / 2) / at.nodes);
  std::uint64_t below = 0;
  for (std::int64_t share = 0; share <= std::min(at.max, kShareMax); ++share) {
    const std::uint64_t upto = below + nodes_at[static_cast<std::size_t>(share)];
    for (const auto& [quantile, of_thousand] :
         {std::pair(&at.p50, 500u), std::pair(&at.p90, 900u), std::pair(&at.p99, 990u)}) {
      const std::size_t rank = rank_of(at.nodes, of_thousand);
      if (below < rank && upto >= rank) *quantile = share;
    }
    below = upto;
  }
  return at;
}

}  // namespace headroom
