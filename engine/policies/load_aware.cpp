#include "engine/policies/load_aware.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <set>

#include "engine/policies/load_estimate.h"
#include "engine/policies/usage_thresholds.h"
#include "objects/annotations.h"
#include "objects/pod_resources.h"
#include "objects/text/whole_number.h"

namespace headroom {

namespace {

// What explain() says of what could not be read.
std::string ignored(std::string_view what, std::string_view name, std::string_view value) {
  return fmt::format("{} {}={}", what, name, value);
}

// Go's zero-based seconds of an annotation; negative where it is absent or no whole number, which
// is noted.
std::int64_t seconds_of(const Pod& pod, std::string_view annotation,
                        std::vector<std::string>& notes) {
  const std::string* text = find(pod.annotations, annotation);
  if (text == nullptr) {
    return -1;
  }
  const std::optional<std::int64_t> value = whole_number(*text);
  if (!value) {
    notes.push_back(ignored("annotation", annotation, *text));
  }
  return value.value_or(-1);
}

std::int64_t beyond(std::int64_t estimate, std::int64_t usage) {
  return std::max<std::int64_t>(0, saturated(static_cast<Int128>(estimate) - usage));
}

}  // namespace

LoadAware::LoadAware(const PolicyContext& context)
    : profile_(context.profile),
      args_(profile_.load_aware),
      upstream_(profile_.mode == Mode::kUpstream),
      uses_(args_.score_according_prod_usage ? kUses : kProdScore),
      names_(context.names),
      table_(context.table),
      facts_(context.facts) {
  std::set<std::string> resources = {"cpu", "memory"};
  const auto add_keys = [&](const auto& map) {
    for (const auto& [name, value] : map) {
      resources.insert(name);
    }
  };
  add_keys(args_.usage_thresholds);
  add_keys(args_.prod_usage_thresholds);
  add_keys(args_.aggregated ? args_.aggregated->usage_thresholds : ResourcePercents());
  add_keys(args_.resource_weights);
  add_keys(args_.estimated_scaling_factors);
  resources.insert(args_.supported_resources.begin(), args_.supported_resources.end());

  const SumId nothing = table_.add_sum("load expired");
  expired_ = table_.add_headroom(table_.add_base(kUnlimited), nothing);
  prod_expired_ = table_.add_headroom(table_.add_base(kUnlimited), nothing);
  for (const std::string& name : resources) {
    Dimension added{};
    added.resource = names_.pin(name);
    const auto weight = args_.resource_weights.find(name);
    added.weight = weight == args_.resource_weights.end() ? 0 : weight->second;
    const auto sum = [&](const char* what) { return table_.add_sum(what + name); };
    const auto headroom = [&](SumId used, std::int64_t initial) {
      return table_.add_headroom(table_.add_base(initial), used);
    };
    added.estimate = sum("load estimate ");
    added.delta = sum("load delta ");
    added.prod_delta = sum("load prod delta ");
    added.prod_usage = sum("load prod usage ");
    constexpr const char* kUseNames[kUses] = {"filter ", "prod filter ", "score ", "prod score "};
    for (std::uint8_t use = 0; use < uses_; ++use) {
      added.used[use] = table_.add_sum(std::string("load used ") + kUseNames[use] + name);
      added.reported[use] = table_.add_sum(std::string("load reported ") + kUseNames[use] + name);
    }
    added.capacity = table_.add_capacity(table_.add_base(0));
    added.filter = headroom(added.used[kFilter], kUnlimited);
    added.aggregated_filter = headroom(added.used[kFilter], kUnlimited);
    added.prod_filter = headroom(added.used[kProdFilter], kUnlimited);
    added.prod_aggregated_filter = headroom(added.used[kProdFilter], kUnlimited);
    added.score = headroom(added.used[kScore], kNoScore);
    added.prod_score =
        args_.score_according_prod_usage ? headroom(added.used[kProdScore], kNoScore) : added.score;
    dimensions_.push_back(added);
  }
  default_thresholds_ = std::make_shared<const Thresholds>(thresholds_of({}));
}

LoadAware::Row& LoadAware::row(std::uint32_t row) {
  if (row >= rows_.size()) {
    rows_.resize(row + 1);
    pod_views_.resize(row + 1);
  }
  return rows_[row];
}

void LoadAware::add_usage(MetricFacts& facts, const ResourceList& usage) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    // Mostly a report names these and no others, in the same order.
    const std::string& name = names_.name(dimensions_[d].resource);
    const Quantity* quantity =
        d < usage.size() && usage[d].first == name ? &usage[d].second : find(usage, name);
    facts.amounts.push_back(quantity == nullptr ? 0 : amount(dimensions_[d].resource, *quantity));
  }
}

