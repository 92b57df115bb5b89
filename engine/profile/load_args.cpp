// The arguments of LoadAwareScheduling.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"
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

LoadAwareArgs::Aggregated read_aggregated(const ConfigValue& value) {
  LoadAwareArgs::Aggregated aggregated;
  value.fields({{"usageThresholds",
                 [&](const ConfigValue& v) {
                   aggregated.usage_thresholds =
                       read_by_resource<ResourcePercents>(v, 0, kPercentMax);
                 }},
                {"usageAggregationType",
                 [&](const ConfigValue& v) {
                   aggregated.usage_aggregation_type = read_aggregation_type(v);
                 }},
                {"usageAggregatedDuration",
                 [&](const ConfigValue& v) {
                   aggregated.usage_aggregated_duration_us = read_duration_us(v);
                 }},
                {"scoreAggregationType",
                 [&](const ConfigValue& v) {
                   aggregated.score_aggregation_type = read_aggregation_type(v);
                 }},
                {"scoreAggregatedDuration", [&](const ConfigValue& v) {
                   aggregated.score_aggregated_duration_us = read_duration_us(v);
                 }}});
  return aggregated;
}

}  // namespace

LoadAwareArgs read_load_aware(const ConfigValue& value, Mode mode) {
  LoadAwareArgs args;
  std::map<std::string, std::int64_t> weights;
  value.fields(
      {{"apiVersion", read_api_version()},
       {"kind", read_kind(PluginId::kLoadAwareScheduling)},
       {"filterExpiredNodeMetrics",
        [&](const ConfigValue& v) { args.filter_expired_node_metrics = v.boolean(); }},
       {"enableScheduleWhenNodeMetricsExpired",
        [&](const ConfigValue& v) {
          args.enable_schedule_when_node_metrics_expired = v.boolean();
        }},
       {"nodeMetricExpirationSeconds",
        [&](const ConfigValue& v) {
          args.node_metric_expiration_seconds = v.integer(1, INT64_MAX / kMicrosPerSecond);
        }},
       {"resourceWeights",
        [&](const ConfigValue& v) {
          weights = read_by_resource<std::map<std::string, std::int64_t>>(v, 1, kResourceWeightMax);
        }},
       {"dominantResourceWeight",
        [&](const ConfigValue& v) {
          args.dominant_resource_weight = v.integer(0, kResourceWeightMax);
        }},
       {"usageThresholds",
        [&](const ConfigValue& v) {
          auto thresholds = read_by_resource<ResourcePercents>(v, 0, kPercentMax);
          if (!thresholds.empty()) args.usage_thresholds = std::move(thresholds);
        }},
       {"prodUsageThresholds",
        [&](const ConfigValue& v) {
          // The implementation does not check these.
          args.prod_usage_thresholds =
              mode == Mode::kUpstream ? read_by_resource<ResourcePercents>(v, INT64_MIN, INT64_MAX)
                                      : read_by_resource<ResourcePercents>(v, 0, kPercentMax);
        }},
       {"scoreAccordingProdUsage",
        [&](const ConfigValue& v) { args.score_according_prod_usage = v.boolean(); }},
       {"prodUsageIncludeSys",
        [&](const ConfigValue& v) { args.prod_usage_include_sys = v.boolean(); }},
       {"estimator",
        [&](const ConfigValue& v) {
          if (!v.text().empty()) read_type(v, "defaultEstimator");
        }},
       {"estimatedScalingFactors",
        [&](const ConfigValue& v) {
          for (const auto& [resource, factor] :
               read_by_resource<ResourcePercents>(v, 1, kPercentMax)) {
            args.estimated_scaling_factors[resource] = factor;
          }
        }},
       {"estimatedSecondsAfterPodScheduled",
        [&](const ConfigValue& v) { args.estimated_seconds_after_pod_scheduled = v.integer(); }},
       {"estimatedSecondsAfterInitialized",
        [&](const ConfigValue& v) { args.estimated_seconds_after_initialized = v.integer(); }},
       {"allowCustomizeEstimation",
        [&](const ConfigValue& v) { args.allow_customize_estimation = v.boolean(); }},
       {"aggregated", [&](const ConfigValue& v) { args.aggregated = read_aggregated(v); }},
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
  if (mode == Mode::kUpstream) {
    for (const auto& [resource, weight] : args.resource_weights) {
      if (!args.estimated_scaling_factors.contains(resource)) {
        value.fail(ErrorCode::kInvalid,
                   fmt::format("resourceWeights names \"{}\", which has no estimatedScalingFactors",
                               resource));
      }
    }
  }
  return args;
}

}  // namespace headroom
