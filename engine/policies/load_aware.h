// LoadAwareScheduling: keeps measured usage below thresholds, and prefers nodes whose usage, with
// the estimates of pods that no report holds yet, is least.
//
// Source: the seed load-aware-scheduling and proposal-rules (mode Proposal); koordinator's
// loadaware plugin at a7a1b76b (mode Upstream).
//
// A dimension is a resource that the arguments name. Per row the policy keeps four sums by
// dimension that pods add to (see Sums) and the metric's own figures; refresh() makes of them the
// columns that filters and scores read, one set for prod pods and one for the others.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/policies/policy.h"

namespace headroom {

// A NodeMetric in the resources' units. A usage is one amount per dimension.
struct MetricFacts {
  struct PodUsage {
    PodId pod;
    bool prod;            // reported as koord-prod
    std::uint32_t usage;  // where it begins in amounts
  };
  struct Aggregated {
    std::string type;
    std::int64_t duration_us;
    std::uint32_t usage;
  };
  std::int64_t interval_us = 0;
  std::int64_t updated_us = kZeroTimeUs;
  bool has_usage = false;  // status.nodeMetric is there
  std::uint32_t node_usage = 0, system_usage = 0;
  std::vector<Aggregated> aggregated;
  std::vector<PodUsage> pods;  // sorted by pod, each once; without those that report no usage
  std::vector<std::int64_t> amounts;

  const std::int64_t* at(std::uint32_t usage) const { return amounts.data() + usage; }

  // Go's zero time, 0001-01-01: when a metric without updateTime was updated.
  static constexpr std::int64_t kZeroTimeUs = -62'135'596'800'000'000;
};

// What a score column starts from where no usage is known: below any usage, so that it scores 0.
inline constexpr std::int64_t kNoScore = INT64_MIN / 4;

class LoadAware final : public Policy {
 public:
  LoadAware(const Profile& profile, ResourceNames& names, NodeTable& table);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  bool describe(const Pod& pod, PodShape& shape) override;
  void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;
  void notes(std::uint32_t row, const NodeFacts& node, std::vector<Note>& out) const override;

  // --- Metrics. `pod_ids` side by side with metric.pods. ---
  void set_metric(std::uint32_t row, const NodeMetric& metric, const std::vector<PodId>& pod_ids);
  // What takes its place is put before anything else is asked.
  std::unique_ptr<MetricFacts> take_metric(std::uint32_t row) {
    return std::move(this->row(row).metric);
  }
  void put_metric(std::uint32_t row, std::unique_ptr<MetricFacts> metric);  // nullptr: none
  std::uint32_t dimension_count() const { return static_cast<std::uint32_t>(dimensions_.size()); }
  // True if the metric may make pods count that the row's metric of now does not: it is older, or
  // covers more. A newer report only ever stops estimates of pods that it does not list.
  bool counts_more(std::uint32_t row, const NodeMetric& metric) const;
  const MetricFacts* metric(std::uint32_t row) const {
    return row < rows_.size() ? rows_[row].metric.get() : nullptr;
  }
  // When the row's metric expires; INT64_MAX if never (or it has).
  std::int64_t expires_us(std::uint32_t row) const;

  // --- Pods that count on a row. The caller takes a pod's load away before anything of it changes.
  void add_pod(std::uint32_t row, const PodShape& shape, PodId id, PodFacts& pod);
  void remove_pod(std::uint32_t row, const PodShape& shape, PodId id, PodFacts& pod);
  // True if a metric of another age or interval would count the pod in another way, though it does
  // not list it.
  bool depends_on_metric(const PodFacts& pod) const { return pod.load.delta && !upstream_; }
  // From when on an unlisted pod counts: pods that were assigned later than this.
  std::int64_t estimated_after_us(std::uint32_t row) const {
    return row < pod_views_.size() ? pod_views_[row].estimated_after_us : MetricFacts::kZeroTimeUs;
  }

  // What the score takes as the row's usage of the resource; where no report says it, all
  // estimates. nullopt: the resource is no dimension.
  std::optional<std::int64_t> estimated(std::uint32_t row, ResourceId resource) const;

