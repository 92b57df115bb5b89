#include "engine/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/limits.h"

namespace headroom {

// Each plugin scores once, so that no profile has more.
static_assert(std::count_if(kPlugins.begin(), kPlugins.end(), [](const Plugin& plugin) {
                return plugin.scores;
              }) == kScorePluginsMax);

Profile Profile::standard(KubernetesVersion version) {
  Profile profile = kube_scheduler(version);
  profile.mode = Mode::kProposal;
  for (ScorePlugin& score : profile.scores) {
    score.weight *= kStandardWeightTimes;
  }
  for (const PluginId plugin : {PluginId::kLimitAware, PluginId::kLoadAwareScheduling}) {
    profile.filters.push_back(plugin);
    profile.scores.push_back({plugin});
  }
  return profile;
}

Profile Profile::kube_scheduler(KubernetesVersion version) {
  Profile profile;
  profile.mode = Mode::kUpstream;
  profile.kubernetes_version = version;
  for (const Plugin& plugin : kPlugins) {
    if (!is_default_plugin(plugin, version)) continue;
    if (plugin.filters) profile.filters.push_back(plugin.id);
    if (plugin.scores) profile.scores.push_back({plugin.id, plugin.weight});
    if (plugin.gates) profile.scheduling_gates = true;
  }
  profile.capacity_scheduling = true;
  return profile;
}

bool is_default_plugin(const Plugin& plugin, KubernetesVersion version) {
  if (plugin.id == PluginId::kNodeDeclaredFeatures && version < KubernetesVersion::k136) {
    return false;  // alpha
  }
  return plugin.on_by_default;
}

bool Profile::filters_by(PluginId plugin) const {
  return std::find(filters.begin(), filters.end(), plugin) != filters.end();
}

bool Profile::scores_by(PluginId plugin) const {
  return std::any_of(scores.begin(), scores.end(),
                     [plugin](const ScorePlugin& score) { return score.plugin == plugin; });
}

bool Profile::uses(std::initializer_list<PluginId> plugins) const {
  return std::any_of(plugins.begin(), plugins.end(),
                     [this](PluginId plugin) { return filters_by(plugin) || scores_by(plugin); });
}

NotConsideredSet Profile::considered() const {
  using enum PluginId;
  NotConsideredSet set;
  const auto add = [&set](bool considered, NotConsidered what) {
    if (considered) {
      set.add(what);
    }
  };
  const bool disks = filters_by(kVolumeRestrictions) && filters_by(kNodeVolumeLimits);
  add(scheduling_gates, NotConsidered::kSchedulingGates);
  add(filters_by(kInterPodAffinity), NotConsidered::kRequiredPodAffinity);
  add(filters_by(kInterPodAffinity), NotConsidered::kRequiredPodAntiAffinity);
  add(scores_by(kInterPodAffinity), NotConsidered::kPreferredPodAffinity);
  add(scores_by(kInterPodAffinity), NotConsidered::kPreferredPodAntiAffinity);
  add(scores_by(kNodeAffinity), NotConsidered::kPreferredNodeAffinity);
  add(filters_by(kPodTopologySpread), NotConsidered::kHardTopologySpread);
  add(scores_by(kPodTopologySpread), NotConsidered::kSoftTopologySpread);
  add(disks && filters_by(kVolumeBinding) && filters_by(kVolumeZone),
      NotConsidered::kPersistentVolumeClaims);
  add(disks, NotConsidered::kVolumes);
  add(scores_by(kTaintToleration), NotConsidered::kPreferNoScheduleTaints);
  return set;
}

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
  ResourceCheck resources;
  Result<void> checked;
  each_args(profile, [&](PluginId, const auto& args) {
    const Result<void> its = check_args(args, profile, resources);
    if (checked) checked = its;
  });
  if (!resources.weights) return resources.weights;
  if (checked && resources.names.size() > kResourcesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("the arguments name {} resources, kResourcesMax is {}",
                            resources.names.size(), kResourcesMax));
  }
  return checked;
}

}  // namespace headroom
