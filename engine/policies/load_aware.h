// LoadAwareScheduling: keeps measured usage below thresholds, and prefers nodes whose usage, with
// the estimates of pods that no report holds yet, is least.
//
// Source: the seed load-aware-scheduling and proposal-rules (mode Proposal); koordinator's
// loadaware plugin at a7a1b76b (mode Upstream).
//
// A dimension is a resource that the arguments name. Per row the policy keeps four sums by
// dimension that pods add to (see Sums) and the metric's own figures; refresh() makes of them the
// columns that filters and scores read, one set for prod pods and one for the others. What a metric
// lists it mentions (PodFacts::mentions, NodeFacts::mentions): who released a name because of it is
// the cluster.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/kept/shared_values.h"
#include "engine/limits.h"
#include "engine/policies/policy.h"

namespace headroom {

// A NodeMetric in the resources' units. A usage is one amount per dimension.
struct MetricFacts {
  // A pod whose usage is reported, maybe as koord-prod.
  class PodUsage {
   public:
    PodUsage(PodId pod, bool prod) : value_(pod << 1 | static_cast<std::uint32_t>(prod)) {}
    PodId pod() const { return value_ >> 1; }
    bool prod() const { return (value_ & 1) != 0; }

   private:
    std::uint32_t value_;
  };
  static_assert(kPodsMax < 1U << 31);
  struct Aggregated {
    std::string type;
    std::int64_t duration_us;
    friend bool operator==(const Aggregated&, const Aggregated&) = default;
  };
  using AllAggregated = std::vector<Aggregated>;

  std::int64_t interval_us = 0;
  std::int64_t updated_us = kZeroTimeUs;
  bool has_usage = false;  // status.nodeMetric is there
  std::uint32_t dimensions = 0;
  std::shared_ptr<const AllAggregated> aggregated;  // once for all nodes that report alike
  std::vector<PodUsage> pods;  // sorted by pod, each once; without those that report no usage
  std::vector<std::int64_t> amounts;  // usages: the node's, the system's, aggregated ones, pods'

  const std::int64_t* node_usage() const { return amounts.data(); }
  const std::int64_t* system_usage() const { return amounts.data() + dimensions; }
  const std::int64_t* aggregated_usage(std::size_t number) const {
    return amounts.data() + (2 + number) * dimensions;
  }
  const std::int64_t* usage_of(const PodUsage& pod) const {
    return aggregated_usage(aggregated->size() + static_cast<std::size_t>(&pod - pods.data()));
  }

  // Go's zero time, 0001-01-01: when a metric without updateTime was updated.
  static constexpr std::int64_t kZeroTimeUs = -62'135'596'800'000'000;
};

// What a score column starts from where no usage is known: below any usage, so that it scores 0.
inline constexpr std::int64_t kNoScore = INT64_MIN / 4;

// Whole seconds of an argument, an annotation or a metric; of more than 30,000 years, as those.
std::int64_t micros_of(std::int64_t seconds);

class LoadAware final : public Policy {
 public:
  explicit LoadAware(const PolicyContext& context);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  void describe(const Pod& pod, PodShape& shape) override;
  void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;
  void notes(std::uint32_t row, const NodeFacts& node, std::vector<Note>& out) const override;

  bool count(std::uint32_t row, PodId id) override;
  void uncount(std::uint32_t row, PodId id) override;
  void refresh(std::uint32_t row, std::int64_t now_us) override;
  void refresh_pods(std::uint32_t row) override;
  void add_figures(ResourceId resource, NodeFigures& figures) const override;

  // --- Metrics ---
  // Takes the metric in the place of the row's, counts those pods of the row again that it makes
  // count in another way, and watches when it expires. `listed`: the pods of metric.pods, side by
  // side. Returns the metric of before if it is to be kept (nullptr: there was none).
  std::unique_ptr<MetricFacts> upsert(std::uint32_t row, const NodeMetric& metric,
                                      const std::vector<PodId>& listed, std::int64_t now_us,
                                      bool keep);
  // The same of what was worked out before; nullptr: the row has a metric no more.
  std::unique_ptr<MetricFacts> put(std::uint32_t row, std::unique_ptr<MetricFacts> metric,
                                   std::int64_t now_us);
  // Of the last upsert() or put(): the pods that one of the two metrics lists; some twice.
  const std::vector<PodId>& mentioned() const { return mentioned_; }
  const MetricFacts* metric(std::uint32_t row) const {
    return row < rows_.size() ? rows_[row].metric.get() : nullptr;
  }
  // What an upsert() of a metric replaces.
  void prefetch_metric(std::uint32_t row) const;
  // What an event of a pod reads of the row.
  void prefetch(std::uint32_t row) const {
    if (row < pod_views_.size()) {
      __builtin_prefetch(&pod_views_[row]);
      __builtin_prefetch(&rows_[row]);
    }
  }
  std::uint32_t dimension_count() const { return static_cast<std::uint32_t>(dimensions_.size()); }
  std::shared_ptr<const MetricFacts::AllAggregated> shared(
      const MetricFacts::AllAggregated& aggregated) {
    return aggregated_.share(aggregated);
  }

