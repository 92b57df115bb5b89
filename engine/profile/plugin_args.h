// Reads one plugin's arguments in their v1 form (pluginConfig[].args) into a profile.
//
// Defaults, ranges and names are those of the plugin's implementation; what Headroom refuses beyond
// them (a resource listed twice, a name that is no resource) could only be a slip. In mode Proposal
// a bad ratio or threshold is refused as well; in mode Upstream it is carried as the implementation
// carries it.
#pragma once

#include "engine/profile/config_value.h"
#include "engine/profile/profile.h"

namespace headroom {

inline constexpr std::string_view kSchedulerConfigVersion = "kubescheduler.config.k8s.io/v1";

// Replaces the arguments of `plugin` in `profile`, reading them by profile.mode. What goes wrong is
// in the value's ConfigErrors, and `profile` is then not to be used.
void read_args(PluginId plugin, const ConfigValue& args, Profile& profile);

}  // namespace headroom
