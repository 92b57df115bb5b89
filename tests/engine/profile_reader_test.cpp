// Reading profiles: what kube-scheduler's semantics enable, the defaults of every plugin's
// arguments, and the exact message of every error. Messages are compared whole: they are what a
// user sees.
#include "engine/profile/profile_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/profile/config_value.h"

namespace headroom::profile_reader_test {
namespace {

using Filters = std::vector<PluginId>;
using Scores = std::vector<std::pair<PluginId, std::int64_t>>;
using Weights = std::vector<std::pair<std::string, std::int64_t>>;
using Percents = std::map<std::string, std::int64_t>;

constexpr std::string_view kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n";

std::string with_head(std::string_view body) { return std::string(kHead) + std::string(body); }

Profile read(std::string_view body) {
  const Result<Profile> profile = read_profile(with_head(body), "s.yaml");
  EXPECT_TRUE(profile.has_value()) << profile.error().message;
  return profile.value_or(Profile{});
}

// The message of the error that the body gives; its first line is the file's third.
std::string error_of(std::string_view body) {
  const Result<Profile> profile = read_profile(with_head(body), "s.yaml");
  EXPECT_FALSE(profile.has_value());
  return profile ? "" : profile.error().message;
}

Scores scores_of(const Profile& profile) {
  Scores scores;
  for (const ScorePlugin& score : profile.scores) scores.emplace_back(score.plugin, score.weight);
  return scores;
}

Weights weights_of(const std::vector<ResourceWeight>& resources) {
  Weights weights;
  for (const ResourceWeight& resource : resources) {
    weights.emplace_back(resource.name, resource.weight);
  }
  return weights;
}

Profile read_args_of(PluginId plugin, std::string_view json, Mode mode = Mode::kUpstream) {
  Profile profile;
  profile.mode = mode;
  const Result<void> result = read_plugin_args(plugin, json, profile);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return profile;
}

std::string args_error(PluginId plugin, std::string_view json, Mode mode = Mode::kUpstream) {
  Profile profile;
  profile.mode = mode;
  const Result<void> result = read_plugin_args(plugin, json, profile);
  EXPECT_FALSE(result.has_value()) << json;
  return result ? "" : result.error().message;
}

const Filters kDefaultFilters = {
    PluginId::kNodeUnschedulable,   PluginId::kNodeName,          PluginId::kTaintToleration,
    PluginId::kNodeAffinity,        PluginId::kNodePorts,         PluginId::kNodeResourcesFit,
    PluginId::kVolumeRestrictions,  PluginId::kNodeVolumeLimits,  PluginId::kVolumeBinding,
    PluginId::kVolumeZone,          PluginId::kPodTopologySpread, PluginId::kInterPodAffinity,
    PluginId::kNodeDeclaredFeatures};
const Scores kDefaultScores = {{PluginId::kTaintToleration, 3},
                               {PluginId::kNodeAffinity, 2},
                               {PluginId::kNodeResourcesFit, 1},
                               {PluginId::kVolumeBinding, 1},
                               {PluginId::kPodTopologySpread, 2},
                               {PluginId::kInterPodAffinity, 2},
                               {PluginId::kNodeResourcesBalancedAllocation, 1},
                               {PluginId::kImageLocality, 1}};

template <typename List>
List joined(List list, const List& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

const Filters kStandardFilters =
    joined(kDefaultFilters, {PluginId::kLimitAware, PluginId::kLoadAwareScheduling});
const Scores kStandardScores = {{PluginId::kTaintToleration, 15},
                                {PluginId::kNodeAffinity, 10},
                                {PluginId::kNodeResourcesFit, 5},
                                {PluginId::kVolumeBinding, 5},
                                {PluginId::kPodTopologySpread, 10},
                                {PluginId::kInterPodAffinity, 10},
                                {PluginId::kNodeResourcesBalancedAllocation, 5},
                                {PluginId::kImageLocality, 5},
                                {PluginId::kLimitAware, 1},
                                {PluginId::kLoadAwareScheduling, 1}};

Filters without(Filters filters, const Filters& gone) {
  for (const PluginId plugin : gone) std::erase(filters, plugin);
  return filters;
}

Scores without(Scores scores, const Filters& gone) {
  for (const PluginId plugin : gone) {
    std::erase_if(scores, [plugin](const auto& score) { return score.first == plugin; });
  }
  return scores;
}

// --- What is on ---

TEST(ProfileStandard, IsWhatTheHeaderSays) {
  const Profile profile = Profile::standard();
  EXPECT_EQ(profile.filters, kStandardFilters);
  EXPECT_EQ(scores_of(profile), kStandardScores);
  EXPECT_TRUE(profile.scheduling_gates);
  EXPECT_TRUE(profile.capacity_scheduling);
  EXPECT_EQ(profile.mode, Mode::kProposal);
  EXPECT_EQ(profile.kubernetes_version, KubernetesVersion::k137);
}

TEST(ProfileDefault, IsKubeSchedulersOfTheVersion) {
  using enum KubernetesVersion;
  for (const KubernetesVersion version : {k135, k136, k137}) {
    const Profile profile = Profile::kube_scheduler(version);
    // Node features are alpha in 1.35.
    EXPECT_EQ(profile.filters, version == k135
                                   ? without(kDefaultFilters, {PluginId::kNodeDeclaredFeatures})
                                   : kDefaultFilters);
    EXPECT_EQ(scores_of(profile), kDefaultScores);
    EXPECT_EQ(profile.mode, Mode::kUpstream);
    EXPECT_EQ(profile.kubernetes_version, version);
    EXPECT_TRUE(profile.scheduling_gates);
    EXPECT_TRUE(profile.capacity_scheduling);
    EXPECT_TRUE(Engine::create(profile).has_value());
  }
}

TEST(ProfileDefault, ByItsName) {
  const Result<Profile> named = read_profile_file("default");
  ASSERT_TRUE(named.has_value()) << named.error().message;
  EXPECT_EQ(named->filters, kDefaultFilters);
  EXPECT_EQ(read_profile_file("standard")->filters, kStandardFilters);
  const std::string own = "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\n";
  const auto read_own = [&](const std::string& body) {
    const Result<Profile> profile = read_profile(own + body, "h");
    EXPECT_TRUE(profile.has_value()) << profile.error().message;
    return profile.value_or(Profile{});
  };
  // The version counts wherever it stands, and a stated mode is kept.
  Profile profile = read_own("profile: default\nkubernetesVersion: 1.35\n");
  EXPECT_EQ(profile.filters, Profile::kube_scheduler(KubernetesVersion::k135).filters);
  EXPECT_EQ(profile.mode, Mode::kUpstream);
  EXPECT_EQ(read_own("mode: Proposal\nprofile: default\n").mode, Mode::kProposal);
  EXPECT_EQ(read_own("profile: standard\n").filters, kStandardFilters);
  EXPECT_EQ(read_own("kubernetesVersion: 1.35\n").filters,
            without(kStandardFilters, {PluginId::kNodeDeclaredFeatures}));
  // Arguments are read beside it; a section of plugins starts from the same ones anyway.
  profile = read_own("profile: default\n---\n" +
                     with_head("profiles: [{pluginConfig: [{name: InterPodAffinity, args: "
                               "{hardPodAffinityWeight: 7}}]}]\n"));
  EXPECT_EQ(scores_of(profile), kDefaultScores);
  EXPECT_EQ(profile.inter_pod_affinity.hard_pod_affinity_weight, 7);
}

TEST(ProfilePlugins, NothingConfiguredIsStandard) {
  for (const std::string_view text : {"", "profiles: []\n", "profiles:\n  - schedulerName: x\n"}) {
    const Result<Profile> profile = read_profile(with_head(text), "s.yaml");
    ASSERT_TRUE(profile.has_value()) << text << profile.error().message;
    EXPECT_EQ(profile->filters, Profile::standard().filters) << text;
    EXPECT_EQ(scores_of(*profile), scores_of(Profile::standard())) << text;
  }
}

TEST(ProfilePlugins, ASectionStartsFromTheDefaultsOfKubeScheduler) {
  const Profile profile = read("profiles: [{plugins: {}}]\n");
  EXPECT_EQ(profile.filters, kDefaultFilters);
  EXPECT_EQ(scores_of(profile), kDefaultScores);
  EXPECT_TRUE(profile.scheduling_gates);
  EXPECT_EQ(profile.scheduler_name, "default-scheduler");
}

TEST(ProfilePlugins, MultiPointEnablesWhereverThePluginHasAPoint) {
  const Profile profile = read(R"(
profiles:
  - schedulerName: headroom
    plugins:
      multiPoint:
        enabled:
          - name: LimitAware
            weight: 2
          - {name: ResourceLimitAware, weight: 0}
          - name: LoadAwareScheduling
)");
  EXPECT_EQ(profile.scheduler_name, "headroom");
  EXPECT_EQ(profile.filters,
            joined(kDefaultFilters, {PluginId::kLimitAware, PluginId::kLoadAwareScheduling}));
  EXPECT_EQ(scores_of(profile), joined(kDefaultScores, {{PluginId::kLimitAware, 2},
                                                        {PluginId::kResourceLimitAware, 1},
                                                        {PluginId::kLoadAwareScheduling, 1}}));
}

TEST(ProfilePlugins, ADefaultEnabledAnewKeepsItsPlace) {
  const Profile profile = read(
      "profiles: [{plugins: {multiPoint: {enabled: [{name: LimitAware}, {name: NodeResourcesFit, "
      "weight: 7}]}}}]\n");
  Scores scores = kDefaultScores;
  scores[2].second = 7;
  EXPECT_EQ(scores_of(profile), joined(scores, {{PluginId::kLimitAware, 1}}));
}

// As in kube-scheduler: by default a plugin has its own weight, enabled anew without one it has 1.
TEST(ProfilePlugins, ADefaultEnabledAnewWithoutAWeightHasOne) {
  for (const char* weight : {"", ", weight: 0"}) {
    const Profile profile = read(
        "profiles: [{plugins: {multiPoint: {enabled: [{name: "
        "TaintToleration" +
        std::string(weight) + "}]}}}]\n");
    Scores scores = kDefaultScores;
    scores[0].second = 1;
    EXPECT_EQ(scores_of(profile), scores);
  }
}

TEST(ProfilePlugins, SchedulingGates) {
  const auto gates = [](std::string_view plugins) {
    return read("profiles: [{plugins: {" + std::string(plugins) + "}}]\n").scheduling_gates;
  };
  EXPECT_TRUE(gates(""));
  EXPECT_FALSE(gates("preEnqueue: {disabled: [{name: SchedulingGates}]}"));
  EXPECT_FALSE(gates("multiPoint: {disabled: [{name: '*'}]}"));
  EXPECT_TRUE(
      gates("multiPoint: {disabled: [{name: '*'}]}, "
            "preEnqueue: {enabled: [{name: SchedulingGates}]}"));
}

TEST(ProfilePlugins, DisabledInMultiPoint) {
  const Profile profile = read(
      "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}, "
      "{name: PodTopologySpread}, {name: NodeName}]}}}]\n");
  EXPECT_EQ(profile.filters,
            without(kDefaultFilters, {PluginId::kPodTopologySpread, PluginId::kNodeName}));
  EXPECT_EQ(scores_of(profile),
            without(kDefaultScores,
                    {PluginId::kPodTopologySpread, PluginId::kNodeResourcesBalancedAllocation}));
}

TEST(ProfilePlugins, StarInMultiPointLeavesOnlyWhatIsEnabled) {
  const Profile profile = read(
      "profiles: [{plugins: {multiPoint: {enabled: [{name: LoadAwareScheduling, weight: 3}], "
      "disabled: [{name: '*'}]}}}]\n");
  EXPECT_EQ(profile.filters, (Filters{PluginId::kLoadAwareScheduling}));
  EXPECT_EQ(scores_of(profile), (Scores{{PluginId::kLoadAwareScheduling, 3}}));
}

TEST(ProfilePlugins, APointOverridesMultiPoint) {
  const Profile profile = read(R"(
profiles:
  - plugins:
      multiPoint:
        enabled: [{name: LimitAware, weight: 5}, {name: LoadAwareScheduling, weight: 6}]
      filter:
        disabled: [{name: LoadAwareScheduling}]
      score:
        enabled: [{name: LoadAwareScheduling, weight: 2}, {name: ResourceLimitAware, weight: 9}]
        disabled: [{name: NodeResourcesFit}]
)");
  EXPECT_EQ(profile.filters, joined(kDefaultFilters, {PluginId::kLimitAware}));
  // What the point repeats from multiPoint comes first, what it adds comes last.
  EXPECT_EQ(scores_of(profile),
            joined(joined({{PluginId::kLoadAwareScheduling, 2}},
                          without(kDefaultScores, {PluginId::kNodeResourcesFit})),
                   {{PluginId::kLimitAware, 5}, {PluginId::kResourceLimitAware, 9}}));
}

TEST(ProfilePlugins, APointMayEnableWhatItDisables) {
  const Profile profile = read(R"(
profiles:
  - plugins:
      score:
        enabled: [{name: NodeResourcesFit, weight: 4}]
        disabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]
)");
  EXPECT_EQ(scores_of(profile),
            joined(without(kDefaultScores, {PluginId::kNodeResourcesFit,
                                            PluginId::kNodeResourcesBalancedAllocation}),
                   {{PluginId::kNodeResourcesFit, 4}}));
}

TEST(ProfilePlugins, StarAtAPointLeavesOnlyWhatThePointEnables) {
  const Profile profile = read(R"(
profiles:
  - plugins:
      multiPoint: {enabled: [{name: LimitAware}]}
      filter: {disabled: [{name: "*"}]}
      score: {enabled: [{name: ResourceLimitAware}], disabled: [{name: "*"}]}
)");
  EXPECT_TRUE(profile.filters.empty());
  EXPECT_EQ(scores_of(profile), (Scores{{PluginId::kResourceLimitAware, 1}}));
}

TEST(ProfilePlugins, OtherPointsAreCheckedAndChangeNothing) {
  const Profile profile = read(R"(
profiles:
  - plugins:
      preFilter: {enabled: [{name: LimitAware}]}
      preScore: {enabled: [{name: NodeResourcesBalancedAllocation}]}
      reserve: {enabled: [{name: LoadAwareScheduling}]}
      postFilter: {disabled: [{name: DefaultPreemption}]}
      queueSort: {disabled: [{name: "*"}]}
      preBind: {enabled: [{name: VolumeBinding}]}
)");
  EXPECT_EQ(profile.filters, kDefaultFilters);
  EXPECT_EQ(scores_of(profile), kDefaultScores);
}

TEST(ProfilePlugins, WhatConcernsKubeSchedulerAloneIsIgnored) {
  const Profile profile = read(R"(
parallelism: 16
leaderElection: {leaderElect: true}
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf, qps: 50}
enableProfiling: false
enableContentionProfiling: false
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 10
delayCacheUntilActive: true
extenders: []
profiles:
  - schedulerName: default-scheduler
    percentageOfNodesToScore: 50
    pluginConfig:
      - name: DefaultPreemption
        args: {minCandidateNodesPercentage: 10}
      - name: NodeAffinity
        args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}
)");
  EXPECT_EQ(profile.filters, Profile::standard().filters);
}

