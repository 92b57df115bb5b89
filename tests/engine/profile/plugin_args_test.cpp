// Reading the arguments of every plugin: their defaults, and what replaces them.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/profile/profile_reader.h"
#include "tests/engine/profile/profile_texts.h"

namespace headroom::profile_test {
namespace {

using Weights = std::vector<std::pair<std::string, std::int64_t>>;
using Percents = std::map<std::string, std::int64_t>;

Weights weights_of(const std::vector<ResourceWeight>& resources) {
  Weights weights;
  for (const ResourceWeight& resource : resources) {
    weights.emplace_back(resource.name, resource.weight);
  }
  return weights;
}

TEST(PluginArgs, FitDefaults) {
  for (const char* json : {"{}", R"({"scoringStrategy": null})",
                           R"({"scoringStrategy": {"type": "LeastAllocated", "resources": []}})"}) {
    const NodeResourcesFitArgs args = read_args_of(PluginId::kNodeResourcesFit, json).fit;
    EXPECT_EQ(args.strategy, NodeResourcesFitArgs::Strategy::kLeastAllocated);
    EXPECT_EQ(weights_of(args.resources), (Weights{{"cpu", 1}, {"memory", 1}}));
    EXPECT_TRUE(args.shape.empty());
  }
}

TEST(PluginArgs, FitAll) {
  const NodeResourcesFitArgs args = read_args_of(PluginId::kNodeResourcesFit, R"({
    "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs",
    "ignoredResources": ["example.com/foo"], "ignoredResourceGroups": ["nvidia.com"],
    "scoringStrategy": {"type": "RequestedToCapacityRatio",
      "resources": [{"name": "nvidia.com/gpu", "weight": 100}, {"name": "cpu", "weight": 0},
                    {"name": "hugepages-2Mi"}],
      "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 10},
                                             {"utilization": 100, "score": 0}]}}})")
                                        .fit;
  EXPECT_EQ(args.strategy, NodeResourcesFitArgs::Strategy::kRequestedToCapacityRatio);
  EXPECT_EQ(weights_of(args.resources),
            (Weights{{"nvidia.com/gpu", 100}, {"cpu", 1}, {"hugepages-2Mi", 1}}));
  ASSERT_EQ(args.shape.size(), 2u);
  EXPECT_EQ(args.shape[0].score, 10);
  EXPECT_EQ(args.shape[1].utilization, 100);
  EXPECT_EQ(args.ignored_resources, (std::vector<std::string>{"example.com/foo"}));
  EXPECT_EQ(args.ignored_resource_groups, (std::vector<std::string>{"nvidia.com"}));
}

TEST(PluginArgs, BalancedKeepsTheOrder) {
  Profile profile;
  ASSERT_TRUE(read_plugin_args(PluginId::kNodeResourcesBalancedAllocation,
                               R"({"resources": [{"name": "memory"}, {"name": "cpu"}]})", profile));
  EXPECT_EQ(weights_of(profile.balanced.resources), (Weights{{"memory", 1}, {"cpu", 1}}));
}

TEST(PluginArgs, LimitAwareWeights) {
  const auto weights = [](std::string_view json) {
    return weights_of(read_args_of(PluginId::kLimitAware, json).limit_aware.resources);
  };
  const Weights defaults = {{"cpu", 1}, {"memory", 1}};
  EXPECT_EQ(weights("{}"), defaults);
  EXPECT_EQ(weights(R"({"scoringResourceWeights": {}})"), defaults);
  EXPECT_EQ(weights(R"({"scoringResourceWeights": {"memory": 3, "cpu": 0}})"),
            (Weights{{"cpu", 1}, {"memory", 3}}));
  EXPECT_EQ(weights(R"({"scoringResourceWeights": {"cpu": 2}, "resources": [{"name": "memory"}]})"),
            (Weights{{"memory", 1}}));
  EXPECT_EQ(weights(R"({"scoringResourceWeights": {"cpu": 2}, "resources": []})"),
            (Weights{{"cpu", 2}}));
}

