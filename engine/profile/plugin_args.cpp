// The arguments of every plugin; see plugin_args.h.
#include "engine/profile/plugin_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "engine/profile/go_duration.h"
#include "objects/pod_resources.h"

namespace headroom {
namespace {

constexpr std::int64_t kPercentMax = 100;
constexpr std::int64_t kRatioMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kShapeScoreMax = 10;
constexpr std::array<std::string_view, 5> kAggregationTypes = {"avg", "p50", "p90", "p95", "p99"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t read_duration_us(const ConfigValue& value) {
  const std::string text = value.text();
  if (value.failed()) return 0;
  const std::optional<std::int64_t> ns = parse_go_duration_ns(text);
  if (!ns) {
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

// The percent of "125%", with a sign or without: what Go's strconv.Atoi takes.
std::optional<std::int64_t> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (percent < -kRatioMax - 1 || percent > kRatioMax) return std::nullopt;
  return percent;
}

void check_resource(const ConfigValue& value, std::string_view name) {
  if (name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
      is_scalar_resource(name)) {
    return;
  }
  value.fail(ErrorCode::kInvalid,
             fmt::format("\"{}\" is no resource that is counted; accepted: cpu, memory, "
                         "ephemeral-storage, hugepages-SIZE, attachable-volumes-NAME, or an "
                         "extended resource DOMAIN/NAME",
                         name));
}

template <typename Map>
Map read_by_resource(const ConfigValue& value, std::int64_t min, std::int64_t max) {
  Map map;
  value.entries([&](const std::string& resource, const ConfigValue& number) {
    check_resource(number, resource);
    map[resource] = number.integer(min, max);
  });
  return map;
}

// [{name, weight}]; no weight and weight 0 are 1.
std::vector<ResourceWeight> read_resource_weights(const ConfigValue& value,
                                                  std::int64_t weight_max) {
  std::vector<ResourceWeight> resources;
  value.items([&](const ConfigValue& item) {
    ResourceWeight resource;
    item.fields({{"name",
                  [&](const ConfigValue& name) {
                    resource.name = name.text();
                    check_resource(name, resource.name);
                  }},
                 {"weight", [&](const ConfigValue& weight) {
                    resource.weight = std::max<std::int64_t>(1, weight.integer(0, weight_max));
                  }}});
    if (resource.name.empty()) item.fail(ErrorCode::kInvalid, "has no name");
    if (std::any_of(resources.begin(), resources.end(),
                    [&](const ResourceWeight& other) { return other.name == resource.name; })) {
      item.fail(ErrorCode::kInvalid, fmt::format("\"{}\" is listed twice", resource.name));
    }
    resources.push_back(std::move(resource));
  });
  return resources;
}

void read_type(const ConfigValue& value, std::string_view expected) {
  if (value.text() != expected) {
    value.fail(ErrorCode::kUnsupported,
               fmt::format("{} is not supported; accepted: {}", value.shown(), expected));
  }
}

// The reader of a plugin's apiVersion and kind, which arguments may carry.
std::function<void(const ConfigValue&)> read_api_version() {
  return [](const ConfigValue& value) { read_type(value, kSchedulerConfigVersion); };
}
std::function<void(const ConfigValue&)> read_kind(PluginId plugin) {
  return [kind = std::string(to_string(plugin)) + "Args"](const ConfigValue& value) {
    read_type(value, kind);
  };
}

// --- NodeResourcesFit ---

void read_shape(const ConfigValue& value, NodeResourcesFitArgs& args) {
  value.items([&](const ConfigValue& item) {
    NodeResourcesFitArgs::ShapePoint point;
    item.fields(
        {{"utilization",
          [&](const ConfigValue& v) { point.utilization = v.integer(0, kPercentMax); }},
         {"score", [&](const ConfigValue& v) { point.score = v.integer(0, kShapeScoreMax); }}});
    if (!args.shape.empty() && point.utilization <= args.shape.back().utilization) {
      item.fail(ErrorCode::kInvalid,
                fmt::format("utilization {} does not follow {}; points must be "
                            "in strictly increasing order",
                            point.utilization, args.shape.back().utilization));
    }
    args.shape.push_back(point);
  });
  if (args.shape.empty()) value.fail(ErrorCode::kInvalid, "want at least one point");
}

void read_scoring_strategy(const ConfigValue& value, NodeResourcesFitArgs& args) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  bool has_type = false;
  value.fields(
      {{"type",
        [&](const ConfigValue& type) {
          has_type = true;
          const std::string name = type.text();
          if (name == "LeastAllocated") {
            args.strategy = Strategy::kLeastAllocated;
          } else if (name == "MostAllocated") {
            args.strategy = Strategy::kMostAllocated;
          } else if (name == "RequestedToCapacityRatio") {
            args.strategy = Strategy::kRequestedToCapacityRatio;
          } else {
            type.fail(ErrorCode::kUnsupported,
                      fmt::format("\"{}\" is not known; accepted: LeastAllocated, MostAllocated, "
                                  "RequestedToCapacityRatio",
                                  name));
          }
        }},
       {"resources",
        [&](const ConfigValue& v) {
          auto resources = read_resource_weights(v, kResourceWeightMax);
          if (!resources.empty()) args.resources = std::move(resources);
        }},
       {"requestedToCapacityRatio", [&](const ConfigValue& v) {
          v.fields({{"shape", [&](const ConfigValue& shape) { read_shape(shape, args); }}});
          if (args.shape.empty()) v.fail(ErrorCode::kInvalid, "has no shape");
        }}});
  if (!has_type) value.fail(ErrorCode::kInvalid, "has no type");
  if (args.strategy == Strategy::kRequestedToCapacityRatio && args.shape.empty()) {
    value.fail(ErrorCode::kInvalid,
               "type RequestedToCapacityRatio needs requestedToCapacityRatio.shape");
  }
}

NodeResourcesFitArgs read_fit(const ConfigValue& value) {
  NodeResourcesFitArgs args;
  value.fields(
      {{"apiVersion", read_api_version()},
       {"kind", read_kind(PluginId::kNodeResourcesFit)},
       {"scoringStrategy", [&](const ConfigValue& v) { read_scoring_strategy(v, args); }},
       {"ignoredResources",
        [&](const ConfigValue& v) {
          v.items([&](const ConfigValue& item) {
            args.ignored_resources.push_back(item.text());
            if (!is_extended_resource(args.ignored_resources.back())) {
              item.fail(ErrorCode::kInvalid, fmt::format("{} is no extended resource; accepted: "
                                                         "DOMAIN/NAME",
                                                         item.shown()));
            }
          });
        }},
       {"ignoredResourceGroups", [&](const ConfigValue& v) {
          v.items([&](const ConfigValue& item) {
            args.ignored_resource_groups.push_back(item.text());
            const std::string& group = args.ignored_resource_groups.back();
            if (group.empty() || group.find('/') != std::string::npos) {
              item.fail(ErrorCode::kInvalid, fmt::format("{} is no group; accepted: what stands "
                                                         "before the / of an extended resource",
                                                         item.shown()));
            }
          });
        }}});
  return args;
}

// --- NodeResourcesBalancedAllocation ---

BalancedAllocationArgs read_balanced(const ConfigValue& value, bool score_change) {
  BalancedAllocationArgs args;
  args.score_change = score_change;  // chosen by the Kubernetes version, not by an argument
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kNodeResourcesBalancedAllocation)},
                {"resources", [&](const ConfigValue& v) {
                   auto resources = read_resource_weights(v, /*weight_max=*/1);
                   if (!resources.empty()) args.resources = std::move(resources);
                 }}});
  return args;
}