// --- Headroom's own document ---

TEST(ProfileHeadroom, ModeAndVersionWhereverTheDocumentStands) {
  const std::string own =
      "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nmode: Upstream\n"
      "kubernetesVersion: 1.36\n";
  // Upstream accepts a ratio that is no percentage: the mode counts for arguments that stand first.
  const std::string scheduler = with_head(
      "profiles: [{pluginConfig: [{name: LimitAware, args: {defaultLimitToAllocatableRatio: {cpu: "
      "'1.5'}}}, {name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu}]}}]}]\n");
  for (const std::string& text : {own, own + "---\n" + scheduler, scheduler + "---\n" + own}) {
    const Result<Profile> profile = read_profile(text, "s.yaml");
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(profile->mode, Mode::kUpstream);
    EXPECT_EQ(profile->kubernetes_version, KubernetesVersion::k136);
    EXPECT_EQ(profile->filters, Profile::standard().filters);
    const bool both = text.size() > own.size();
    EXPECT_EQ(profile->limit_aware.bad_default_ratios.size(), both ? 1u : 0u);
    EXPECT_EQ(profile->balanced.resources.size(), both ? 1u : 2u);
  }
}

// --- Arguments: defaults and what replaces them ---

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
        {"weight": 30, "preference": {"matchExpressions": [
          {"key": "cpus", "operator": "Gt", "values": ["8"]}, {"key": "gpu", "operator": "Exists"}
        ]}}]}})")
                                    .node_affinity;
  ASSERT_EQ(args.required.value().size(), 2u);
  EXPECT_EQ(args.required->front().match_expressions,
            (std::vector<NodeSelectorRequirement>{{"a.b/zone", "In", {"x", "y"}}}));
  EXPECT_EQ(args.required->back().match_fields,
            (std::vector<NodeSelectorRequirement>{{"metadata.name", "NotIn", {"n1"}}}));
  ASSERT_EQ(args.preferred.size(), 1u);
  EXPECT_EQ(args.preferred.front().weight, 30);
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

