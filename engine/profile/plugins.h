// The plugins: what each is called and where it takes part in a decision.
//
// Names and extension points are those of kube-scheduler, or of the plugin's own implementation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace headroom {

enum class PluginId : std::uint8_t {
  kSchedulingGates,
  kNodeUnschedulable,
  kNodeName,
  kTaintToleration,
  kNodeAffinity,
  kNodePorts,
  kNodeResourcesFit,
  kVolumeRestrictions,
  kNodeVolumeLimits,
  kVolumeBinding,
  kVolumeZone,
  kPodTopologySpread,
  kInterPodAffinity,
  kNodeDeclaredFeatures,
  kNodeResourcesBalancedAllocation,
  kImageLocality,
  kLimitAware,
  kResourceLimitAware,
  kLoadAwareScheduling,
  kCapacityScheduling,
};
inline constexpr int kPluginCount = 20;

struct Plugin {
  PluginId id;
  const char* name;
  bool filters, scores, reserves;
  bool preempts;        // preFilter, postFilter
  bool gates;           // preEnqueue
  bool on_by_default;   // in kube-scheduler
  std::int64_t weight;  // of its score, by default
};

// By PluginId: the order in which a configuration that enables all would list them.
inline constexpr std::array<Plugin, kPluginCount> kPlugins = {{
    {PluginId::kSchedulingGates, "SchedulingGates", false, false, false, false, true, true, 0},
    {PluginId::kNodeUnschedulable, "NodeUnschedulable", true, false, false, false, false, true, 0},
    {PluginId::kNodeName, "NodeName", true, false, false, false, false, true, 0},
    {PluginId::kTaintToleration, "TaintToleration", true, true, false, false, false, true, 3},
    {PluginId::kNodeAffinity, "NodeAffinity", true, true, false, false, false, true, 2},
    {PluginId::kNodePorts, "NodePorts", true, false, false, false, false, true, 0},
    {PluginId::kNodeResourcesFit, "NodeResourcesFit", true, true, false, false, false, true, 1},
    {PluginId::kVolumeRestrictions, "VolumeRestrictions", true, false, false, false, false, true,
     0},
    {PluginId::kNodeVolumeLimits, "NodeVolumeLimits", true, false, false, false, false, true, 0},
    {PluginId::kVolumeBinding, "VolumeBinding", true, true, true, false, false, true, 1},
    {PluginId::kVolumeZone, "VolumeZone", true, false, false, false, false, true, 0},
    {PluginId::kPodTopologySpread, "PodTopologySpread", true, true, false, false, false, true, 2},
    {PluginId::kInterPodAffinity, "InterPodAffinity", true, true, false, false, false, true, 2},
    {PluginId::kNodeDeclaredFeatures, "NodeDeclaredFeatures", true, false, false, false, false,
     true, 0},
    {PluginId::kNodeResourcesBalancedAllocation, "NodeResourcesBalancedAllocation", false, true,
     false, false, false, true, 1},
    {PluginId::kImageLocality, "ImageLocality", false, true, false, false, false, true, 1},
    {PluginId::kLimitAware, "LimitAware", true, true, true, false, false, false, 1},
    {PluginId::kResourceLimitAware, "ResourceLimitAware", false, true, false, false, false, false,
     1},
    {PluginId::kLoadAwareScheduling, "LoadAwareScheduling", true, true, true, false, false, false,
     1},
    {PluginId::kCapacityScheduling, "CapacityScheduling", false, false, true, true, false, false,
     0},
}};
static_assert(std::is_sorted(kPlugins.begin(), kPlugins.end(),
                             [](const Plugin& a, const Plugin& b) { return a.id < b.id; }));

constexpr const Plugin& plugin_of(PluginId id) { return kPlugins[static_cast<std::size_t>(id)]; }
constexpr const char* to_string(PluginId id) { return plugin_of(id).name; }
// nullptr: none is called that.
constexpr const Plugin* find_plugin(std::string_view name) {
  const auto* found = std::find_if(kPlugins.begin(), kPlugins.end(),
                                   [&](const Plugin& plugin) { return name == plugin.name; });
  return found == kPlugins.end() ? nullptr : found;
}

}  // namespace headroom