// --- LimitAware ---

void read_ratio(const ConfigValue& value, Mode mode, LimitAwareArgs& args) {
  ResourcePercents ratio;
  value.entries([&](const std::string& resource, const ConfigValue& percent) {
    check_resource(percent, resource);
    if (percent.is_null() && mode == Mode::kUpstream) {
      ratio[resource] = 0;
    } else if (percent.is_number()) {
      ratio[resource] = percent.integer(mode == Mode::kUpstream ? -kRatioMax - 1 : 0, kRatioMax);
    } else {
      const std::string text = percent.text();
      const std::optional<std::int64_t> parsed = parse_percent(text);
      const bool digits = text.size() > 1 && std::all_of(text.begin(), text.end() - 1, is_digit);
      if (parsed && (digits || mode == Mode::kUpstream)) {
        ratio[resource] = *parsed;
      } else if (mode == Mode::kUpstream) {
        args.bad_default_ratios[resource] = text;
      } else {
        percent.fail(ErrorCode::kInvalid,
                     fmt::format("{} is no percentage; accepted: 125, \"125%\"", percent.shown()));
      }
    }
  });
  args.default_limit_to_allocatable_ratio = std::move(ratio);
}

LimitAwareArgs read_limit_aware(const ConfigValue& value, Mode mode) {
  LimitAwareArgs args;
  std::vector<ResourceWeight> resources;
  std::vector<ResourceWeight> by_map;
  value.fields(
      {{"apiVersion", read_api_version()},
       {"kind", read_kind(PluginId::kLimitAware)},
       {"resources",
        [&](const ConfigValue& v) { resources = read_resource_weights(v, kResourceWeightMax); }},
       {"scoringResourceWeights",
        [&](const ConfigValue& v) {
          for (const auto& [name, weight] :
               read_by_resource<std::map<std::string, std::int64_t>>(v, 0, kResourceWeightMax)) {
            by_map.push_back({name, std::max<std::int64_t>(1, weight)});
          }
        }},
       {"defaultLimitToAllocatableRatio",
        [&](const ConfigValue& v) { read_ratio(v, mode, args); }}});
  if (!resources.empty()) {
    args.resources = std::move(resources);
  } else if (!by_map.empty()) {
    args.resources = std::move(by_map);
  }
  return args;
}

