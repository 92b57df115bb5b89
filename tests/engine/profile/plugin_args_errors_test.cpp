// The exact message of every error of a plugin's arguments, read or filled in by a program.
// Messages are compared whole: they are what a user sees.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/profile/profile_reader.h"
#include "tests/engine/profile/profile_texts.h"

namespace headroom::profile_test {
namespace {

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
                           [{"weight": 2147483648}]}})"),
            "NodeAffinity args: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
            "weight: 2147483648 is not in [0, 2147483647]");
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
  EXPECT_EQ(error([](Profile& p) { p.node_affinity.preferred.emplace_back().weight = -1; }),
            "NodeAffinity: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: -1 is "
            "not in [0, 2147483647]");
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

}  // namespace
}  // namespace headroom::profile_test