LoadAware::Vector LoadAware::vector_of(const ResourcePercents& percents) const {
  Vector result;
  for (const Dimension& dimension : dimensions_) {
    const auto found = percents.find(names_.name(dimension.resource));
    result.push_back(found == percents.end() ? 0 : found->second);
  }
  return result;
}

// --- Nodes ---

LoadAware::Thresholds LoadAware::thresholds_of(const StringMap& annotations) const {
  Thresholds result;
  ResourcePercents usage = args_.usage_thresholds, prod = args_.prod_usage_thresholds, aggregated;
  if (args_.aggregated && !args_.aggregated->usage_thresholds.empty() &&
      !args_.aggregated->usage_aggregation_type.empty()) {
    aggregated = args_.aggregated->usage_thresholds;
    result.aggregation_type = args_.aggregated->usage_aggregation_type;
    result.aggregated_duration_us = args_.aggregated->usage_aggregated_duration_us;
  }
  if (const std::string* json = find(annotations, kUsageThresholdsAnnotation); json != nullptr) {
    const auto own = parse_usage_thresholds(*json, profile_.mode);
    result.ignored = !own.has_value();
    if (own) {
      usage = own->usage.empty() ? usage : own->usage;
      prod = own->prod.empty() ? prod : own->prod;
      if (!own->aggregated.empty() && !own->aggregation_type.empty()) {
        aggregated = own->aggregated;
        result.aggregation_type = own->aggregation_type;
        result.aggregated_duration_us = own->aggregated_duration_us;
      }
    }
  }
  result.usage = vector_of(usage);
  result.prod = vector_of(prod);
  result.aggregated = vector_of(aggregated);
  result.has_aggregated = !result.aggregation_type.empty();
  return result;
}

bool LoadAware::set_node(std::uint32_t row_index, const NodeFacts& facts) {
  const KeptNode& node = *facts.node;
  Row& row = this->row(row_index);
  row.thresholds =
      find(node.traits->annotations, kUsageThresholdsAnnotation) == nullptr
          ? default_thresholds_
          : std::make_shared<const Thresholds>(thresholds_of(node.traits->annotations));
  bool ignored = row.thresholds->ignored;
  std::optional<ResourceList> raw;
  if (const std::string* json = find(node.traits->annotations, kRawAllocatableAnnotation);
      json != nullptr) {
    auto parsed = parse_resource_list(*json, profile_.mode);
    ignored |= !parsed.has_value();
    raw = parsed ? std::optional(std::move(*parsed)) : std::nullopt;
  }
  for (const Dimension& dimension : dimensions_) {
    const std::string& name = names_.name(dimension.resource);
    const Quantity* own = raw ? find(*raw, name) : nullptr;
    const Quantity* total = own != nullptr ? own : find(node.traits->allocatable, name);
    table_.set_base(row_index, table_.base_of(dimension.capacity),
                    total == nullptr ? 0 : amount(dimension.resource, *total));
  }
  return ignored;
}

void LoadAware::notes(std::uint32_t row, const NodeFacts& node, std::vector<Note>& out) const {
  const MetricFacts* known = metric(row);
  const PluginId plugin = PluginId::kLoadAwareScheduling;
  if (known == nullptr) {
    out.push_back({plugin, "no NodeMetric: the filter passes, the score is 0"});
  } else if (!known->has_usage) {
    out.push_back({plugin, "the NodeMetric has no usage: the filter passes, the score is 0"});
  }
  const Thresholds& thresholds = *rows_[row].thresholds;
  const auto add_thresholds = [&](const char* what, const Vector& percents) {
    std::string text;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      if (percents[d] != 0) {
        text += (text.empty() ? "" : ", ") + names_.name(dimensions_[d].resource) + " " +
                std::to_string(percents[d]) + " % of " + std::to_string(total(row, dimensions_[d]));
      }
    }
    if (!text.empty()) {
      out.push_back({plugin, what + text});
    }
  };
  add_thresholds("usage thresholds: ", thresholds.usage);
  add_thresholds("usage thresholds of prod pods: ", thresholds.prod);
  add_thresholds("aggregated usage thresholds: ", thresholds.aggregated);
  for (const std::string_view key : {kUsageThresholdsAnnotation, kRawAllocatableAnnotation}) {
    if (const std::string* text = find(node.node->traits->annotations, key); text != nullptr) {
      const bool good = key == kUsageThresholdsAnnotation
                            ? parse_usage_thresholds(*text, profile_.mode).has_value()
                            : parse_resource_list(*text, profile_.mode).has_value();
      out.push_back({plugin, std::string(good ? "annotation " : "ignored: annotation ") +
                                 std::string(key) + "=" + *text});
    }
  }
  for (const std::string& name : unchecked_resources(node)) {
    out.push_back({plugin, "no argument names " + name + ": its threshold is not checked"});
  }
}