TEST(PluginArgs, LimitAwareRatio) {
  const auto args = [](std::string_view json, Mode mode) {
    return read_args_of(PluginId::kLimitAware, json, mode).limit_aware;
  };
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    EXPECT_EQ(args("{}", mode).default_limit_to_allocatable_ratio, std::nullopt);
    EXPECT_EQ(
        args(R"({"defaultLimitToAllocatableRatio": {}})", mode).default_limit_to_allocatable_ratio,
        ResourcePercents{});
    EXPECT_EQ(args(R"({"defaultLimitToAllocatableRatio":
                       {"cpu": 125, "memory": "0150%", "nvidia.com/gpu": "0%"}})",
                   mode)
                  .default_limit_to_allocatable_ratio,
              (ResourcePercents{{"cpu", 125}, {"memory", 150}, {"nvidia.com/gpu", 0}}));
  }
  const LimitAwareArgs upstream = args(R"({"defaultLimitToAllocatableRatio": {"cpu": "+120%",
      "memory": "1.5", "ephemeral-storage": "", "a.b/c": -5, "a.b/d": null, "a.b/e": "150",
      "a.b/f": " 120%", "a.b/g": "-7%", "a.b/h": "%"}})",
                                       Mode::kUpstream);
  EXPECT_EQ(upstream.default_limit_to_allocatable_ratio,
            (ResourcePercents{{"cpu", 120}, {"a.b/c", -5}, {"a.b/d", 0}, {"a.b/g", -7}}));
  EXPECT_EQ(upstream.bad_default_ratios,
            (std::map<std::string, std::string>{{"memory", "1.5"},
                                                {"ephemeral-storage", ""},
                                                {"a.b/e", "150"},
                                                {"a.b/f", " 120%"},
                                                {"a.b/h", "%"}}));
}

TEST(PluginArgs, ResourceLimitAwareDefaultLimit) {
  const auto limits = [](std::string_view json) {
    return read_args_of(PluginId::kResourceLimitAware, json, Mode::kProposal)
        .resource_limit_aware.default_limit;
  };
  const auto defaults = limits("{}");
  ASSERT_EQ(defaults.size(), 2u);
  EXPECT_EQ(defaults.at("cpu"), Quantity::from_milli(100));
  EXPECT_EQ(defaults.at("memory"), Quantity::from_value(200 << 20));
  const auto given = limits(R"({"defaultLimit": {"cpu": "Allocatable", "nvidia.com/gpu": 1}})");
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given.at("cpu"), std::nullopt);
  EXPECT_EQ(given.at("memory"), Quantity::from_value(200 << 20));
  EXPECT_EQ(given.at("nvidia.com/gpu"), Quantity::from_value(1));
}

TEST(PluginArgs, LoadAwareDefaults) {
  const LoadAwareArgs args = read_args_of(PluginId::kLoadAwareScheduling, "{}").load_aware;
  EXPECT_TRUE(args.filter_expired_node_metrics);
  EXPECT_FALSE(args.enable_schedule_when_node_metrics_expired);
  EXPECT_EQ(args.node_metric_expiration_seconds, 180);
  EXPECT_EQ(args.resource_weights, (Percents{{"cpu", 1}, {"memory", 1}}));
  EXPECT_EQ(args.usage_thresholds, (Percents{{"cpu", 65}, {"memory", 95}}));
  EXPECT_EQ(args.estimated_scaling_factors, (Percents{{"cpu", 85}, {"memory", 70}}));
  EXPECT_TRUE(args.prod_usage_thresholds.empty());
  EXPECT_FALSE(args.aggregated.has_value());
  EXPECT_FALSE(args.estimated_seconds_after_initialized.has_value());
}

TEST(PluginArgs, LoadAwareWhatIsGivenReplacesTheMap) {
  const auto args = [](std::string_view json) {
    return read_args_of(PluginId::kLoadAwareScheduling, json).load_aware;
  };
  EXPECT_EQ(args(R"({"usageThresholds": {"cpu": 70}})").usage_thresholds, (Percents{{"cpu", 70}}));
  EXPECT_EQ(args(R"({"usageThresholds": {}})").usage_thresholds,
            (Percents{{"cpu", 65}, {"memory", 95}}));
  EXPECT_EQ(args(R"({"estimatedScalingFactors": {"memory": 50, "nvidia.com/gpu": 100}})")
                .estimated_scaling_factors,
            (Percents{{"cpu", 85}, {"memory", 50}, {"nvidia.com/gpu", 100}}));
  EXPECT_EQ(args(R"({"resourceWeights": {"cpu": 3}})").resource_weights, (Percents{{"cpu", 3}}));
  EXPECT_TRUE(args(R"({"dominantResourceWeight": 1})").resource_weights.empty());
  EXPECT_EQ(
      args(R"({"dominantResourceWeight": 1, "resourceWeights": {"cpu": 3}})").resource_weights,
      (Percents{{"cpu", 3}}));
}