  // Derives the row's columns: from its node, metric and the clock, and from its pods. Before the
  // row is committed, whichever of them changed.
  void refresh(std::uint32_t row, std::int64_t now_us);
  void refresh_pods(std::uint32_t row);

 private:
  using Vector = std::vector<std::int64_t>;
  // What usage is looked at for.
  enum Use : std::uint8_t { kFilter, kProdFilter, kScore, kProdScore, kUses };

  // Per dimension.
  struct Dimension {
    ResourceId resource;
    std::int64_t weight = 0;
    // What pods add up to: all estimates; estimates beyond reported usage where they count; the
    // same and the reported usage among prod pods.
    SumId estimate, delta, prod_delta, prod_usage;
    // What columns start from is taken off: usage of the filter and of the score.
    SumId used[kUses];
    // The part of it that the report says by itself.
    SumId reported[kUses];
    ColumnId capacity, score, prod_score;
    // A row is checked by its plain or by its aggregated thresholds: kUnlimited in the other
    // column.
    ColumnId filter, aggregated_filter, prod_filter, prod_aggregated_filter;
  };
  // Thresholds of a node, by dimension; empty: the check is off.
  struct Thresholds {
    Vector usage, prod, aggregated;
    std::string aggregation_type;
    std::int64_t aggregated_duration_us = 0;
    bool has_aggregated = false;
    bool ignored = false;
  };
  // What pods add to reported usage.
  enum Adds : std::uint8_t {
    kNothing,
    kDelta,      // estimates beyond reported usage
    kEstimate,   // all estimates, instead of a report
    kProdUsage,  // reported usage of the prod pods that count here
    kProdBoth,   // that, and their estimates beyond it
  };
  // What a column takes off its base: reported usage (nullptr: none), and what pods add to it.
  struct Usage {
    const std::int64_t* reported = nullptr;
    Adds adds = kNothing;
  };
  struct Row {
    std::unique_ptr<MetricFacts> metric;
    std::shared_ptr<const Thresholds> thresholds;  // nullptr without a node
  };
  // What events of pods need of a row, together in memory.
  struct PodView {
    std::int64_t estimated_after_us = MetricFacts::kZeroTimeUs;
    std::int64_t updated_us = MetricFacts::kZeroTimeUs;
    bool lists_pods = false;  // the metric reports pods' usage
    Adds adds[kUses] = {};
  };

  Row& row(std::uint32_t row);
  void refresh_view(std::uint32_t row);
  std::uint32_t add_usage(MetricFacts& facts, const ResourceList& usage) const;
  Vector vector_of(const ResourcePercents& percents) const;
  Thresholds thresholds_of(const Node& node) const;
  // Allocatable, or raw allocatable.
  std::int64_t total(std::uint32_t row, const Dimension& dimension) const {
    return table_.truth(row, dimension.capacity);
  }
  bool expired(const MetricFacts& metric, std::int64_t now_us) const;
  std::int64_t largest_passing(std::int64_t total, std::int64_t threshold) const;
  Int128 added(std::uint32_t row, const Dimension& dimension, Adds adds) const;
  void set_usage(std::uint32_t row, Use use, const Usage& usage);
  Usage prod_usage(const MetricFacts& metric, bool with_estimates) const;
  void refresh_filter(std::uint32_t row, bool for_prod, std::int64_t now_us);
  void refresh_score(std::uint32_t row, std::int64_t now_us);
  const MetricFacts::PodUsage* reported(std::uint32_t row, PodId id) const;
  LoadApplied load_of(std::uint32_t row, const PodShape& shape, PodId id,
                      const PodFacts& pod) const;
  void change_pod(std::uint32_t row, const PodShape& shape, PodId id, const LoadApplied& load,
                  int sign);

  const Profile& profile_;
  const LoadAwareArgs& args_;
  const bool upstream_;
  ResourceNames& names_;
  NodeTable& table_;
  std::vector<Dimension> dimensions_;  // sorted by resource name
  ColumnId expired_ = kNoColumn, prod_expired_ = kNoColumn;
  std::shared_ptr<const Thresholds> default_thresholds_;  // of nodes without an annotation
  std::vector<Row> rows_;
  std::vector<PodView> pod_views_;  // by row
};

}  // namespace headroom
