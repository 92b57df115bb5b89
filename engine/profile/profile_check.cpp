// See profile_check.h.
#include "engine/profile/profile_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/limits.h"

namespace headroom {

namespace {

Result<void> check_weights(const std::vector<ResourceWeight>& resources, const char* field) {
  std::set<std::string> seen;
  for (const ResourceWeight& resource : resources) {
    if (resource.name.empty() || resource.name == "pods" || !seen.insert(resource.name).second) {
      return fail(
          ErrorCode::kInvalid,
          fmt::format("{}: resource \"{}\" is empty, pods, or listed twice", field, resource.name));
    }
    if (resource.weight < 1 || resource.weight > kResourceWeightMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}: {}: weight {} is not in [1, {}]", field, resource.name,
                              resource.weight, kResourceWeightMax));
    }
  }
  return {};
}

Result<void> check_load_aware(const LoadAwareArgs& args) {
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

// Every resource that some argument names has to fit beside the four that always exist.
Result<void> check_resource_count(const Profile& profile) {
  std::set<std::string> names = {"cpu", "memory", "ephemeral-storage", "pods"};
  for (const auto* list :
       {&profile.fit.resources, &profile.balanced.resources, &profile.limit_aware.resources,
        &profile.resource_limit_aware.resources}) {
    for (const ResourceWeight& resource : *list) {
      names.insert(resource.name);
    }
  }
  const auto add_keys = [&](const auto& map) {
    for (const auto& [name, value] : map) {
      names.insert(name);
    }
  };
  const LoadAwareArgs& load = profile.load_aware;
  add_keys(profile.limit_aware.default_limit_to_allocatable_ratio.value_or(ResourcePercents()));
  add_keys(load.usage_thresholds);
  add_keys(load.prod_usage_thresholds);
  add_keys(load.resource_weights);
  add_keys(load.estimated_scaling_factors);
  add_keys(load.aggregated ? load.aggregated->usage_thresholds : ResourcePercents());
  names.insert(load.supported_resources.begin(), load.supported_resources.end());
  if (names.size() > kResourcesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("the arguments name {} resources, kResourcesMax is {}", names.size(),
                            kResourcesMax));
  }
  return {};
}

}  // namespace

Result<void> check_profile(const Profile& profile) {
  std::set<PluginId> seen;
  for (const PluginId plugin : profile.filters) {
    if (!plugin_of(plugin).filters || !seen.insert(plugin).second) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("filters: {} {}", to_string(plugin),
                              plugin_of(plugin).filters ? "is listed twice" : "is no filter"));
    }
  }
  seen.clear();
  for (const ScorePlugin& score : profile.scores) {
    if (!plugin_of(score.plugin).scores || !seen.insert(score.plugin).second) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("scores: {} {}", to_string(score.plugin),
                              plugin_of(score.plugin).scores ? "is listed twice" : "has no score"));
    }
    if (score.weight < 1 || score.weight > kPluginWeightMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("scores: {}: weight {} is not in [1, kPluginWeightMax = {}]",
                              to_string(score.plugin), score.weight, kPluginWeightMax));
    }
  }
  for (const auto& [resources, field] :
       {std::pair{&profile.fit.resources, "NodeResourcesFit: scoringStrategy.resources"},
        std::pair{&profile.balanced.resources, "NodeResourcesBalancedAllocation: resources"},
        std::pair{&profile.limit_aware.resources, "LimitAware: resources"},
        std::pair{&profile.resource_limit_aware.resources, "ResourceLimitAware: resources"}}) {
    if (auto checked = check_weights(*resources, field); !checked) {
      return checked;
    }
  }
  if (auto checked = check_load_aware(profile.load_aware); !checked) {
    return checked;
  }
  if (profile.capacity.cross_node_preemption && profile.mode == Mode::kUpstream) {
    return fail(ErrorCode::kUnsupported,
                "CapacityScheduling: crossNodePreemption: not in mode Upstream");
  }
  return check_resource_count(profile);
}

}  // namespace headroom