TEST(PluginArgs, LoadAwareAll) {
  const LoadAwareArgs args = read_args_of(PluginId::kLoadAwareScheduling, R"({
    "kind": "LoadAwareSchedulingArgs", "filterExpiredNodeMetrics": false,
    "enableScheduleWhenNodeMetricsExpired": true, "nodeMetricExpirationSeconds": 60,
    "prodUsageThresholds": {"cpu": 120, "memory": -3}, "scoreAccordingProdUsage": true,
    "prodUsageIncludeSys": true, "estimator": "defaultEstimator",
    "estimatedSecondsAfterPodScheduled": 0, "estimatedSecondsAfterInitialized": -5,
    "allowCustomizeEstimation": true, "supportedResources": ["example.com/a"],
    "aggregated": {"usageThresholds": {"cpu": 50}, "usageAggregationType": "p95",
                   "usageAggregatedDuration": "0.25h", "scoreAggregationType": "avg",
                   "scoreAggregatedDuration": "1h1m1.5s"}})")
                                 .load_aware;
  EXPECT_FALSE(args.filter_expired_node_metrics);
  EXPECT_TRUE(args.enable_schedule_when_node_metrics_expired);
  EXPECT_EQ(args.node_metric_expiration_seconds, 60);
  EXPECT_EQ(args.prod_usage_thresholds, (Percents{{"cpu", 120}, {"memory", -3}}));
  EXPECT_TRUE(args.score_according_prod_usage);
  EXPECT_TRUE(args.prod_usage_include_sys);
  EXPECT_EQ(args.estimated_seconds_after_pod_scheduled, 0);
  EXPECT_EQ(args.estimated_seconds_after_initialized, -5);
  EXPECT_TRUE(args.allow_customize_estimation);
  EXPECT_EQ(args.supported_resources, (std::vector<std::string>{"example.com/a"}));
  ASSERT_TRUE(args.aggregated.has_value());
  EXPECT_EQ(args.aggregated->usage_thresholds, (Percents{{"cpu", 50}}));
  EXPECT_EQ(args.aggregated->usage_aggregation_type, "p95");
  EXPECT_EQ(args.aggregated->usage_aggregated_duration_us, 900'000'000);
  EXPECT_EQ(args.aggregated->score_aggregation_type, "avg");
  EXPECT_EQ(args.aggregated->score_aggregated_duration_us, 3'661'500'000);
}

TEST(PluginArgs, NodeAffinity) {
  EXPECT_FALSE(read_args_of(PluginId::kNodeAffinity, "{}").node_affinity.required.has_value());
  const NodeAffinityArgs args = read_args_of(PluginId::kNodeAffinity, R"({
    "addedAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a.b/zone", "operator": "In", "values": ["x", "y"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 2147483647, "preference": {"matchExpressions": [
          {"key": "cpus", "operator": "Gt", "values": ["8"]}, {"key": "gpu", "operator": "Exists"}
        ]}}]}})")
                                    .node_affinity;
  ASSERT_EQ(args.required.value().size(), 2u);
  EXPECT_EQ(args.required->front().match_expressions,
            (std::vector<NodeSelectorRequirement>{{"a.b/zone", "In", {"x", "y"}}}));
  EXPECT_EQ(args.required->back().match_fields,
            (std::vector<NodeSelectorRequirement>{{"metadata.name", "NotIn", {"n1"}}}));
  ASSERT_EQ(args.preferred.size(), 1u);
  EXPECT_EQ(args.preferred.front().weight, 2147483647);  // kube-scheduler has no bound
  EXPECT_EQ(args.preferred.front().preference.match_expressions,
            (std::vector<NodeSelectorRequirement>{{"cpus", "Gt", {"8"}}, {"gpu", "Exists", {}}}));
}

TEST(PluginArgs, InterPodAffinity) {
  const InterPodAffinityArgs defaults =
      read_args_of(PluginId::kInterPodAffinity, "{}").inter_pod_affinity;
  EXPECT_EQ(defaults.hard_pod_affinity_weight, 1);
  EXPECT_FALSE(defaults.ignore_preferred_terms_of_existing_pods);
  const InterPodAffinityArgs args =
      read_args_of(PluginId::kInterPodAffinity,
                   R"({"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": true})")
          .inter_pod_affinity;
  EXPECT_EQ(args.hard_pod_affinity_weight, 0);
  EXPECT_TRUE(args.ignore_preferred_terms_of_existing_pods);
}