// It has neither filter nor score: postFilter is what turns it on.
TEST(ProfileReader, CapacityScheduling) {
  const auto read = [](const std::string& plugins, const std::string& mode = "Proposal") {
    return read_profile(
        "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nmode: " + mode +
            "\n---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles:\n  - plugins: {" +
            plugins +
            "}\n    pluginConfig: [{name: CapacityScheduling, args: {crossNodePreemption: "
            "true}}]\n",
        "s.yaml");
  };
  EXPECT_TRUE(Profile::standard().capacity_scheduling);
  EXPECT_FALSE(read("filter: {}")->capacity_scheduling);
  EXPECT_TRUE(read("postFilter: {enabled: [{name: CapacityScheduling}]}")->capacity_scheduling);
  EXPECT_TRUE(read("multiPoint: {enabled: [{name: CapacityScheduling}]}")->capacity_scheduling);
  EXPECT_TRUE(read("preFilter: {enabled: [{name: CapacityScheduling}]},"
                   "postFilter: {enabled: [{name: CapacityScheduling}]},"
                   "reserve: {enabled: [{name: CapacityScheduling}]}")
                  ->capacity_scheduling_args.cross_node_preemption);
  EXPECT_EQ(read("filter: {}", "Upstream").error().message,
            "s.yaml:9: profiles[0].pluginConfig[0].args.crossNodePreemption: is not in mode "
            "Upstream");
}

// What kube-scheduler 1.37 writes of its own profile (--write-config-to) says what its absence
// says.
TEST(ProfileReader, KubeSchedulersOwnProfileWrittenOut) {
  const Result<Profile> written = read_profile(
      "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nprofile: default\n---\n"
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    multiPoint:\n"
      "      enabled: [{name: SchedulingGates}, {name: PrioritySort}, {name: NodeUnschedulable},\n"
      "        {name: NodeName}, {name: TaintToleration, weight: 3}, {name: NodeAffinity, weight: "
      "2},\n"
      "        {name: NodePorts}, {name: NodeResourcesFit, weight: 1}, {name: "
      "VolumeRestrictions},\n"
      "        {name: NodeVolumeLimits}, {name: VolumeBinding}, {name: VolumeZone},\n"
      "        {name: PodTopologySpread, weight: 2}, {name: InterPodAffinity, weight: 2},\n"
      "        {name: DefaultPreemption}, {name: NodeResourcesBalancedAllocation, weight: 1},\n"
      "        {name: ImageLocality, weight: 1}, {name: DefaultBinder}, {name: DynamicResources},\n"
      "        {name: NodeDeclaredFeatures}, {name: GangScheduling}]\n"
      "    placementGenerate: {}\n    placementScore: {}\n    podGroupPostFilter: {}\n"
      "    queueSort: {enabled: [{name: PrioritySort}]}\n"
      "  pluginConfig:\n"
      "  - {name: PodTopologySpread, args: {defaultingType: ''}}\n"
      "  - {name: VolumeBinding, args: {bindTimeoutSeconds: 600, shape: []}}\n",
      "s.yaml");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  const Profile plain = Profile::kube_scheduler();
  EXPECT_EQ(plain.filters, written->filters);
  EXPECT_EQ(plain.topology_spread.system_defaults, written->topology_spread.system_defaults);
  EXPECT_EQ(plain.volume_binding.shape, written->volume_binding.shape);
  ASSERT_EQ(plain.scores.size(), written->scores.size());
  for (std::size_t s = 0; s < plain.scores.size(); ++s) {
    EXPECT_EQ(plain.scores[s].plugin, written->scores[s].plugin);
    EXPECT_EQ(plain.scores[s].weight, written->scores[s].weight);
  }
}

