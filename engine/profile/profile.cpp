#include "engine/profile/profile.h"

#include <algorithm>

namespace headroom {

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

bool is_repeated(const TopologySpreadConstraint& one, const TopologySpreadConstraint& other) {
  return one.topology_key == other.topology_key && one.hard == other.hard;
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

}  // namespace headroom
