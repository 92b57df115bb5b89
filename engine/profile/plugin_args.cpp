// Which arguments a plugin has; see plugin_args.h.
#include "engine/profile/plugin_args.h"

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"

namespace headroom {
namespace {

CapacitySchedulingArgs read_capacity_scheduling(const ConfigValue& value, Mode mode) {
  CapacitySchedulingArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kCapacityScheduling)},
                {"crossNodePreemption", [&](const ConfigValue& v) {
                   args.cross_node_preemption = v.boolean();
                   if (args.cross_node_preemption && mode == Mode::kUpstream) {
                     v.fail(ErrorCode::kUnsupported, "is not in mode Upstream");
                   }
                 }}});
  return args;
}

}  // namespace

void read_args(PluginId plugin, const ConfigValue& args, Profile& profile) {
  switch (plugin) {
    case PluginId::kNodeResourcesFit:
      profile.fit = read_fit(args);
      return;
    case PluginId::kNodeResourcesBalancedAllocation:
      profile.balanced = read_balanced(args);
      return;
    case PluginId::kLimitAware:
      profile.limit_aware = read_limit_aware(args, profile.mode);
      return;
    case PluginId::kResourceLimitAware:
      profile.resource_limit_aware = read_resource_limit_aware(args);
      return;
    case PluginId::kLoadAwareScheduling:
      profile.load_aware = read_load_aware(args, profile.mode);
      return;
    case PluginId::kCapacityScheduling:
      profile.capacity_scheduling_args = read_capacity_scheduling(args, profile.mode);
      return;
    case PluginId::kNodeAffinity:
      profile.node_affinity = read_node_affinity(args);
      return;
    case PluginId::kInterPodAffinity:
      profile.inter_pod_affinity = read_inter_pod_affinity(args);
      return;
    case PluginId::kPodTopologySpread:
      profile.topology_spread = read_topology_spread(args);
      return;
    case PluginId::kVolumeBinding:
      profile.volume_binding = read_volume_binding(args, profile.kubernetes_version);
      return;
    case PluginId::kSchedulingGates:
    case PluginId::kNodeUnschedulable:
    case PluginId::kNodeName:
    case PluginId::kTaintToleration:
    case PluginId::kNodePorts:
    case PluginId::kVolumeRestrictions:
    case PluginId::kNodeVolumeLimits:
    case PluginId::kVolumeZone:
    case PluginId::kNodeDeclaredFeatures:
    case PluginId::kImageLocality:
      args.fields({{"apiVersion", read_api_version()}, {"kind", read_kind(plugin)}});
      return;
  }
}

}  // namespace headroom