// --- Errors, word by word ---

constexpr std::string_view kImplemented =
    "SchedulingGates, NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, "
    "NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, "
    "PodTopologySpread, InterPodAffinity, NodeDeclaredFeatures, NodeResourcesBalancedAllocation, "
    "ImageLocality, LimitAware, ResourceLimitAware, LoadAwareScheduling, CapacityScheduling";

TEST(ProfileErrors, Documents) {
  const auto error = [](std::string_view text) {
    const Result<Profile> profile = read_profile(text, "s.yaml");
    EXPECT_FALSE(profile.has_value()) << text;
    return profile ? "" : profile.error().message;
  };
  EXPECT_EQ(error("a: [1\n"), "s.yaml:2: not YAML: end of sequence flow not found");
  EXPECT_EQ(error("- 1\n"), "s.yaml:1: want an object, got a list");
  EXPECT_EQ(error("kubescheduler"), "s.yaml:1: want an object, got kubescheduler");
  EXPECT_EQ(error("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: "
                  "KubeSchedulerConfiguration\n"),
            "s.yaml:1: apiVersion \"kubescheduler.config.k8s.io/v1beta3\" and kind "
            "\"KubeSchedulerConfiguration\" are not supported; accepted: "
            "kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration, headroom/v1alpha1 "
            "HeadroomConfiguration");
  EXPECT_EQ(error(with_head("---\n" + std::string(kHead))),
            "s.yaml:4: a second KubeSchedulerConfiguration; accepted: one of each kind");
  EXPECT_EQ(error(std::string(kConfigBytesMax + 1, '#')),
            "s.yaml: more than 1048576 bytes of YAML");
}

TEST(ProfileErrors, Files) {
  const Result<Profile> missing = read_profile_file("no-such-file.yaml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "no-such-file.yaml: No such file or directory");
  const Result<Profile> folder = read_profile_file(".");
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::kIo);
  EXPECT_EQ(folder.error().message, ".: Is a directory");
}

// --- Several profiles ---

constexpr std::string_view kScheduler =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
constexpr std::string_view kUpstream =
    "---\napiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nmode: Upstream\n";

TEST(Profiles, EachSaysWhatDiffersFromTheOneThatNothingIsSaidOf) {
  const std::string yaml = std::string(kScheduler) + R"(profiles:
  - schedulerName: a
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated}}
  - schedulerName: b
    plugins: {multiPoint: {enabled: [{name: LimitAware, weight: 3}]}}
  - schedulerName: c
)" + std::string(kUpstream);
  const Result<std::vector<Profile>> read = read_profiles(yaml, "s.yaml");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  const Profile &a = (*read)[0], &b = (*read)[1], &c = (*read)[2];
  EXPECT_EQ(a.scheduler_name, "a");
  EXPECT_EQ(a.fit.strategy, NodeResourcesFitArgs::Strategy::kMostAllocated);
  EXPECT_EQ(b.scheduler_name, "b");
  EXPECT_EQ(b.fit.strategy, NodeResourcesFitArgs::Strategy::kLeastAllocated);
  EXPECT_FALSE(b.uses({PluginId::kLoadAwareScheduling}));
  EXPECT_EQ(c.scheduler_name, "c");
  EXPECT_EQ(c.filters, Profile::standard().filters);
  for (const Profile& profile : *read) EXPECT_EQ(profile.mode, Mode::kUpstream);
}

TEST(Profiles, OneAsEver) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "null"}) {
    const auto none = read_profiles(text, "s.yaml");
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none.error().message,
              "s.yaml: there is no KubeSchedulerConfiguration and no HeadroomConfiguration in it");
  }
  EXPECT_EQ(read_profiles(std::string(kScheduler) + "profiles: []\n", "s.yaml")->size(), 1U);
  EXPECT_EQ(read_profiles_file("standard")->at(0).scheduler_name, "default-scheduler");
  EXPECT_EQ(read_profiles_file("default")->at(0).mode, Mode::kUpstream);
  EXPECT_EQ(read_profiles_file("no-such-file").error().code, ErrorCode::kNotFound);
}

