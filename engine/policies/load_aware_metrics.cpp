// LoadAware: the metrics of rows, which pods of a row they make count otherwise, and when they
// expire.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/policies/load_aware.h"
#include "layout/make_room.h"
#include "objects/hash.h"
#include "objects/text/time_text.h"

namespace headroom {

namespace {

// 30,000 years; more counts as this.
constexpr std::int64_t kSecondsMax = 1'000'000'000'000;
constexpr std::int64_t kDefaultReportIntervalSeconds = 60;

// In mode Proposal a pod that came after the report counts whatever the interval: one below 0 is as
// none.
std::int64_t interval_us(const NodeMetric& metric, bool upstream) {
  const std::int64_t seconds =
      metric.report_interval_seconds.value_or(kDefaultReportIntervalSeconds);
  return micros_of(upstream ? seconds : std::max<std::int64_t>(seconds, 0));
}

}  // namespace

std::int64_t micros_of(std::int64_t seconds) {
  return std::clamp(seconds, -kSecondsMax, kSecondsMax) * kMicrosPerSecond;
}

// --- Metrics ---

void LoadAware::begin_recount(std::uint32_t row, bool everything) {
  recounts_.clear();
  const auto add = [&](PodId id) {
    if (facts_.pods[id].counted_row == row) {
      recounts_.push_back({id, depends_on_metric(facts_.pods[id])});
    }
  };
  for (PodId id = facts_.nodes[row].first_pod; id != kNoPod; id = facts_.pods[id].next) {
    if (!everything && !depends_on_metric(facts_.pods[id])) {
      break;
    }
    add(id);
  }
  for (const PodId id : mentioned_) {
    add(id);
  }
  std::sort(recounts_.begin(), recounts_.end(),
            [](const Recount& a, const Recount& b) { return a.pod < b.pod; });
  recounts_.erase(std::unique(recounts_.begin(), recounts_.end(),
                              [](const Recount& a, const Recount& b) { return a.pod == b.pod; }),
                  recounts_.end());
  for (const Recount& recount : recounts_) {
    uncount(row, recount.pod);
  }
}

void LoadAware::end_recount(std::uint32_t row) {
  for (const Recount& recount : recounts_) {
    if (const bool first = count(row, recount.pod); first != recount.stood_first) {
      facts_.unlink(recount.pod);
      facts_.link(recount.pod, first);
    }
  }
}

void LoadAware::mention(std::uint32_t row, int sign) {
  const MetricFacts* metric = this->metric(row);
  if (metric == nullptr) {
    return;
  }
  facts_.nodes[row].mentions += static_cast<std::uint32_t>(sign);
  for (const MetricFacts::PodUsage& usage : metric->pods) {
    facts_.pods[usage.pod()].mentions += static_cast<std::uint32_t>(sign);
  }
}

void LoadAware::list_mentioned(const MetricFacts* metric) {
  for (std::size_t p = 0; metric != nullptr && p < metric->pods.size(); ++p) {
    mentioned_.push_back(metric->pods[p].pod());
  }
}

std::unique_ptr<MetricFacts> LoadAware::upsert(std::uint32_t row, const NodeMetric& metric,
                                               const std::vector<PodId>& listed,
                                               std::int64_t now_us, bool keep) {
  mentioned_ = listed;
  list_mentioned(this->metric(row));
  std::unique_ptr<MetricFacts> fresh = make_room(row, metric, listed, keep);
  begin_recount(row, !upstream_ && counts_more(row, metric));
  mention(row, -1);
  std::unique_ptr<MetricFacts> before;
  if (fresh != nullptr) {
    before = std::exchange(rows_[row].metric, std::move(fresh));
  }
  set_metric(row, metric);
  mention(row, 1);
  end_recount(row);
  watch_expiry(row, now_us);
  return before;
}

std::unique_ptr<MetricFacts> LoadAware::put(std::uint32_t row, std::unique_ptr<MetricFacts> metric,
                                            std::int64_t now_us) {
  mentioned_.clear();
  list_mentioned(this->metric(row));
  list_mentioned(metric.get());
  make_room_for_one(expiries_);
  begin_recount(row, true);
  mention(row, -1);
  std::unique_ptr<MetricFacts> before = std::exchange(this->row(row).metric, std::move(metric));
  refresh_view(row);
  mention(row, 1);
  end_recount(row);
  watch_expiry(row, now_us);
  return before;
}

void LoadAware::prefetch_metric(std::uint32_t row) const {
  if (const MetricFacts* old = metric(row); old != nullptr) {
    __builtin_prefetch(old, 1);
    __builtin_prefetch(old->pods.data(), 1);
    __builtin_prefetch(old->amounts.data(), 1);
  }
}

std::size_t LoadAware::Identity::hash(const MetricFacts::AllAggregated& aggregated) {
  std::uint64_t hash = aggregated.size();
  for (const MetricFacts::Aggregated& one : aggregated) {
    hash = mix(hash ^ keyed_hash(one.type));
    hash = mix(hash ^ static_cast<std::uint64_t>(one.duration_us));
  }
  return hash;
}

// Of several entries of a pod the last counts, as koord-prod if any says so.
void LoadAware::list_reported(const NodeMetric& metric, const std::vector<PodId>& listed) {
  reported_.clear();
  for (std::size_t p = 0; p < metric.pods.size(); ++p) {
    if (!metric.pods[p].usage.empty()) {
      reported_.push_back({listed[p], metric.pods[p].priority == "koord-prod", p});
    }
  }
  std::sort(reported_.begin(), reported_.end(), [](const Reported& a, const Reported& b) {
    return a.pod != b.pod ? a.pod < b.pod : a.place < b.place;
  });
  std::size_t kept = 0;
  for (const Reported usage : reported_) {
    const bool again = kept != 0 && reported_[kept - 1].pod == usage.pod;
    const bool prod = usage.prod || (again && reported_[kept - 1].prod);
    kept += !again;
    reported_[kept - 1] = {usage.pod, prod, usage.place};
  }
  reported_.resize(kept);
}

std::unique_ptr<MetricFacts> LoadAware::make_room(std::uint32_t row_index, const NodeMetric& metric,
                                                  const std::vector<PodId>& listed, bool keep) {
  list_reported(metric, listed);
  all_aggregated_.clear();
  for (const AggregatedUsage& its : metric.aggregated) {
    for (const auto& [type, usage] : its.usage) {
      if (!usage.empty()) {
        all_aggregated_.push_back({type, its.duration_us});
      }
    }
  }
  MetricFacts* into = row(row_index).metric.get();
  aggregated_now_ = into != nullptr && *into->aggregated == all_aggregated_
                        ? into->aggregated
                        : shared(all_aggregated_);
  std::unique_ptr<MetricFacts> fresh;
  if (keep || into == nullptr) {
    fresh = std::make_unique<MetricFacts>();
    fresh->aggregated = aggregated_now_;
    into = fresh.get();
  }
  make_room_for_one(expiries_);
  into->pods.reserve(reported_.size());
  into->amounts.reserve((2 + all_aggregated_.size() + reported_.size()) * dimensions_.size());
  return fresh;
}

void LoadAware::set_metric(std::uint32_t row, const NodeMetric& metric) {
  MetricFacts& facts = *rows_[row].metric;
  facts.aggregated = std::move(aggregated_now_);
  facts.dimensions = dimension_count();
  facts.pods.clear();
  facts.amounts.clear();
  facts.interval_us = interval_us(metric, upstream_);
  facts.updated_us = metric.update_time_us.value_or(MetricFacts::kZeroTimeUs);
  // Mode Proposal: a report that says nothing has no usage, and is none of an idle node.
  facts.has_usage = metric.has_node_metric && (upstream_ || !metric.node_usage.empty());
  add_usage(facts, metric.node_usage);
  add_usage(facts, metric.system_usage);
  for (const AggregatedUsage& its : metric.aggregated) {
    for (const auto& [type, usage] : its.usage) {
      if (!usage.empty()) {
        add_usage(facts, usage);
      }
    }
  }
  for (const Reported& usage : reported_) {
    facts.pods.emplace_back(usage.pod, usage.prod);
    add_usage(facts, metric.pods[usage.place].usage);
  }
  refresh_view(row);
}

void LoadAware::refresh_view(std::uint32_t row) {
  const MetricFacts* facts = metric(row);
  const std::int64_t never_us = MetricFacts::kZeroTimeUs;
  PodView& view = pod_views_[row];
  view.updated_us = facts == nullptr ? never_us : facts->updated_us;
  view.estimated_after_us = facts == nullptr ? never_us : facts->updated_us - facts->interval_us;
  view.lists_pods = facts != nullptr && !facts->pods.empty();
}

bool LoadAware::counts_more(std::uint32_t row, const NodeMetric& metric) const {
  const std::int64_t updated_us = metric.update_time_us.value_or(MetricFacts::kZeroTimeUs);
  const MetricFacts* old = this->metric(row);
  const std::int64_t estimated_after_us =
      row < pod_views_.size() ? pod_views_[row].estimated_after_us : MetricFacts::kZeroTimeUs;
  return updated_us - interval_us(metric, upstream_) < estimated_after_us ||
         (old != nullptr && old->updated_us > updated_us);
}

// --- The clock ---

std::int64_t LoadAware::expires_us(std::uint32_t row) const {
  const MetricFacts* known = metric(row);
  return known == nullptr || known->updated_us == MetricFacts::kZeroTimeUs
             ? INT64_MAX
             : known->updated_us + micros_of(args_.node_metric_expiration_seconds);
}

void LoadAware::watch_expiry(std::uint32_t row, std::int64_t now_us) {
  const std::int64_t due_us = expires_us(row);
  if (due_us == INT64_MAX || due_us <= now_us) {
    return;
  }
  // Begin anew where entries that lapse outnumber the rows.
  if (expiries_.size() > 4 * facts_.nodes.size() + 1024) {
    expiries_.clear();
    for (std::uint32_t other = 0; other < facts_.nodes.size(); ++other) {
      const std::int64_t other_due_us = expires_us(other);
      if (other != row && other_due_us != INT64_MAX && other_due_us > now_us) {
        expiries_.push_back({other_due_us, other});
      }
    }
    std::make_heap(expiries_.begin(), expiries_.end(), std::greater<>());
  }
  expiries_.push_back({due_us, row});
  std::push_heap(expiries_.begin(), expiries_.end(), std::greater<>());
}

std::uint32_t LoadAware::expire(std::int64_t now_us) {
  while (!expiries_.empty() && expiries_.front().due_us <= now_us) {
    const Expiry due = expiries_.front();
    std::pop_heap(expiries_.begin(), expiries_.end(), std::greater<>());
    expiries_.pop_back();
    if (expires_us(due.row) == due.due_us) {
      return due.row;
    }
  }
  return kNoRow;
}

std::vector<std::uint32_t> LoadAware::expire_again(std::int64_t now_us) {
  std::vector<std::uint32_t> rows;
  expiries_.clear();
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (expires_us(row) != INT64_MAX) {
      watch_expiry(row, now_us);
      rows.push_back(row);
    }
  }
  return rows;
}

bool LoadAware::expired(const MetricFacts& metric, std::int64_t now_us) const {
  return metric.updated_us == MetricFacts::kZeroTimeUs ||
         now_us - metric.updated_us >= micros_of(args_.node_metric_expiration_seconds);
}

}  // namespace headroom
