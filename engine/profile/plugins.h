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
  kNodeUnschedulable,
  kNodeName,
  kTaintToleration,
  kNodeAffinity,
  kNodePorts,
  kNodeResourcesFit,
  kNodeResourcesBalancedAllocation,
  kLimitAware,
  kResourceLimitAware,
  kLoadAwareScheduling,
  kCapacityScheduling,
};
inline constexpr int kPluginCount = 11;

struct Plugin {
  PluginId id;
  const char* name;
  bool filters, scores, reserves;
  bool preempts;       // preFilter, postFilter
  bool on_by_default;  // in kube-scheduler
};

// By PluginId: the order in which a configuration that enables all would list them.
inline constexpr std::array<Plugin, kPluginCount> kPlugins = {{
    {PluginId::kNodeUnschedulable, "NodeUnschedulable", true, false, false, false, true},
    {PluginId::kNodeName, "NodeName", true, false, false, false, true},
    {PluginId::kTaintToleration, "TaintToleration", true, false, false, false, true},
    {PluginId::kNodeAffinity, "NodeAffinity", true, false, false, false, true},
    {PluginId::kNodePorts, "NodePorts", true, false, false, false, true},
    {PluginId::kNodeResourcesFit, "NodeResourcesFit", true, true, false, false, true},
    {PluginId::kNodeResourcesBalancedAllocation, "NodeResourcesBalancedAllocation", false, true,
     false, false, true},
    {PluginId::kLimitAware, "LimitAware", true, true, true, false, false},
    {PluginId::kResourceLimitAware, "ResourceLimitAware", false, true, false, false, false},
    {PluginId::kLoadAwareScheduling, "LoadAwareScheduling", true, true, true, false, false},
    {PluginId::kCapacityScheduling, "CapacityScheduling", false, false, true, true, false},
}};
static_assert(std::is_sorted(kPlugins.begin(), kPlugins.end(),
                             [](const Plugin& a, const Plugin& b) { return a.id < b.id; }));

constexpr const Plugin& plugin_of(PluginId id) { return kPlugins[static_cast<std::size_t>(id)]; }
constexpr const char* to_string(PluginId id) { return plugin_of(id).name; }

}  // namespace headroom