TEST(Profiles, Errors) {
  const auto error_of_list = [](const std::string& list) {
    const auto read = read_profiles(std::string(kScheduler) + "profiles:\n" + list, "s.yaml");
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(error_of_list("- schedulerName: a\n- schedulerName: b\n- schedulerName: a\n"),
            "s.yaml:6: profiles[2]: schedulerName: another profile has \"a\"");
  EXPECT_EQ(error_of_list("- {}\n- {}\n"),
            "s.yaml:5: profiles[1]: schedulerName: another profile has \"default-scheduler\"");
  EXPECT_EQ(error_of_list("- schedulerName: a\n- schedulerName: b\n  name: c\n"),
            "s.yaml:6: profiles[1].name: unknown field; accepted: percentageOfNodesToScore, "
            "pluginConfig, plugins, schedulerName");
  std::string list;
  for (std::size_t p = 0; p < kProfilesMax; ++p) list += fmt::format("- schedulerName: s{}\n", p);
  EXPECT_EQ(error_of_list(list), "");
  EXPECT_EQ(error_of_list(list + "- schedulerName: more\n"),
            "s.yaml:12: profiles[8]: kProfilesMax is 8");
}

TEST(ProfileErrors, Fields) {
  EXPECT_EQ(error_of("profile: []\n"),
            "s.yaml:3: profile: unknown field; accepted: apiVersion, clientConnection, "
            "delayCacheUntilActive, enableContentionProfiling, enableProfiling, extenders, kind, "
            "leaderElection, parallelism, percentageOfNodesToScore, podInitialBackoffSeconds, "
            "podMaxBackoffSeconds, profiles");
  EXPECT_EQ(error_of("profiles: []\nprofiles: []\n"), "s.yaml:4: profiles: stands here twice");
  EXPECT_EQ(error_of("profiles: {}\n"), "s.yaml:3: profiles: want a list, got an object");
  EXPECT_EQ(error_of("profiles:\n  - schedulerName: [a]\n"),
            "s.yaml:4: profiles[0].schedulerName: want a text, got a list");
  EXPECT_EQ(error_of("profiles:\n  - name: a\n"),
            "s.yaml:4: profiles[0].name: unknown field; accepted: percentageOfNodesToScore, "
            "pluginConfig, plugins, schedulerName");
  EXPECT_EQ(error_of("profiles:\n  - {}\n  - {}\n"),
            "s.yaml:5: profiles[1]: a second profile is not supported; accepted: one per file");
  EXPECT_EQ(error_of("profiles:\n  - plugins:\n      scores: {}\n"),
            "s.yaml:5: profiles[0].plugins.scores: unknown field; accepted: bind, filter, "
            "multiPoint, permit, placementGenerate, placementScore, podGroupPostFilter, postBind, "
            "postFilter, preBind, preEnqueue, preFilter, preScore, "
            "queueSort, reserve, score");
  EXPECT_EQ(
      error_of("profiles: [{plugins: {score: {enable: []}}}]\n"),
      "s.yaml:3: profiles[0].plugins.score.enable: unknown field; accepted: disabled, enabled");
  EXPECT_EQ(error_of("profiles: [{plugins: {score: {enabled: [{plugin: a}]}}}]\n"),
            "s.yaml:3: profiles[0].plugins.score.enabled[0].plugin: unknown field; accepted: name, "
            "weight");
}

TEST(ProfileErrors, Headroom) {
  const auto error = [](std::string_view body) {
    const Result<Profile> profile = read_profile(
        "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\n" + std::string(body), "h");
    EXPECT_FALSE(profile.has_value()) << body;
    return profile ? "" : profile.error().message;
  };
  EXPECT_EQ(error("mode: upstream"),
            "h:3: mode: \"upstream\" is not known; accepted: Proposal, Upstream");
  EXPECT_EQ(error("kubernetesVersion: 1.20"),
            "h:3: kubernetesVersion: \"1.20\" is not supported; accepted: \"1.35\", for earlier "
            "ones too, \"1.36\", and \"1.37\", for later ones too");
  EXPECT_EQ(error("profile: kube-scheduler"),
            "h:3: profile: \"kube-scheduler\" is not known; accepted: standard, default");
  EXPECT_EQ(
      error("modes: Proposal"),
      "h:3: modes: unknown field; accepted: apiVersion, kind, kubernetesVersion, mode, profile");
}

TEST(ProfileErrors, Plugins) {
  const auto error = [](std::string_view plugins) {
    return error_of("profiles: [{plugins: {" + std::string(plugins) + "}}]\n");
  };
  EXPECT_EQ(
      error("multiPoint: {enabled: [{name: LimitsAware}]}"),
      "s.yaml:3: profiles[0].plugins.multiPoint.enabled[0].name: \"LimitsAware\" is not known; "
      "accepted for multiPoint: " +
          std::string(kImplemented));
  EXPECT_EQ(
      error("score: {enabled: [{name: NodePorts}]}"),
      "s.yaml:3: profiles[0].plugins.score.enabled[0].name: \"NodePorts\" does not extend score; "
      "accepted for score: TaintToleration, NodeAffinity, NodeResourcesFit, VolumeBinding, "
      "PodTopologySpread, InterPodAffinity, NodeResourcesBalancedAllocation, ImageLocality, "
      "LimitAware, ResourceLimitAware, LoadAwareScheduling");
  EXPECT_EQ(
      error("queueSort: {enabled: [{name: NodePorts}]}"),
      "s.yaml:3: profiles[0].plugins.queueSort.enabled[0].name: \"NodePorts\" does not extend "
      "queueSort; accepted for queueSort: none");
  EXPECT_EQ(error("bind: {enabled: [{name: DefaultBinder}, {name: DefaultBinder}]}"),
            "s.yaml:3: profiles[0].plugins.bind.enabled[1]: \"DefaultBinder\" is enabled twice");
  EXPECT_EQ(error("filter: {disabled: [{name: NodePort}]}"),
            "s.yaml:3: profiles[0].plugins.filter.disabled[0].name: \"NodePort\" is not known; "
            "accepted: *, " +
                std::string(kImplemented) +
                ", DefaultBinder, DefaultPreemption, DeferredPodScheduling, DynamicResources, "
                "GangScheduling, PodGroupPodsCount, PrioritySort, TopologyPlacementGenerator");
  EXPECT_EQ(error("score: {enabled: [{name: LimitAware}, {name: LimitAware}]}"),
            "s.yaml:3: profiles[0].plugins.score.enabled[1]: \"LimitAware\" is enabled twice");
  EXPECT_EQ(error("score: {enabled: [{weight: 1}]}"),
            "s.yaml:3: profiles[0].plugins.score.enabled[0]: has no name");
  EXPECT_EQ(error("score: {enabled: [{name: LimitAware, weight: 10001}]}"),
            "s.yaml:3: profiles[0].plugins.score.enabled[0].weight: 10001 is not in [0, 10000]");
  EXPECT_EQ(error("score: {enabled: [{name: LimitAware, weight: '2'}]}"),
            "s.yaml:3: profiles[0].plugins.score.enabled[0].weight: want an integer, got \"2\"");
  for (const char* order : {"{name: NodePorts, weight: 3}", "{weight: 3, name: NodePorts}"}) {
    EXPECT_EQ(error("multiPoint: {enabled: [" + std::string(order) + "]}"),
              "s.yaml:3: profiles[0].plugins.multiPoint.enabled[0]: NodePorts has no score to "
              "weigh with 3");
  }
}

TEST(ProfileErrors, PluginConfig) {
  const auto error = [](std::string_view items) {
    return error_of("profiles: [{pluginConfig: [" + std::string(items) + "]}]\n");
  };
  EXPECT_EQ(error("{name: Foo, args: {}}"),
            "s.yaml:3: profiles[0].pluginConfig[0].name: \"Foo\" is not known; accepted: " +
                std::string(kImplemented));
  EXPECT_EQ(error("{name: LimitAware}, {name: LimitAware}"),
            "s.yaml:3: profiles[0].pluginConfig[1].name: \"LimitAware\" is configured twice");
  EXPECT_EQ(error("{args: {}}"), "s.yaml:3: profiles[0].pluginConfig[0]: has no name");
  EXPECT_EQ(error("{name: LimitAware, arg: {}}"),
            "s.yaml:3: profiles[0].pluginConfig[0].arg: unknown field; accepted: args, name");
  EXPECT_EQ(error("{args: {resource: []}, name: LimitAware}"),
            "s.yaml:3: profiles[0].pluginConfig[0].args.resource: unknown field; accepted: "
            "apiVersion, defaultLimitToAllocatableRatio, kind, resources, scoringResourceWeights");
  EXPECT_EQ(error("{name: LimitAware, args: {kind: LimitAware}}"),
            "s.yaml:3: profiles[0].pluginConfig[0].args.kind: LimitAware is not supported; "
            "accepted: LimitAwareArgs");
  EXPECT_EQ(error("{name: LimitAware, args: {apiVersion: v1}}"),
            "s.yaml:3: profiles[0].pluginConfig[0].args.apiVersion: v1 is not supported; accepted: "
            "kubescheduler.config.k8s.io/v1");
  EXPECT_EQ(error("{name: NodeName, args: {a: 1}}"),
            "s.yaml:3: profiles[0].pluginConfig[0].args.a: unknown field; accepted: apiVersion, "
            "kind");
}

TEST(ProfileErrors, FitArgs) {
  const auto error = [](std::string_view json) {
    return args_error(PluginId::kNodeResourcesFit, json);
  };
  const auto strategy = [&](std::string_view json) {
    return error("{\"scoringStrategy\": " + std::string(json) + "}");
  };
  EXPECT_EQ(error("[]"), "NodeResourcesFit args: want an object, got a list");
  EXPECT_EQ(error("{\"a\": "), "NodeResourcesFit args: not YAML: end of map flow not found");
  EXPECT_EQ(strategy("{}"), "NodeResourcesFit args: scoringStrategy: has no type");
  EXPECT_EQ(strategy(R"({"type": "Least"})"),
            "NodeResourcesFit args: scoringStrategy.type: \"Least\" is not known; accepted: "
            "LeastAllocated, MostAllocated, RequestedToCapacityRatio");
  EXPECT_EQ(strategy(R"({"type": "RequestedToCapacityRatio"})"),
            "NodeResourcesFit args: scoringStrategy: type RequestedToCapacityRatio needs "
            "requestedToCapacityRatio.shape");
  EXPECT_EQ(strategy(R"({"requestedToCapacityRatio": {"shape": []}})"),
            "NodeResourcesFit args: scoringStrategy.requestedToCapacityRatio.shape: want at least "
            "one point");
  EXPECT_EQ(strategy(R"({"requestedToCapacityRatio": {}})"),
            "NodeResourcesFit args: scoringStrategy.requestedToCapacityRatio: has no shape");
  EXPECT_EQ(strategy(R"({"requestedToCapacityRatio": {"shape":
                         [{"utilization": 5, "score": 1}, {"utilization": 5, "score": 2}]}})"),
            "NodeResourcesFit args: scoringStrategy.requestedToCapacityRatio.shape[1]: utilization "
            "5 does not follow 5; points must be in strictly increasing order");
  EXPECT_EQ(strategy(R"({"requestedToCapacityRatio": {"shape": [{"score": 11}]}})"),
            "NodeResourcesFit args: scoringStrategy.requestedToCapacityRatio.shape[0].score: 11 is "
            "not in [0, 10]");
  EXPECT_EQ(strategy(R"({"resources": [{"name": "cpu", "weight": 101}]})"),
            "NodeResourcesFit args: scoringStrategy.resources[0].weight: 101 is not in [0, 100]");
  EXPECT_EQ(strategy(R"({"resources": [{"name": "cpu", "weight": 1.5}]})"),
            "NodeResourcesFit args: scoringStrategy.resources[0].weight: want an integer, got 1.5");
  EXPECT_EQ(
      strategy(R"({"resources": [{"name": "cpu", "weight": 99999999999999999999}]})"),
      "NodeResourcesFit args: scoringStrategy.resources[0].weight: 99999999999999999999 does not "
      "fit 64 bits");
  EXPECT_EQ(strategy(R"({"resources": [{"name": "cpu"}, {"name": "cpu"}]})"),
            "NodeResourcesFit args: scoringStrategy.resources[1]: \"cpu\" is listed twice");
  EXPECT_EQ(strategy(R"({"resources": [{"weight": 1}]})"),
            "NodeResourcesFit args: scoringStrategy.resources[0]: has no name");
  EXPECT_EQ(
      strategy(R"({"resources": [{"name": "cpus"}]})"),
      "NodeResourcesFit args: scoringStrategy.resources[0].name: \"cpus\" is no resource that "
      "is counted; accepted: cpu, memory, ephemeral-storage, hugepages-SIZE, "
      "attachable-volumes-NAME, or an extended resource DOMAIN/NAME");
  EXPECT_EQ(
      error(R"({"ignoredResources": ["cpu"]})"),
      "NodeResourcesFit args: ignoredResources[0]: \"cpu\" is no extended resource; accepted: "
      "DOMAIN/NAME");
  EXPECT_EQ(
      error(R"({"ignoredResourceGroups": ["a.b/c"]})"),
      "NodeResourcesFit args: ignoredResourceGroups[0]: \"a.b/c\" is no group; accepted: what "
      "stands before the / of an extended resource");
}

