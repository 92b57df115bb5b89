#include "engine/profile/args/load_aware_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/profile/args/args_values.h"
#include "engine/profile/profile.h"
#include "objects/text/time_text.h"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 5> kAggregationTypes = {"avg", "p50", "p90", "p95", "p99"};

std::int64_t read_duration_us(const ConfigValue& value) {
  const std::string text = value.text();
  if (value.failed()) return 0;
  const std::optional<std::int64_t> ns = parse_go_duration_ns(text);
  if (!ns || *ns < 0) {
    value.fail(ErrorCode::kInvalid,
               fmt::format("{} is no duration of zero or more; accepted: 300s, 5m0s, 0.25h",
                           value.shown()));
    return 0;
  }
  if (*ns % 1'000 != 0) {
    value.fail(ErrorCode::kUnsupported, fmt::format("{} is finer than a microsecond", text));
  }
  return *ns / 1'000;
}

std::string read_aggregation_type(const ConfigValue& value) {
  const std::string type = value.text();
  if (!type.empty() && std::find(kAggregationTypes.begin(), kAggregationTypes.end(), type) ==
                           kAggregationTypes.end()) {
    value.fail(ErrorCode::kInvalid,
               fmt::format("\"{}\" is not known; accepted: {}, or \"\" for none", type,
                           fmt::join(kAggregationTypes, ", ")));
  }
  return type;
}

LoadAwareArgs::Aggregated read_aggregated_args(const ConfigValue& value) {
  LoadAwareArgs::Aggregated aggregated;
  value.fields(
      {{"usageThresholds", into(aggregated.usage_thresholds, read_by_resource, 0, kPercentMax)},
       {"usageAggregationType", into(aggregated.usage_aggregation_type, read_aggregation_type)},
       {"usageAggregatedDuration", into(aggregated.usage_aggregated_duration_us, read_duration_us)},
       {"scoreAggregationType", into(aggregated.score_aggregation_type, read_aggregation_type)},
       {"scoreAggregatedDuration",
        into(aggregated.score_aggregated_duration_us, read_duration_us)}});
  return aggregated;
}

}  // namespace

void read_args(const ConfigValue& value, const Profile& profile, LoadAwareArgs& args) {
  std::map<std::string, std::int64_t> weights;
  read_fields(
      value, PluginId::kLoadAwareScheduling,
      {{"filterExpiredNodeMetrics", into(args.filter_expired_node_metrics, &ConfigValue::boolean)},
       {"enableScheduleWhenNodeMetricsExpired",
        into(args.enable_schedule_when_node_metrics_expired, &ConfigValue::boolean)},
       {"nodeMetricExpirationSeconds",
        into(args.node_metric_expiration_seconds, &ConfigValue::integer, 1,
             INT64_MAX / kMicrosPerSecond)},
       {"resourceWeights", into(weights, read_by_resource, 1, kResourceWeightMax)},
       {"dominantResourceWeight",
        into(args.dominant_resource_weight, &ConfigValue::integer, 0, kResourceWeightMax)},
       {"usageThresholds",
        into_unless_empty(args.usage_thresholds, read_by_resource, 0, kPercentMax)},
       {"prodUsageThresholds",
        [&](const ConfigValue& v) {
          // The implementation does not check these.
          args.prod_usage_thresholds = profile.mode == Mode::kUpstream
                                           ? read_by_resource(v, INT64_MIN, INT64_MAX)
                                           : read_by_resource(v, 0, kPercentMax);
        }},
       {"scoreAccordingProdUsage", into(args.score_according_prod_usage, &ConfigValue::boolean)},
       {"prodUsageIncludeSys", into(args.prod_usage_include_sys, &ConfigValue::boolean)},
       {"estimator",
        [&](const ConfigValue& v) {
          if (!v.text().empty()) read_type(v, "defaultEstimator");
        }},
       {"estimatedScalingFactors",
        [&](const ConfigValue& v) {
          for (const auto& [resource, factor] : read_by_resource(v, 1, kPercentMax)) {
            args.estimated_scaling_factors[resource] = factor;
          }
        }},
       {"estimatedSecondsAfterPodScheduled", into(args.estimated_seconds_after_pod_scheduled,
                                                  &ConfigValue::integer, INT64_MIN, INT64_MAX)},
       {"estimatedSecondsAfterInitialized", into(args.estimated_seconds_after_initialized,
                                                 &ConfigValue::integer, INT64_MIN, INT64_MAX)},
       {"allowCustomizeEstimation", into(args.allow_customize_estimation, &ConfigValue::boolean)},
       {"aggregated", into(args.aggregated, read_aggregated_args)},
       {"supportedResources", [&](const ConfigValue& v) {
          v.items([&](const ConfigValue& item) {
            args.supported_resources.push_back(item.text());
            check_resource(item, args.supported_resources.back());
          });
        }}});
  if (!weights.empty()) {
    args.resource_weights = std::move(weights);
  } else if (args.dominant_resource_weight != 0) {
    args.resource_weights.clear();
  }
  if (profile.mode == Mode::kUpstream) {
    for (const auto& [resource, weight] : args.resource_weights) {
      if (!args.estimated_scaling_factors.contains(resource)) {
        value.fail(ErrorCode::kInvalid,
                   fmt::format("resourceWeights names \"{}\", which has no estimatedScalingFactors",
                               resource));
      }
    }
  }
}

Result<void> check_args(const LoadAwareArgs& args, const Profile&, ResourceCheck& resources) {
  resources.add(args.usage_thresholds);
  resources.add(args.prod_usage_thresholds);
  resources.add(args.resource_weights);
  resources.add(args.estimated_scaling_factors);
  if (args.aggregated) resources.add(args.aggregated->usage_thresholds);
  resources.names.insert(args.supported_resources.begin(), args.supported_resources.end());
  if (args.node_metric_expiration_seconds <= 0) {
    return fail(ErrorCode::kInvalid, fmt::format("nodeMetricExpirationSeconds: {} is not above 0",
                                                 args.node_metric_expiration_seconds));
  }
  for (const auto& [name, weight] : args.resource_weights) {
    if (weight < 0 || weight > kResourceWeightMax) {
      return fail(ErrorCode::kInvalid, fmt::format("resourceWeights: {}: {} is not in [0, {}]",
                                                   name, weight, kResourceWeightMax));
    }
  }
  if (args.dominant_resource_weight < 0 || args.dominant_resource_weight > kResourceWeightMax) {
    return fail(ErrorCode::kInvalid,
                fmt::format("dominantResourceWeight: {} is not in [0, {}]",
                            args.dominant_resource_weight, kResourceWeightMax));
  }
  return {};
}

}  // namespace headroom
