#include "engine/policies/policies.h"

#include <algorithm>

#include "engine/policies/limit_aware.h"
#include "engine/policies/load_aware.h"
#include "engine/policies/node_resources.h"
#include "engine/policies/resource_limit_aware.h"

namespace headroom {

namespace {

struct Known {
  std::vector<PluginId> plugins;
  std::unique_ptr<Policy> (*make)(const PolicyContext& context);
};

template <typename Its>
std::unique_ptr<Policy> make(const PolicyContext& context) {
  return std::make_unique<Its>(context);
}

const Known kPolicies[] = {
    {{PluginId::kNodeResourcesFit, PluginId::kNodeResourcesBalancedAllocation},
     make<NodeResources>},
    {{PluginId::kLimitAware}, make<LimitAware>},
    {{PluginId::kResourceLimitAware}, make<ResourceLimitAware>},
    {{PluginId::kLoadAwareScheduling}, make<LoadAware>},
};

}  // namespace

Policies::Policies(const PolicyContext& context) {
  const Profile& profile = context.profile;
  const auto enabled = [&](PluginId plugin) {
    return profile.filters_by(plugin) ||
           std::any_of(profile.scores.begin(), profile.scores.end(),
                       [plugin](const ScorePlugin& score) { return score.plugin == plugin; });
  };
  for (const Known& known : kPolicies) {
    if (std::any_of(known.plugins.begin(), known.plugins.end(), enabled)) {
      all_.push_back(known.make(context));
      for (const PluginId plugin : known.plugins) {
        by_plugin_[static_cast<std::size_t>(plugin)] = all_.back().get();
      }
    }
  }
}

}  // namespace headroom