TEST(PluginArgs, PodTopologySpread) {
  const PodTopologySpreadArgs defaults =
      read_args_of(PluginId::kPodTopologySpread, R"({"defaultConstraints": []})").topology_spread;
  EXPECT_TRUE(defaults.system_defaults);
  EXPECT_TRUE(defaults.default_constraints.empty());
  const PodTopologySpreadArgs args = read_args_of(PluginId::kPodTopologySpread, R"({
    "defaultingType": "List", "defaultConstraints": [
      {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
      {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3,
       "matchLabelKeys": ["hash"], "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    ]})")
                                         .topology_spread;
  EXPECT_FALSE(args.system_defaults);
  ASSERT_EQ(args.default_constraints.size(), 2u);
  const TopologySpreadConstraint& hard = args.default_constraints[0];
  EXPECT_EQ(hard.max_skew, 2);
  EXPECT_EQ(hard.topology_key, "zone");
  EXPECT_TRUE(hard.hard && hard.honors_affinity && !hard.honors_taints);
  EXPECT_EQ(hard.min_domains, 1);
  const TopologySpreadConstraint& soft = args.default_constraints[1];
  EXPECT_TRUE(!soft.hard && !soft.honors_affinity && soft.honors_taints);
  EXPECT_EQ(soft.min_domains, 3);
  EXPECT_EQ(soft.match_label_keys, std::vector<std::string>{"hash"});
  // A list that is given and empty spreads nothing.
  EXPECT_FALSE(read_args_of(PluginId::kPodTopologySpread, R"({"defaultingType": "List"})")
                   .topology_spread.system_defaults);
}

TEST(PluginArgs, VolumeBinding) {
  const auto shape = [](std::string_view json) {
    std::vector<std::int64_t> numbers;
    for (const auto& point : read_args_of(PluginId::kVolumeBinding, json).volume_binding.shape) {
      numbers.insert(numbers.end(), {point.utilization, point.score});
    }
    return numbers;
  };
  EXPECT_EQ(shape(R"({"bindTimeoutSeconds": 600})"), (std::vector<std::int64_t>{0, 10, 100, 0}));
  EXPECT_EQ(
      shape(R"({"shape": [{"utilization": 5, "score": 2}, {"utilization": 90, "score": 7}]})"),
      (std::vector<std::int64_t>{5, 2, 90, 7}));
}

TEST(PluginArgs, Durations) {
  const auto micros = [](std::string_view duration) {
    return read_args_of(
               PluginId::kLoadAwareScheduling,
               R"({"aggregated": {"usageAggregatedDuration": ")" + std::string(duration) + "\"}}")
        .load_aware.aggregated->usage_aggregated_duration_us;
  };
  EXPECT_EQ(micros("0"), 0);
  EXPECT_EQ(micros("0s"), 0);
  EXPECT_EQ(micros("5m0s"), 300'000'000);
  EXPECT_EQ(micros("300s"), 300'000'000);
  EXPECT_EQ(micros(".5s"), 500'000);
  EXPECT_EQ(micros("5.s"), 5'000'000);
  EXPECT_EQ(micros("3ms4us"), 3'004);
  EXPECT_EQ(micros("7\u00b5s"), 7);
  EXPECT_EQ(micros("1000ns"), 1);
}

TEST(PluginArgs, AnErrorChangesNothing) {
  Profile profile;
  profile.limit_aware.resources = {{"memory", 9}};
  EXPECT_FALSE(read_plugin_args(PluginId::kLimitAware,
                                R"({"resources": [{"name": "cpu"}], "x": 1})", profile));
  EXPECT_EQ(weights_of(profile.limit_aware.resources), (Weights{{"memory", 9}}));
}

// Every recorded case's arguments are accepted.
TEST(PluginArgs, RecordedCases) {
  const std::map<std::string, PluginId> plugins = {
      {"NodeResourcesFit", PluginId::kNodeResourcesFit},
      {"NodeResourcesBalancedAllocation", PluginId::kNodeResourcesBalancedAllocation},
      {"LimitAware", PluginId::kLimitAware},
      {"ResourceLimitAware", PluginId::kResourceLimitAware},
      {"LoadAwareScheduling", PluginId::kLoadAwareScheduling}};
  int cases = 0;
  for (const char* name : {"load-aware", "limit-aware", "node-resources", "proposal-limit-aware",
                           "proposal-resource-limit-aware", "proposal-load-aware"}) {
    std::ifstream file(std::string(HEADROOM_SHARED_DIR) + "/conformance/" + name + ".jsonl");
    for (std::string line; std::getline(file, line);) {
      const nlohmann::json recorded = nlohmann::json::parse(line);
      Profile profile;
      profile.mode =
          recorded.value("mode", "Upstream") == "Upstream" ? Mode::kUpstream : Mode::kProposal;
      const Result<void> result =
          read_plugin_args(plugins.at(recorded.at("plugin")), recorded.at("args").dump(), profile);
      EXPECT_TRUE(result.has_value()) << recorded.at("name") << ": " << result.error().message;
      ++cases;
    }
  }
  if (cases == 0) GTEST_SKIP() << "no cases in " << HEADROOM_SHARED_DIR << "/conformance";
  EXPECT_EQ(cases, 1470);
}

}  // namespace
}  // namespace headroom::profile_test