// Of the node's own thresholds; sorted.
std::set<std::string> LoadAware::unchecked_resources(const NodeFacts& node) const {
  std::set<std::string> names;
  const std::string* json = find(node.node->traits->annotations, kUsageThresholdsAnnotation);
  const auto own = json == nullptr ? std::nullopt : parse_usage_thresholds(*json, profile_.mode);
  if (!own) {
    return names;
  }
  for (const ResourcePercents* percents : {&own->usage, &own->prod, &own->aggregated}) {
    for (const auto& its : *percents) {
      const auto names_it = [&](const Dimension& dimension) {
        return names_.name(dimension.resource) == its.first;
      };
      if (its.second != 0 && std::none_of(dimensions_.begin(), dimensions_.end(), names_it)) {
        names.insert(its.first);
      }
    }
  }
  return names;
}

// --- Pods ---

void LoadAware::describe(const Pod& pod, PodShape& shape) {
  LoadShape& load = shape.load;
  const std::string* reserve = find(pod.annotations, kReservePodAnnotation);
  load.counted = !upstream_ || reserve == nullptr || *reserve != "true";
  for (const auto& [label, value] : unknown_labels(pod)) {
    shape.ignored.push_back(ignored("label", label, value));
  }
  load.prod = priority_class(pod) == KoordPriorityClass::kProd;
  const KoordPriorityClass its_class =
      upstream_ ? priority_class(pod) : explicit_priority_class(pod);

  std::map<std::string, std::int64_t> factors = args_.estimated_scaling_factors;
  std::int64_t after_initialized = -1, after_scheduled = -1;
  if (args_.allow_customize_estimation) {
    if (const std::string* json = find(pod.annotations, kEstimatedScalingFactorsAnnotation);
        json != nullptr) {
      const auto own = parse_factors(*json);
      if (!own) {
        shape.ignored.push_back(ignored("annotation", kEstimatedScalingFactorsAnnotation, *json));
      }
      for (const auto& [name, factor] : own.value_or(std::map<std::string, std::int64_t>())) {
        factors[name] = factor;
      }
    }
    after_initialized = seconds_of(pod, kEstimatedSecondsAfterInitializedAnnotation, shape.ignored);
    after_scheduled = seconds_of(pod, kEstimatedSecondsAfterPodScheduledAnnotation, shape.ignored);
  }
  if (after_initialized < 0) {
    after_initialized = args_.estimated_seconds_after_initialized.value_or(0);
  }
  if (after_scheduled < 0) {
    after_scheduled = args_.estimated_seconds_after_pod_scheduled.value_or(0);
  }
  load.after_initialized_us = micros_of(std::max<std::int64_t>(0, after_initialized));
  load.after_scheduled_us = micros_of(std::max<std::int64_t>(0, after_scheduled));

  const ResourceList requests = pod_requests(pod), limits = pod_limits(pod);
  for (const Dimension& dimension : dimensions_) {
    const std::string& resource = names_.name(dimension.resource);
    const auto factor = factors.find(resource);
    std::int64_t estimate = 0;
    if (factor != factors.end() || !upstream_) {
      const std::string_view name = translated_resource(resource, its_class);
      const Quantity* request = find(requests, name);
      const Quantity* limit = find(limits, name);
      estimate = estimated_usage(name, request != nullptr ? *request : Quantity(),
                                 limit != nullptr ? *limit : Quantity(),
                                 factor != factors.end() ? factor->second : 100, profile_.mode);
    }
    load.estimate.push_back(estimate);
    if (load.counted && estimate != 0) {
      shape.contributions.push_back({dimension.estimate, estimate});
    }
  }
  load.estimated = std::any_of(load.estimate.begin(), load.estimate.end(),
                               [](std::int64_t value) { return value != 0; });
}

void LoadAware::add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) {
  if (pod.daemon_set) {
    return;
  }
  PodShape own;
  describe(pod, own);
  const bool prod = own.load.prod;
  builder.add_filter_term(
      {plugin, "", Code::kUnschedulable, kNoColumn, "node(s) nodeMetric expired"},
      prod ? prod_expired_ : expired_, 0);
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const auto add = [&](const char* usage, ColumnId column) {
      builder.add_filter_term({plugin, names_.name(dimension.resource), Code::kUnschedulable,
                               kNoColumn, "node(s) " + names_.name(dimension.resource) + usage},
                              column, upstream_ ? own.load.estimate[d] : 0);
    };
    add(" usage exceed threshold", prod ? dimension.prod_filter : dimension.filter);
    add(" aggregated usage exceed threshold",
        prod ? dimension.prod_aggregated_filter : dimension.aggregated_filter);
  }
  builder.end_filter(true);
}

