// The names of the plugins, and the profile that stands when nothing is configured.
#include "engine/profile/profile.h"

#include <algorithm>

namespace headroom {

const char* to_string(PluginId plugin) {
  switch (plugin) {
    case PluginId::kNodeUnschedulable:
      return "NodeUnschedulable";
    case PluginId::kNodeName:
      return "NodeName";
    case PluginId::kTaintToleration:
      return "TaintToleration";
    case PluginId::kNodeAffinity:
      return "NodeAffinity";
    case PluginId::kNodePorts:
      return "NodePorts";
    case PluginId::kNodeResourcesFit:
      return "NodeResourcesFit";
    case PluginId::kNodeResourcesBalancedAllocation:
      return "NodeResourcesBalancedAllocation";
    case PluginId::kLimitAware:
      return "LimitAware";
    case PluginId::kResourceLimitAware:
      return "ResourceLimitAware";
    case PluginId::kLoadAwareScheduling:
      return "LoadAwareScheduling";
    case PluginId::kCapacityScheduling:
      return "CapacityScheduling";
  }
  return "unknown";
}

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

}  // namespace headroom
