// See load_args.h. Defaults: the seed and reference 2.5; the annotation: reference 1.2.
#include "oracle/policies/load_args.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "oracle/time.h"

namespace oracle {
namespace {

const char kThresholdsAnnotation[] = "scheduling.koordinator.sh/usage-thresholds";

PerResource map_argument(const Json& args, const std::string& key) {
  const std::optional<PerResource> map = read_integers(child(args, key));
  if (!map) throw std::invalid_argument(key + ": not a map of whole numbers");
  return *map;
}

bool flag(const Json& args, const std::string& key, bool fallback) {
  const Json& value = child(args, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

// metav1.Duration: a string; absent is 0, anything else is nullopt.
std::optional<Int128> read_duration(const Json& value) {
  if (value.is_null()) return 0;
  return value.is_string() ? parse_duration(value.get<std::string>()) : std::nullopt;
}

// A type with its duration; nullopt without a type.
std::optional<Aggregation> aggregation(const Json& section, const std::string& prefix) {
  const std::string type = text(section, prefix + "AggregationType");
  const std::optional<Int128> duration =
      read_duration(child(section, prefix + "AggregatedDuration"));
  if (!duration) throw std::invalid_argument(prefix + "AggregatedDuration: bad duration");
  if (type.empty()) return std::nullopt;
  return Aggregation{type, *duration};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// encoding/json finds a field without regard to case; an exact match wins.
const Json& field(const Json& object, const std::string& name) {
  const Json& exact = child(object, name);
  if (!exact.is_null() || !object.is_object()) return exact;
  for (const auto& [key, value] : object.items()) {
    if (lower(key) == lower(name)) return value;
  }
  return exact;
}

struct Sections {
  PerResource usage, prod, aggregated;
  std::optional<Aggregation> aggregation;
};

// The annotation as a whole, or nullopt.
std::optional<Sections> read_sections(const Json& json) {
  if (json.is_null()) return Sections{};
  if (!json.is_object()) return std::nullopt;
  const Json& aggregated = field(json, "aggregatedUsage");
  if (!aggregated.is_null() && !aggregated.is_object()) return std::nullopt;
  const std::optional<PerResource> usage = read_integers(field(json, "usageThresholds"));
  const std::optional<PerResource> prod = read_integers(field(json, "prodUsageThresholds"));
  const std::optional<PerResource> of_aggregated =
      read_integers(field(aggregated, "usageThresholds"));
  const Json& type = field(aggregated, "usageAggregationType");
  const std::optional<Int128> duration =
      read_duration(field(aggregated, "usageAggregatedDuration"));
  if (!usage || !prod || !of_aggregated || !duration || !(type.is_null() || type.is_string())) {
    return std::nullopt;
  }
  Sections sections{*usage, *prod, *of_aggregated, std::nullopt};
  if (type.is_string() && type != "") {
    sections.aggregation = Aggregation{type.get<std::string>(), *duration};
  }
  return sections;
}

bool has_negative(const PerResource& map) {
  return std::any_of(map.begin(), map.end(), [](const auto& entry) { return entry.second < 0; });
}

}  // namespace

std::optional<PerResource> read_integers(const Json& map) {
  PerResource result;
  if (map.is_null()) return result;
  if (!map.is_object()) return std::nullopt;
  for (const auto& [name, value] : map.items()) {
    if (value.is_null()) {
      result[name] = 0;
    } else if (value.is_number_integer()) {
      result[name] = value.get<std::int64_t>();
    } else {
      return std::nullopt;
    }
  }
  return result;
}

LoadArgs read_load_args(const Cycle& cycle) {
  const Json& json = *cycle.args;
  LoadArgs args;
  args.filter_expired = flag(json, "filterExpiredNodeMetrics", true);
  args.enable_when_expired = flag(json, "enableScheduleWhenNodeMetricsExpired", false);
  args.expiration_seconds = integer(json, "nodeMetricExpirationSeconds").value_or(180);
  args.dominant_weight = integer(json, "dominantResourceWeight").value_or(0);
  // "given thresholds and weights replace the default map; missing factors keep 85/70".
  args.weights = map_argument(json, "resourceWeights");
  if (args.weights.empty() && args.dominant_weight == 0) args.weights = {{"cpu", 1}, {"memory", 1}};
  args.factors = map_argument(json, "estimatedScalingFactors");
  args.factors.emplace("cpu", 85);
  args.factors.emplace("memory", 70);
  args.thresholds.usage = map_argument(json, "usageThresholds");
  if (args.thresholds.usage.empty()) args.thresholds.usage = {{"cpu", 65}, {"memory", 95}};
  args.thresholds.prod = map_argument(json, "prodUsageThresholds");
  const Json& aggregated = child(json, "aggregated");
  args.thresholds.aggregated = map_argument(aggregated, "usageThresholds");
  if (!args.thresholds.aggregated.empty()) {
    args.thresholds.aggregation = aggregation(aggregated, "usage");
  }
  args.score_aggregation = aggregation(aggregated, "score");
  args.score_by_prod_usage = flag(json, "scoreAccordingProdUsage", false);
  args.prod_includes_system = flag(json, "prodUsageIncludeSys", false);
  args.allow_custom_estimation = flag(json, "allowCustomizeEstimation", false);
  args.seconds_after_scheduled = integer(json, "estimatedSecondsAfterPodScheduled").value_or(0);
  args.seconds_after_initialized = integer(json, "estimatedSecondsAfterInitialized").value_or(0);

  // Reference 1.5, NewResourceVectorizerFromArgs.
  args.resources = {"cpu", "memory"};
  for (const PerResource* map : {&args.weights, &args.factors, &args.thresholds.usage,
                                 &args.thresholds.prod, &args.thresholds.aggregated}) {
    for (const auto& [name, value] : *map) args.resources.insert(name);
  }
  for (const Json& name : child(json, "supportedResources")) {
    args.resources.insert(name.get<std::string>());
  }
  // "missing factors keep 85/70, others 100".
  if (cycle.mode == Mode::kProposal) {
    for (const std::string& name : args.resources) args.factors.emplace(name, 100);
  }
  return args;
}

Thresholds node_thresholds(const Cycle& cycle, const LoadArgs& args, const Json& node) {
  Thresholds thresholds = args.thresholds;
  const Json& annotation = child(node, "metadata", "annotations", kThresholdsAnnotation);
  if (!annotation.is_string()) return thresholds;
  const std::optional<Json> json = parse_json(annotation.get<std::string>());
  const std::optional<Sections> sections = json ? read_sections(*json) : std::nullopt;
  if (!sections) return thresholds;
  // "a non-integer or negative value makes it bad"; Upstream takes negative values literally.
  if (cycle.mode == Mode::kProposal &&
      (has_negative(sections->usage) || has_negative(sections->prod) ||
       has_negative(sections->aggregated))) {
    return thresholds;
  }
  // Each section that is not empty replaces the whole map.
  if (!sections->usage.empty()) thresholds.usage = sections->usage;
  if (!sections->prod.empty()) thresholds.prod = sections->prod;
  if (!sections->aggregated.empty() && sections->aggregation) {
    thresholds.aggregated = sections->aggregated;
    thresholds.aggregation = sections->aggregation;
  }
  return thresholds;
}

}  // namespace oracle