  // --- The clock ---
  // Has expire() name the row when its metric expires; does nothing where it never does, or has.
  void watch_expiry(std::uint32_t row, std::int64_t now_us);
  // The next row whose metric has expired by now; kNoRow: none is left. A row whose metric was sent
  // again with the same time may come twice.
  std::uint32_t expire(std::int64_t now_us);
  // The clock was put back: the rows whose metrics ever expire; they are watched anew.
  std::vector<std::uint32_t> expire_again(std::int64_t now_us);

  // True if a metric of another age or interval would count the pod in another way, though it does
  // not list it. Such pods stand first on their row.
  bool depends_on_metric(const PodFacts& pod) const { return pod.load.delta && !upstream_; }

 private:
  std::set<std::string> unchecked_resources(const NodeFacts& node) const;
  using Vector = std::vector<std::int64_t>;
  // What usage is looked at for; the last of it only where the arguments ask for it.
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

  struct Identity {
    static std::size_t hash(const MetricFacts::AllAggregated& aggregated);
    static bool equal(const MetricFacts::AllAggregated& a, const MetricFacts::AllAggregated& b) {
      return a == b;
    }
  };
  // A pod that a metric lists, and its place there.
  struct Reported {
    PodId pod;
    bool prod;
    std::size_t place;
  };
  // A pod that a new metric of its row may count in another way.
  struct Recount {
    PodId pod;
    bool stood_first;  // among the pods of its row
  };
  // Rows whose metrics expire; a heap, the next one first. Entries of metrics that were replaced
  // since lapse when they fall due.
  struct Expiry {
    std::int64_t due_us;
    std::uint32_t row;
    friend auto operator<=>(const Expiry&, const Expiry&) = default;
  };

  Row& row(std::uint32_t row);
  // True if the metric may make pods count that the row's metric of now does not: it is older, or
  // covers more. A newer report only ever stops estimates of pods that it does not list.
  bool counts_more(std::uint32_t row, const NodeMetric& metric) const;
  // Between them the row's metric may change: the load of those pods is taken away that it may
  // count in another way. They are all pods of the row, or those that `mentioned_` names and that
  // count by the metric's age.
  void begin_recount(std::uint32_t row, bool everything);
  void end_recount(std::uint32_t row);
  // All of a new metric that may fail for want of memory, before anything changes: what it lists,
  // and room for it in the row's; or in the one returned, which is to take that one's place.
  std::unique_ptr<MetricFacts> make_room(std::uint32_t row, const NodeMetric& metric,
                                         const std::vector<PodId>& listed, bool keep);
  void set_metric(std::uint32_t row, const NodeMetric& metric);
  void list_reported(const NodeMetric& metric, const std::vector<PodId>& listed);
  // The row's metric begins (1) or ends (-1) to mention its row and the pods that it lists.
  void mention(std::uint32_t row, int sign);
  void list_mentioned(const MetricFacts* metric);
  // When the row's metric expires; INT64_MAX if never (or it has none).
  std::int64_t expires_us(std::uint32_t row) const;
  void refresh_view(std::uint32_t row);
  void add_usage(MetricFacts& facts, const ResourceList& usage) const;
  Vector vector_of(const ResourcePercents& percents) const;
  Thresholds thresholds_of(const StringMap& annotations) const;
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
  LoadApplied load_of(std::uint32_t row, PodId id) const;
  void change_pod(std::uint32_t row, PodId id, const LoadApplied& load, int sign);
  // What the score takes as the row's usage of the dimension; where no report says it, all
  // estimates.
  std::int64_t estimated(std::uint32_t row, const Dimension& dimension) const;

  const Profile& profile_;
  const LoadAwareArgs& args_;
  const bool upstream_;
  const std::uint8_t uses_;  // how many, the first ones
  ResourceNames& names_;
  NodeTable& table_;
  Facts& facts_;
  std::vector<Dimension> dimensions_;  // sorted by resource name
  ColumnId expired_ = kNoColumn, prod_expired_ = kNoColumn;
  std::shared_ptr<const Thresholds> default_thresholds_;  // of nodes without an annotation
  std::vector<Row> rows_;
  std::vector<PodView> pod_views_;  // by row
  std::vector<Expiry> expiries_;
  std::vector<PodId> mentioned_;
  SharedValues<MetricFacts::AllAggregated, Identity> aggregated_;
  // Scratch.
  std::vector<Recount> recounts_;
  std::vector<Reported> reported_;
  MetricFacts::AllAggregated all_aggregated_;
  std::shared_ptr<const MetricFacts::AllAggregated> aggregated_now_;  // equal to them
};

}  // namespace headroom
