#include "engine/profile/profile.h"

#include <algorithm>

namespace headroom {

Profile Profile::standard(KubernetesVersion version) {
  Profile profile = kube_scheduler(version);
  profile.mode = Mode::kProposal;
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

}  // namespace headroom
