// Reads a Profile from YAML as users configure kube-scheduler: a KubeSchedulerConfiguration
// (kubescheduler.config.k8s.io/v1; plugins enabled with weights, pluginConfig args in their v1
// form), and, in a document of its own (apiVersion headroom/v1alpha1, kind HeadroomConfiguration),
// what is Headroom's: mode, and nothing that Kubernetes has a place for. Both are optional, in any
// order, one of each, separated by "---". What the latter says holds for every profile:
//
//   apiVersion: kubescheduler.config.k8s.io/v1
//   kind: KubeSchedulerConfiguration
//   profiles:
//     - schedulerName: headroom
//       plugins:
//         multiPoint: {enabled: [{name: LimitAware, weight: 2}]}
//       pluginConfig:
//         - {name: LimitAware, args: {defaultLimitToAllocatableRatio: {cpu: 150}}}
//   ---
//   apiVersion: headroom/v1alpha1
//   kind: HeadroomConfiguration
//   profile: standard            # or default: kube-scheduler's own
//   mode: Proposal               # or Upstream, which is the default of profile default
//   kubernetesVersion: "1.37"    # or "1.36", "1.35": whose rules, where they differ
//
// Which plugins are on:
// * without a `plugins` section, those of Profile::standard(), or Profile::kube_scheduler();
// * with one, as in kube-scheduler: its default plugins are on unless disabled, and what is enabled
//   is added. multiPoint enables a plugin wherever it has an extension point, `weight` there being
//   its score's: that of kube-scheduler where nothing is said of the plugin, 1 where it is enabled
//   without; filter and score say more exactly and win; `disabled: [{name: "*"}]` takes away the
//   rest. preFilter, preScore, reserve and preBind follow filter, score and postFilter and are only
//   checked. postFilter turns CapacityScheduling on, preEnqueue SchedulingGates.
//
// kube-scheduler's plugins that Headroom does not have may be disabled and have pluginConfig, which
// is ignored; enabling one is an error. An unknown field, plugin or resource is an error that says
// where and what would be accepted: "scheduler.yaml:6: profiles[0].plugins.score.enabled[0].name:
// ...".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/profile/profile.h"
#include "objects/error.h"

namespace headroom {

// What `profile` names, and read_profile_file() in the place of a path.
inline constexpr std::string_view kStandardProfile = "standard", kDefaultProfile = "default";

inline constexpr std::size_t kProfilesMax = 8;  // of a file, and side by side elsewhere

// `source` names the text in errors. A second profile in it is one, and so is a text without any
// configuration, such as an empty one.
Result<Profile> read_profile(std::string_view yaml, std::string_view source);
Result<Profile> read_profile_file(const std::string& path);
// The same with 1 to kProfilesMax profiles, no two of one schedulerName.
Result<std::vector<Profile>> read_profiles(std::string_view yaml, std::string_view source);
Result<std::vector<Profile>> read_profiles_file(const std::string& path);

// One plugin's arguments as in pluginConfig[].args, in JSON; absent fields take the defaults.
// Changes only that plugin's arguments in `profile`, reading them by profile.mode; on error
// nothing. For conformance cases and tests.
Result<void> read_plugin_args(PluginId plugin, std::string_view json, Profile& profile);

}  // namespace headroom