TEST(ProfileErrors, OtherArgs) {
  EXPECT_EQ(args_error(PluginId::kNodeResourcesBalancedAllocation,
                       R"({"resources": [{"name": "cpu", "weight": 2}]})"),
            "NodeResourcesBalancedAllocation args: resources[0].weight: 2 is not in [0, 1]");
  EXPECT_EQ(args_error(PluginId::kLimitAware, R"({"scoringResourceWeights": {"a.b/c": -1}})"),
            "LimitAware args: scoringResourceWeights[\"a.b/c\"]: -1 is not in [0, 100]");
  EXPECT_EQ(
      args_error(PluginId::kResourceLimitAware, R"({"defaultLimit": {"cpu": "1x"}})"),
      "ResourceLimitAware args: defaultLimit.cpu: \"1x\" is no quantity; accepted: a quantity "
      "(500m, 1Gi), or Allocatable");
  EXPECT_EQ(args_error(PluginId::kResourceLimitAware, R"({"defaultLimit": {"cpu": -1}})"),
            "ResourceLimitAware args: defaultLimit.cpu: -1 is less than 0");
}

TEST(ProfileErrors, NodeAffinityArgs) {
  const auto required = [](const std::string& term) {
    return args_error(PluginId::kNodeAffinity,
                      R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": )"
                      R"({"nodeSelectorTerms": [)" +
                          term + "]}}}");
  };
  const std::string in_args =
      "NodeAffinity args: addedAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  EXPECT_EQ(required(""), in_args + ": has no nodeSelectorTerms: no node matches");
  const auto expression = [&](const std::string& fields) {
    return required("{\"matchExpressions\": [{" + fields + "}]}");
  };
  const std::string at = in_args + ".nodeSelectorTerms[0].matchExpressions[0]: ";
  EXPECT_EQ(expression(R"("key": "a b", "operator": "Exists")"),
            at + "key \"a b\" is not a label key");
  EXPECT_EQ(expression(R"("key": "a", "operator": "in", "values": ["b"])"),
            at + "a: operator \"in\" is not known; accepted: In, NotIn, Exists, DoesNotExist, Gt, "
                 "Lt");
  EXPECT_EQ(expression(R"("key": "a", "operator": "NotIn")"), at + "a: NotIn needs values");
  EXPECT_EQ(expression(R"("key": "a", "operator": "Exists", "values": ["b"])"),
            at + "a: Exists takes no values");
  EXPECT_EQ(expression(R"("key": "a", "operator": "Gt", "values": ["1", "2"])"),
            at + "a: Gt needs one value, an integer");
  EXPECT_EQ(expression(R"("key": "a", "operator": "Gt", "values": ["-1"])"),
            at + "a: \"-1\" is not a label value");
  EXPECT_EQ(expression(R"("key": "a", "operator": "Lt", "values": ["+5"])"),
            at + "a: \"+5\" is not a label value");
  EXPECT_EQ(required(R"({"matchFields": [{"key": "metadata.uid", "operator": "In",
                                          "values": ["b"]}]})"),
            in_args +
                ".nodeSelectorTerms[0].matchFields[0]: key \"metadata.uid\" is not known; "
                "accepted: metadata.name");
  EXPECT_EQ(required(R"({"matchFields": [{"key": "metadata.name", "operator": "In",
                                          "values": ["b", "c"]}]})"),
            in_args +
                ".nodeSelectorTerms[0].matchFields[0]: metadata.name: operator \"In\" with "
                "2 values; accepted: In or NotIn with one");
  EXPECT_EQ(args_error(PluginId::kNodeAffinity,
                       R"({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                           [{"weight": 101}]}})"),
            "NodeAffinity args: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
            "weight: 101 is not in [0, 100]");
}

