// LoadAware: the columns of a row, from its metric, its thresholds and the pods that count.
#include <algorithm>
#include <cmath>

#include "engine/policies/load_aware.h"

namespace headroom {

namespace {

constexpr std::int64_t kRejected = -1;

bool all_zero(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

// math.Round(float64(used) / float64(total) * 100) <= threshold
bool passes_in_doubles(std::int64_t used, std::int64_t total, std::int64_t threshold) {
  const double percent = static_cast<double>(used) / static_cast<double>(total) * 100;
  return std::round(percent) <= static_cast<double>(threshold);
}

// The usage of a type over a duration; 0 takes the longest. nullptr: there is none.
const std::int64_t* aggregated_usage(const MetricFacts& metric, const std::string& type,
                                     std::int64_t duration_us) {
  const MetricFacts::AllAggregated& all = *metric.aggregated;
  std::size_t found = all.size();
  for (std::size_t a = 0; a < all.size(); ++a) {
    if (all[a].type == type &&
        (duration_us == 0 ? found == all.size() || all[a].duration_us >= all[found].duration_us
                          : all[a].duration_us == duration_us)) {
      found = a;
    }
  }
  if (found != all.size()) {
    return metric.aggregated_usage(found);
  }
  return duration_us == 0 ? metric.node_usage() : nullptr;
}

}  // namespace

// The largest usage that passes the threshold.
std::int64_t LoadAware::largest_passing(std::int64_t total, std::int64_t threshold) const {
  const Int128 product = static_cast<Int128>(total) * threshold;
  if (!upstream_) {
    // usage * 100 < threshold * total
    const Int128 most = (product - 1) / 100;
    return most >= kUnlimited ? kUnlimited - 1 : static_cast<std::int64_t>(most);
  }
  // Near (threshold + 1/2) percent; doubles decide.
  const Int128 guess = (product * 2 + total) / 200;
  if (guess >= kUnlimited / 2) {
    return kUnlimited;
  }
  if (guess <= -kUnlimited / 2) {
    return -kUnlimited / 2;  // no usage is as low
  }
  auto used = static_cast<std::int64_t>(guess);
  while (passes_in_doubles(used + 1, total, threshold)) {
    ++used;
  }
  while (!passes_in_doubles(used, total, threshold)) {
    --used;
  }
  return used;
}

Int128 LoadAware::added(std::uint32_t row, const Dimension& dimension, Adds adds) const {
  switch (adds) {
    case kNothing:
      return 0;
    case kDelta:
      return table_.exact_sum(row, dimension.delta);
    case kEstimate:
      return table_.exact_sum(row, dimension.estimate);
    case kProdUsage:
      return table_.exact_sum(row, dimension.prod_usage);
    case kProdBoth:
      return table_.exact_sum(row, dimension.prod_usage) +
             table_.exact_sum(row, dimension.prod_delta);
  }
  return 0;
}

// What the report says by itself, and what is to be added, for prod pods: of the pods that it calls
// prod, those that count here.
LoadAware::Usage LoadAware::prod_usage(const MetricFacts& metric, bool with_estimates) const {
  return {args_.prod_usage_include_sys ? metric.system_usage() : nullptr,
          with_estimates ? kProdBoth : kProdUsage};
}

void LoadAware::refresh(std::uint32_t row_index, std::int64_t now_us) {
  if (row(row_index).thresholds != nullptr) {
    refresh_filter(row_index, false, now_us);
    refresh_filter(row_index, true, now_us);
    refresh_score(row_index, now_us);
    refresh_pods(row_index);
  }
}

void LoadAware::refresh_pods(std::uint32_t row) {
  if (row >= pod_views_.size()) {
    return;
  }
  const PodView& view = pod_views_[row];
  for (std::uint8_t use = 0; use < uses_; ++use) {
    for (const Dimension& dimension : dimensions_) {
      table_.set_sum(
          row, dimension.used[use],
          table_.exact_sum(row, dimension.reported[use]) + added(row, dimension, view.adds[use]));
    }
  }
}

void LoadAware::set_usage(std::uint32_t row, Use use, const Usage& usage) {
  pod_views_[row].adds[use] = usage.adds;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    table_.set_sum(row, dimensions_[d].reported[use],
                   usage.reported != nullptr ? usage.reported[d] : 0);
  }
}

std::int64_t LoadAware::estimated(std::uint32_t row, const Dimension& dimension) const {
  const bool scored = row < pod_views_.size() && pod_views_[row].adds[kScore] != kNothing;
  return table_.sum(row, scored ? dimension.used[kScore] : dimension.estimate);
}

void LoadAware::add_figures(ResourceId resource, NodeFigures& figures) const {
  for (const Dimension& dimension : dimensions_) {
    for (std::uint32_t row = 0; dimension.resource == resource && row < table_.size(); ++row) {
      figures.estimated.push_back(estimated(row, dimension));
    }
  }
}

void LoadAware::refresh_filter(std::uint32_t row_index, bool for_prod, std::int64_t now_us) {
  const Row& row = rows_[row_index];
  const MetricFacts* metric = row.metric.get();
  const Thresholds& thresholds = *row.thresholds;
  const bool prod = for_prod && !all_zero(thresholds.prod);
  const bool aggregated = !prod && thresholds.has_aggregated;
  const Vector& chosen =
      prod ? thresholds.prod : (aggregated ? thresholds.aggregated : thresholds.usage);
  // Mode Upstream: thresholds that are all 0 switch even the expiry off.
  const bool off = metric == nullptr || (upstream_ && all_zero(chosen));
  const bool stale = !off && args_.filter_expired_node_metrics && expired(*metric, now_us);
  const auto set_base = [&](ColumnId column, std::int64_t base) {
    table_.set_base(row_index, table_.base_of(column), base);
  };
  set_base(for_prod ? prod_expired_ : expired_,
           stale && !args_.enable_schedule_when_node_metrics_expired ? kRejected : kUnlimited);
  Usage usage;
  bool checked = !off && !stale && metric->has_usage;
  if (checked && prod) {
    usage = prod_usage(*metric, upstream_);
  } else if (checked) {
    usage.reported = aggregated ? aggregated_usage(*metric, thresholds.aggregation_type,
                                                   thresholds.aggregated_duration_us)
                                : metric->node_usage();
    checked = usage.reported != nullptr || upstream_;
    usage.adds = !upstream_ ? kNothing : (usage.reported != nullptr ? kDelta : kEstimate);
  }
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const std::int64_t total = this->total(row_index, dimension);
    const std::int64_t most =
        checked && chosen[d] != 0 && total != 0 ? largest_passing(total, chosen[d]) : kUnlimited;
    set_base(for_prod ? dimension.prod_filter : dimension.filter, aggregated ? kUnlimited : most);
    set_base(for_prod ? dimension.prod_aggregated_filter : dimension.aggregated_filter,
             aggregated ? most : kUnlimited);
  }
  set_usage(row_index, for_prod ? kProdFilter : kFilter, checked ? usage : Usage());
}

void LoadAware::refresh_score(std::uint32_t row_index, std::int64_t now_us) {
  const MetricFacts* metric = rows_[row_index].metric.get();
  const bool scored = metric != nullptr && metric->has_usage && !expired(*metric, now_us);
  const bool aggregated = args_.aggregated && !args_.aggregated->score_aggregation_type.empty();
  Usage usage;
  if (scored) {
    usage.reported = aggregated
                         ? aggregated_usage(*metric, args_.aggregated->score_aggregation_type,
                                            args_.aggregated->score_aggregated_duration_us)
                         : metric->node_usage();
    usage.adds = usage.reported != nullptr ? kDelta : kEstimate;
  }
  set_usage(row_index, kScore, usage);
  if (args_.score_according_prod_usage) {
    set_usage(row_index, kProdScore, scored ? prod_usage(*metric, true) : Usage());
  }
  for (const Dimension& dimension : dimensions_) {
    const std::int64_t base = scored ? total(row_index, dimension) : kNoScore;
    table_.set_base(row_index, table_.base_of(dimension.score), base);
    table_.set_base(row_index, table_.base_of(dimension.prod_score), base);
  }
}

}  // namespace headroom
