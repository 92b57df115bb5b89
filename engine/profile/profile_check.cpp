// See profile_check.h.
#include "engine/profile/profile_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/limits.h"
#include "engine/profile/selector_check.h"
#include "objects/text/label_syntax.h"

namespace headroom {

namespace {

// Each plugin scores once, so that no profile has more.
static_assert(std::count_if(kPlugins.begin(), kPlugins.end(), [](const Plugin& plugin) {
                return plugin.scores;
              }) == kScorePluginsMax);

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

Result<void> check_shape(const std::vector<NodeResourcesFitArgs::ShapePoint>& shape,
                         const char* field) {
  std::int64_t below = -1;
  for (const NodeResourcesFitArgs::ShapePoint& point : shape) {
    if (point.utilization <= below || point.utilization > kPercentMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}: utilization {} after {}; points must be in strictly increasing "
                              "order, in [0, {}]",
                              field, point.utilization, below, kPercentMax));
    }
    if (point.score < 0 || point.score > kShapeScoreMax) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: score {} is not in [0, {}]", field,
                                                   point.score, kShapeScoreMax));
    }
    below = point.utilization;
  }
  return {};
}

Result<void> check_term_weight(std::int64_t weight, const char* field) {
  if (weight >= 0 && weight <= kTermWeightMax) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("{}: {} is not in [0, {}]", field, weight, kTermWeightMax));
}

Result<void> check_term(const NodeSelectorTerm& term, const char* field) {
  std::string problem;
  for (const NodeSelectorRequirement& asked : term.match_expressions) {
    if (problem.empty()) problem = problem_of_expression(asked);
  }
  for (const NodeSelectorRequirement& asked : term.match_fields) {
    if (problem.empty()) problem = problem_of_field(asked);
  }
  if (problem.empty()) return {};
  return fail(ErrorCode::kInvalid, fmt::format("{}: {}", field, problem));
}

Result<void> check_node_affinity(const NodeAffinityArgs& args) {
  constexpr const char* kRequired =
      "NodeAffinity: addedAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred =
      "NodeAffinity: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
  if (args.required && args.required->empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: has no terms: no node matches", kRequired));
  }
  for (const NodeSelectorTerm& term : args.required.value_or(std::vector<NodeSelectorTerm>())) {
    if (auto checked = check_term(term, kRequired); !checked) return checked;
  }
  for (const PreferredSchedulingTerm& preferred : args.preferred) {
    if (auto checked = check_term(preferred.preference, kPreferred); !checked) return checked;
    if (auto checked = check_term_weight(preferred.weight, kPreferred); !checked) return checked;
  }
  return {};
}

Result<void> check_topology_spread(const PodTopologySpreadArgs& args) {
  const std::vector<TopologySpreadConstraint>& constraints = args.default_constraints;
  if (args.system_defaults && !constraints.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("PodTopologySpread: defaultConstraints: {} with defaultingType System; "
                            "they need List",
                            constraints.size()));
  }
  for (auto constraint = constraints.begin(); constraint != constraints.end(); ++constraint) {
    const auto wrong = [&](const std::string& problem) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("PodTopologySpread: defaultConstraints: \"{}\": {}",
                              constraint->topology_key, problem));
    };
    if (!is_label_key(constraint->topology_key)) return wrong("topologyKey is not a label key");
    if (constraint->max_skew < 1) {
      return wrong(fmt::format("maxSkew: {} is less than 1", constraint->max_skew));
    }
    if (constraint->min_domains < 1) {
      return wrong(fmt::format("minDomains: {} is less than 1", constraint->min_domains));
    }
    if (constraint->selector) return wrong("a default constraint has no labelSelector");
    if (std::any_of(constraints.begin(), constraint,
                    [&](const auto& other) { return is_repeated(*constraint, other); })) {
      return wrong(constraint->hard ? "DoNotSchedule is listed twice"
                                    : "ScheduleAnyway is listed twice");
    }
  }
  return {};
}

// Arguments of kube-scheduler's plugins; their weights by resource apart.
Result<void> check_default_plugins(const Profile& profile) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  if (auto checked = check_shape(profile.fit.shape, "NodeResourcesFit: shape"); !checked) {
    return checked;
  }
  if (profile.fit.strategy == Strategy::kRequestedToCapacityRatio && profile.fit.shape.empty()) {
    return fail(ErrorCode::kInvalid, "NodeResourcesFit: RequestedToCapacityRatio needs a shape");
  }
  if (auto checked = check_shape(profile.volume_binding.shape, "VolumeBinding: shape"); !checked) {
    return checked;
  }
  if (profile.volume_binding.shape.empty()) {
    return fail(ErrorCode::kInvalid, "VolumeBinding: shape: want at least one point");
  }
  if (auto checked = check_node_affinity(profile.node_affinity); !checked) return checked;
  if (auto checked = check_topology_spread(profile.topology_spread); !checked) return checked;
  return check_term_weight(profile.inter_pod_affinity.hard_pod_affinity_weight,
                           "InterPodAffinity: hardPodAffinityWeight");
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
  if (auto checked = check_default_plugins(profile); !checked) {
    return checked;
  }
  if (auto checked = check_load_aware(profile.load_aware); !checked) {
    return checked;
  }
  if (profile.capacity_scheduling_args.cross_node_preemption && profile.mode == Mode::kUpstream) {
    return fail(ErrorCode::kUnsupported,
                "CapacityScheduling: crossNodePreemption: not in mode Upstream");
  }
  return check_resource_count(profile);
}

}  // namespace headroom