TEST(ProfileErrors, PodTopologySpreadArgs) {
  const auto list = [](const std::string& constraints) {
    return args_error(PluginId::kPodTopologySpread,
                      R"({"defaultingType": "List", "defaultConstraints": [)" + constraints + "]}");
  };
  const auto constraint = [&](const std::string& fields) { return list("{" + fields + "}"); };
  const std::string at = "PodTopologySpread args: defaultConstraints[0]";
  const std::string whole =
      R"({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"})";
  EXPECT_EQ(constraint(R"("topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule")"),
            at + ": has no maxSkew");
  EXPECT_EQ(constraint(R"("maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule")"),
            at + ": has no topologyKey");
  EXPECT_EQ(constraint(R"("maxSkew": 1, "topologyKey": "a")"), at + ": has no whenUnsatisfiable");
  EXPECT_EQ(constraint(R"("maxSkew": 0)"), at + ".maxSkew: 0 is not in [1, 2147483647]");
  EXPECT_EQ(constraint(R"("minDomains": 0)"), at + ".minDomains: 0 is not in [1, 2147483647]");
  EXPECT_EQ(constraint(R"("topologyKey": "-")"), at + ".topologyKey: \"-\" is not a label key");
  EXPECT_EQ(constraint(R"("whenUnsatisfiable": "Never")"),
            at + ".whenUnsatisfiable: \"Never\" is not known; accepted: DoNotSchedule, "
                 "ScheduleAnyway");
  EXPECT_EQ(constraint(R"("nodeTaintsPolicy": "honor")"),
            at + ".nodeTaintsPolicy: \"honor\" is not known; accepted: Honor, Ignore");
  EXPECT_EQ(constraint(R"("labelSelector": {})"),
            at + ".labelSelector: a default constraint has no selector: each pod's follows from "
                 "its services and its controller");
  EXPECT_EQ(list(whole + ", " + whole),
            "PodTopologySpread args: defaultConstraints[1]: \"zone\" with ScheduleAnyway is listed "
            "twice");
  EXPECT_EQ(args_error(PluginId::kPodTopologySpread, "{\"defaultConstraints\": [" + whole + "]}"),
            "PodTopologySpread args: defaultConstraints: 1 with defaultingType System; they need "
            "List");
  EXPECT_EQ(args_error(PluginId::kPodTopologySpread, R"({"defaultingType": "Cluster"})"),
            "PodTopologySpread args: defaultingType: \"Cluster\" is not known; accepted: System, "
            "List");
}

TEST(ProfileErrors, AffinityAndVolumeArgs) {
  EXPECT_EQ(args_error(PluginId::kInterPodAffinity, R"({"hardPodAffinityWeight": 101})"),
            "InterPodAffinity args: hardPodAffinityWeight: 101 is not in [0, 100]");
  EXPECT_EQ(args_error(PluginId::kVolumeBinding, R"({"bindTimeoutSeconds": -1})"),
            "VolumeBinding args: bindTimeoutSeconds: -1 is less than 0");
  EXPECT_EQ(args_error(PluginId::kVolumeBinding, R"({"shape": [{"utilization": 101}]})"),
            "VolumeBinding args: shape[0].utilization: 101 is not in [0, 100]");
  Profile before;
  before.kubernetes_version = KubernetesVersion::k136;
  EXPECT_EQ(read_plugin_args(PluginId::kVolumeBinding, R"({"shape": [{"score": 1}]})", before)
                .error()
                .message,
            "VolumeBinding args: shape: needs kubernetesVersion 1.37");
}

// What a program fills is checked as what is read.
TEST(ProfileErrors, OfAProfileThatAProgramFills) {
  const auto error = [](const auto& change) {
    Profile profile = Profile::kube_scheduler();
    change(profile);
    const Result<void> checked = check_profile(profile);
    EXPECT_FALSE(checked.has_value());
    return checked ? "" : checked.error().message;
  };
  EXPECT_TRUE(check_profile(Profile::kube_scheduler()).has_value());
  EXPECT_EQ(error([](Profile& p) {
              p.scores.push_back({PluginId::kNodePorts, 1});
            }),
            "scores: NodePorts has no score");
  EXPECT_EQ(error([](Profile& p) { p.filters.push_back(PluginId::kImageLocality); }),
            "filters: ImageLocality is no filter");
  EXPECT_EQ(error([](Profile& p) { p.inter_pod_affinity.hard_pod_affinity_weight = -1; }),
            "InterPodAffinity: hardPodAffinityWeight: -1 is not in [0, 100]");
  EXPECT_EQ(error([](Profile& p) { p.volume_binding.shape.clear(); }),
            "VolumeBinding: shape: want at least one point");
  EXPECT_EQ(error([](Profile& p) {
              p.volume_binding.shape = {{50, 1}, {50, 2}};
            }),
            "VolumeBinding: shape: utilization 50 after 50; points must be in strictly increasing "
            "order, in [0, 100]");
  EXPECT_EQ(error([](Profile& p) {
              p.fit.shape = {{50, 11}};
            }),
            "NodeResourcesFit: shape: score 11 is not in [0, 10]");
  EXPECT_EQ(error([](Profile& p) {
              p.fit.strategy = NodeResourcesFitArgs::Strategy::kRequestedToCapacityRatio;
            }),
            "NodeResourcesFit: RequestedToCapacityRatio needs a shape");
  TopologySpreadConstraint constraint;
  constraint.topology_key = "zone";
  const auto spread = [&](const auto& change) {
    return error([&](Profile& p) {
      p.topology_spread.system_defaults = false;
      p.topology_spread.default_constraints = {constraint};
      change(p.topology_spread.default_constraints);
    });
  };
  using Constraints = std::vector<TopologySpreadConstraint>;
  const std::string at = "PodTopologySpread: defaultConstraints: \"zone\": ";
  EXPECT_EQ(spread([](Constraints& list) { list[0].max_skew = 0; }),
            at + "maxSkew: 0 is less than 1");
  EXPECT_EQ(spread([](Constraints& list) { list[0].min_domains = 0; }),
            at + "minDomains: 0 is less than 1");
  EXPECT_EQ(spread([](Constraints& list) { list[0].selector.emplace(); }),
            at + "a default constraint has no labelSelector");
  EXPECT_EQ(spread([](Constraints& list) { list.push_back(list[0]); }),
            at + "ScheduleAnyway is listed twice");
  EXPECT_EQ(error([&](Profile& p) { p.topology_spread.default_constraints = {constraint}; }),
            "PodTopologySpread: defaultConstraints: 1 with defaultingType System; they need List");
  constexpr const char* kRequired =
      "NodeAffinity: addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: ";
  EXPECT_EQ(error([](Profile& p) { p.node_affinity.required.emplace(); }),
            std::string(kRequired) + "has no terms: no node matches");
  EXPECT_EQ(error([](Profile& p) {
              p.node_affinity.required.emplace(1).front().match_expressions = {{"a", "In", {}}};
            }),
            std::string(kRequired) + "a: In needs values");
  EXPECT_EQ(error([](Profile& p) { p.node_affinity.preferred.emplace_back().weight = 101; }),
            "NodeAffinity: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: 101 is "
            "not in [0, 100]");
}

