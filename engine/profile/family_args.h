// The arguments of each family of plugins, in the file that is named after it; plugin_args.h is the
// door.
#pragma once

#include "engine/profile/config_value.h"
#include "engine/profile/profile.h"

namespace headroom {

// node_resources_args.cpp
NodeResourcesFitArgs read_fit(const ConfigValue& value);
BalancedAllocationArgs read_balanced(const ConfigValue& value);
// limit_args.cpp
LimitAwareArgs read_limit_aware(const ConfigValue& value, Mode mode);
ResourceLimitAwareArgs read_resource_limit_aware(const ConfigValue& value);
// load_args.cpp
LoadAwareArgs read_load_aware(const ConfigValue& value, Mode mode);
// affinity_args.cpp
NodeAffinityArgs read_node_affinity(const ConfigValue& value);
InterPodAffinityArgs read_inter_pod_affinity(const ConfigValue& value);
// spread_args.cpp
PodTopologySpreadArgs read_topology_spread(const ConfigValue& value);
// volume_args.cpp
VolumeBindingArgs read_volume_binding(const ConfigValue& value, KubernetesVersion version);

}  // namespace headroom
