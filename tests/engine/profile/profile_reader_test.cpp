// Reading profiles: what kube-scheduler's semantics enable, what Headroom's own document says, and
// several profiles of one file.
#include "engine/profile/profile_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/profile/profile_texts.h"

namespace headroom::profile_test {
namespace {

using Filters = std::vector<PluginId>;
using Scores = std::vector<std::pair<PluginId, std::int64_t>>;

Scores scores_of(const Profile& profile) {
  Scores scores;
  for (const ScorePlugin& score : profile.scores) scores.emplace_back(score.plugin, score.weight);
  return scores;
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

}  // namespace
}  // namespace headroom::profile_test