TEST(ProfileErrors, LimitAwareRatio) {
  const auto error = [](std::string_view value, Mode mode) {
    return args_error(PluginId::kLimitAware,
                      "{\"defaultLimitToAllocatableRatio\": {\"cpu\": " + std::string(value) + "}}",
                      mode);
  };
  const std::string at = "LimitAware args: defaultLimitToAllocatableRatio.cpu: ";
  for (const char* text :
       {"\"1.5\"", "\"150\"", "\"\"", "\"+5%\"", "\"-5%\"", "\" 5%\"", "\"99999999999%\""}) {
    EXPECT_EQ(error(text, Mode::kProposal),
              at + text + " is no percentage; accepted: 125, \"125%\"");
  }
  EXPECT_EQ(error("-5", Mode::kProposal), at + "-5 is not in [0, 2147483647]");
  EXPECT_EQ(error("null", Mode::kProposal), at + "want a text, got null");
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    EXPECT_EQ(error("1.5", mode), at + "want an integer, got 1.5");
    EXPECT_EQ(error("1e2", mode), at + "want an integer, got 1e2");
    EXPECT_EQ(error("[]", mode), at + "want a text, got a list");
  }
  EXPECT_EQ(error("2147483648", Mode::kUpstream),
            at + "2147483648 is not in [-2147483648, 2147483647]");
}

TEST(ProfileErrors, LoadAwareArgs) {
  const auto error = [](std::string_view fields, Mode mode = Mode::kUpstream) {
    return args_error(PluginId::kLoadAwareScheduling, "{" + std::string(fields) + "}", mode);
  };
  const std::string at = "LoadAwareScheduling args: ";
  EXPECT_EQ(error(R"("usageThreshold": {})"),
            at + "usageThreshold: unknown field; accepted: aggregated, allowCustomizeEstimation, "
                 "apiVersion, dominantResourceWeight, enableScheduleWhenNodeMetricsExpired, "
                 "estimatedScalingFactors, estimatedSecondsAfterInitialized, "
                 "estimatedSecondsAfterPodScheduled, estimator, filterExpiredNodeMetrics, kind, "
                 "nodeMetricExpirationSeconds, prodUsageIncludeSys, prodUsageThresholds, "
                 "resourceWeights, scoreAccordingProdUsage, supportedResources, usageThresholds");
  EXPECT_EQ(error(R"("filterExpiredNodeMetrics": "true")"),
            at + "filterExpiredNodeMetrics: want true or false, got \"true\"");
  EXPECT_EQ(error(R"("nodeMetricExpirationSeconds": 0)"),
            at + "nodeMetricExpirationSeconds: 0 is not in [1, 9223372036854]");
  EXPECT_EQ(error(R"("resourceWeights": {"cpu": 0})"),
            at + "resourceWeights.cpu: 0 is not in [1, 100]");
  EXPECT_EQ(error(R"("dominantResourceWeight": 101)"),
            at + "dominantResourceWeight: 101 is not in [0, 100]");
  EXPECT_EQ(error(R"("usageThresholds": {"cpu": 101})"),
            at + "usageThresholds.cpu: 101 is not in [0, 100]");
  EXPECT_EQ(error(R"("prodUsageThresholds": {"cpu": 101})", Mode::kProposal),
            at + "prodUsageThresholds.cpu: 101 is not in [0, 100]");
  EXPECT_EQ(error(R"("estimatedScalingFactors": {"cpu": 0})"),
            at + "estimatedScalingFactors.cpu: 0 is not in [1, 100]");
  EXPECT_EQ(error(R"("resourceWeights": {"nvidia.com/gpu": 1})"),
            "LoadAwareScheduling args: resourceWeights names \"nvidia.com/gpu\", which has no "
            "estimatedScalingFactors");
  EXPECT_EQ(error(R"("estimator": "mine")"),
            at + "estimator: \"mine\" is not supported; accepted: defaultEstimator");
  EXPECT_EQ(error(R"("supportedResources": ["gpu"])"),
            at + "supportedResources[0]: \"gpu\" is no resource that is counted; accepted: cpu, "
                 "memory, ephemeral-storage, hugepages-SIZE, attachable-volumes-NAME, or an "
                 "extended resource DOMAIN/NAME");
  EXPECT_EQ(error(R"("aggregated": {"usageAggregationType": "p42"})"),
            at + "aggregated.usageAggregationType: \"p42\" is not known; accepted: avg, p50, p90, "
                 "p95, p99, or \"\" for none");
  for (const char* duration :
       {"\"5\"", "\"\"", "\"-5m\"", "\"5 m\"", "\"1d\"", "\".s\"", "300", "\"9999999999h\""}) {
    EXPECT_EQ(error("\"aggregated\": {\"scoreAggregatedDuration\": " + std::string(duration) + "}"),
              at + "aggregated.scoreAggregatedDuration: " + duration +
                  " is no duration of zero or more; accepted: 300s, 5m0s, 0.25h");
  }
  EXPECT_EQ(error(R"("aggregated": {"scoreAggregatedDuration": "1ns"})"),
            at + "aggregated.scoreAggregatedDuration: 1ns is finer than a microsecond");
}

// A document whose aliases would expand to 10^9 values is refused at once.
TEST(ProfileErrors, AliasesDoNotExplode) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) {
      text += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    }
    text += "]\n";
  }
  const std::string error = error_of(text + "profiles: *a8\n");
  EXPECT_NE(error.find("aliases expand to more than 100000 values"), std::string::npos) << error;
}

}  // namespace
}  // namespace headroom::profile_reader_test
