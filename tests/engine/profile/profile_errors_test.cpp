// The exact message of every error of a profile, but for those of arguments. Messages are compared
// whole: they are what a user sees.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/profile/config_value.h"
#include "engine/profile/profile_reader.h"
#include "tests/engine/profile/profile_texts.h"

namespace headroom::profile_test {
namespace {

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
}  // namespace headroom::profile_test