void LoadAware::add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) {
  PodShape own;
  describe(pod, own);
  const bool prod = args_.score_according_prod_usage && own.load.prod;
  Score score{};
  score.kind = ScoreKind::kLeast;
  score.zero_capacity_counts = upstream_;
  score.at_most_100 = !upstream_;
  score.dominant_weight = static_cast<std::int32_t>(args_.dominant_resource_weight);
  std::vector<ScoreTerm> terms;
  std::vector<ResourceId> resources;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    if (dimension.weight != 0 || score.dominant_weight != 0) {
      terms.push_back(score_term(prod ? dimension.prod_score : dimension.score, dimension.capacity,
                                 own.load.estimate[d], dimension.weight));
      resources.push_back(dimension.resource);
    }
  }
  builder.add_score(plugin.plugin, plugin.weight, score, std::move(terms), std::move(resources),
                    false);
}

// What the row's metric says of the pod; nullptr: nothing.
const MetricFacts::PodUsage* LoadAware::reported(std::uint32_t row, PodId id) const {
  if (row >= pod_views_.size() || !pod_views_[row].lists_pods) {
    return nullptr;
  }
  const std::vector<MetricFacts::PodUsage>& listed = rows_[row].metric->pods;
  const auto found =
      std::lower_bound(listed.begin(), listed.end(), id,
                       [](const auto& usage, PodId wanted) { return usage.pod() < wanted; });
  return found != listed.end() && found->pod() == id ? &*found : nullptr;
}

void LoadAware::change_pod(std::uint32_t row, PodId id, const LoadApplied& load, int sign) {
  if (!load.delta && !load.prod_delta && !load.prod_usage) {
    return;
  }
  const LoadShape& its = facts_.shape_of(id).load;
  const MetricFacts::PodUsage* its_report = reported(row, id);
  const std::int64_t* reported_usage =
      its_report != nullptr ? rows_[row].metric->usage_of(*its_report) : nullptr;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const std::int64_t estimate = its.estimate[d];
    const std::int64_t usage = reported_usage != nullptr ? reported_usage[d] : 0;
    const auto add = [&](SumId sum, std::int64_t value) {
      const Contribution contribution{sum, value};
      sign > 0 ? table_.add(row, {&contribution, 1}) : table_.subtract(row, {&contribution, 1});
    };
    if (load.delta) {
      add(dimension.delta, beyond(estimate, usage));
    }
    if (load.prod_delta) {
      add(dimension.prod_delta, beyond(estimate, load.prod_delta_net ? usage : 0));
    }
    if (load.prod_usage) {
      add(dimension.prod_usage, usage);
    }
  }
}

LoadApplied LoadAware::load_of(std::uint32_t row, PodId id) const {
  const PodFacts& pod = facts_.pods[id];
  const LoadShape& its = facts_.shape_of(id).load;
  LoadApplied load;
  if (!its.counted) {
    return load;
  }
  const PodView view = row < pod_views_.size() ? pod_views_[row] : PodView();
  const std::int64_t assigned_us = pod.scheduled().value_or(pod.first_seen_us);
  bool has_deadline = false;
  std::int64_t deadline_us = 0;
  if (pod.is_initialized && its.after_initialized_us > 0) {
    has_deadline = true;
    deadline_us = pod.initialized_us + its.after_initialized_us;
  } else if (its.after_scheduled_us > 0) {
    has_deadline = true;
    deadline_us = assigned_us + its.after_scheduled_us;
  }
  const bool recent =
      assigned_us > view.estimated_after_us || (has_deadline && deadline_us > view.updated_us);
  if (!recent && !upstream_ && !its.prod) {
    return load;  // whatever the report says of the pod
  }
  const MetricFacts::PodUsage* its_report = reported(row, id);
  const bool counts = recent || (upstream_ && its_report == nullptr);
  const bool active_prod = its.prod && its_report != nullptr && its_report->prod();
  load.prod_usage = active_prod;
  load.delta = its.estimated && counts;
  if (its.prod && its.estimated) {
    // A prod pod that the report does not call prod has no usage among prod pods.
    const bool stranger = its_report != nullptr && !active_prod;
    load.prod_delta = counts || (upstream_ && stranger);
    load.prod_delta_net = active_prod;
  }
  return load;
}

bool LoadAware::count(std::uint32_t row, PodId id) {
  PodFacts& pod = facts_.pods[id];
  pod.load = load_of(row, id);
  change_pod(row, id, pod.load, 1);
  return depends_on_metric(pod);
}

// Before anything of the pod changes.
void LoadAware::uncount(std::uint32_t row, PodId id) {
  PodFacts& pod = facts_.pods[id];
  change_pod(row, id, pod.load, -1);
  pod.load = {};
}

}  // namespace headroom
