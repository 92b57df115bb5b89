#include "engine/profile/profile.h"

#include <algorithm>

namespace headroom {

Profile Profile::standard() {
  Profile profile;
  profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeName,
                     PluginId::kTaintToleration,   PluginId::kNodeAffinity,
                     PluginId::kNodePorts,         PluginId::kNodeResourcesFit,
                     PluginId::kLimitAware,        PluginId::kLoadAwareScheduling};
  profile.scores = {{PluginId::kLimitAware},
                    {PluginId::kLoadAwareScheduling},
                    {PluginId::kNodeResourcesFit},
                    {PluginId::kNodeResourcesBalancedAllocation}};
  profile.capacity_scheduling = true;
  return profile;
}

bool Profile::filters_by(PluginId plugin) const {
  return std::find(filters.begin(), filters.end(), plugin) != filters.end();
}

bool Profile::scores_by(PluginId plugin) const {
  return std::any_of(scores.begin(), scores.end(),
                     [plugin](const ScorePlugin& score) { return score.plugin == plugin; });
}

}  // namespace headroom