// --- ResourceLimitAware ---

std::optional<Quantity> read_default_limit(const ConfigValue& value) {
  const std::string text = value.text();
  if (value.failed() || text == "Allocatable") return std::nullopt;
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) {
    value.fail(quantity.error().code,
               fmt::format("{} is no quantity; accepted: a quantity (500m, 1Gi), or Allocatable",
                           value.shown()));
    return std::nullopt;
  }
  if (*quantity < Quantity()) {
    value.fail(ErrorCode::kInvalid, fmt::format("{} is less than 0", text));
  }
  return *quantity;
}

ResourceLimitAwareArgs read_resource_limit_aware(const ConfigValue& value) {
  ResourceLimitAwareArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kResourceLimitAware)},
                {"resources",
                 [&](const ConfigValue& v) {
                   auto resources = read_resource_weights(v, kResourceWeightMax);
                   if (!resources.empty()) args.resources = std::move(resources);
                 }},
                {"defaultLimit", [&](const ConfigValue& v) {
                   v.entries([&](const std::string& resource, const ConfigValue& limit) {
                     check_resource(limit, resource);
                     args.default_limit[resource] = read_default_limit(limit);
                   });
                 }}});
  return args;
}

// --- LoadAwareScheduling ---

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
          args.node_metric_expiration_seconds = v.integer(1, INT64_MAX / 1'000'000);
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

}  // namespace

void read_args(PluginId plugin, const ConfigValue& args, Profile& profile) {
  switch (plugin) {
    case PluginId::kNodeResourcesFit:
      profile.fit = read_fit(args);
      return;
    case PluginId::kNodeResourcesBalancedAllocation:
      profile.balanced = read_balanced(args, profile.balanced.score_change);
      return;
    case PluginId::kLimitAware:
      profile.limit_aware = read_limit_aware(args, profile.mode);
      return;
    case PluginId::kResourceLimitAware:
      profile.resource_limit_aware = read_resource_limit_aware(args);
      return;
    case PluginId::kLoadAwareScheduling:
      profile.load_aware = read_load_aware(args, profile.mode);
      return;
    case PluginId::kCapacityScheduling:
      profile.capacity = {};
      args.fields({{"apiVersion", read_api_version()},
                   {"kind", read_kind(plugin)},
                   {"crossNodePreemption", [&](const ConfigValue& value) {
                      profile.capacity.cross_node_preemption = value.boolean();
                      if (profile.capacity.cross_node_preemption &&
                          profile.mode == Mode::kUpstream) {
                        value.fail(ErrorCode::kUnsupported, "is not in mode Upstream");
                      }
                    }}});
      return;
    case PluginId::kNodeAffinity:
      args.fields({{"apiVersion", read_api_version()},
                   {"kind", read_kind(plugin)},
                   {"addedAffinity", [](const ConfigValue& value) {
                      value.fail(ErrorCode::kUnsupported,
                                 "is not supported; state it in the pods' own affinity");
                    }}});
      return;
    case PluginId::kNodeUnschedulable:
    case PluginId::kNodeName:
    case PluginId::kTaintToleration:
    case PluginId::kNodePorts:
    case PluginId::kSchedulingGates:
    case PluginId::kVolumeRestrictions:
    case PluginId::kNodeVolumeLimits:
    case PluginId::kVolumeBinding:
    case PluginId::kVolumeZone:
    case PluginId::kPodTopologySpread:
    case PluginId::kInterPodAffinity:
    case PluginId::kNodeDeclaredFeatures:
    case PluginId::kImageLocality:
      args.fields({{"apiVersion", read_api_version()}, {"kind", read_kind(plugin)}});
      return;
  }
}

}  // namespace headroom
