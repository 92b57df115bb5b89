// KubeSchedulerConfiguration and HeadroomConfiguration to Profile; see profile_reader.h.
#include "engine/profile/profile_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/profile/args/args_values.h"
#include "engine/profile/config_value.h"

namespace headroom {
namespace {

constexpr std::string_view kSchedulerConfigKind = "KubeSchedulerConfiguration";
constexpr std::string_view kHeadroomConfigVersion = "headroom/v1alpha1";
constexpr std::string_view kHeadroomConfigKind = "HeadroomConfiguration";

// Plugins of kube-scheduler that Headroom does not have: enabled or disabled, they change nothing.
constexpr std::array<std::string_view, 8> kForeignPlugins = {
    "DefaultBinder",  "DefaultPreemption", "DeferredPodScheduling", "DynamicResources",
    "GangScheduling", "PodGroupPodsCount", "PrioritySort",          "TopologyPlacementGenerator"};

struct NamedVersion {
  std::string_view name;
  KubernetesVersion version;
};
constexpr std::array<NamedVersion, 3> kVersions = {{{"1.35", KubernetesVersion::k135},
                                                    {"1.36", KubernetesVersion::k136},
                                                    {"1.37", KubernetesVersion::k137}}};

// What a plugin has, by the name of the extension point; nullptr for a point that no plugin of
// Headroom extends.
using Extends = bool (*)(const Plugin&);
struct ExtensionPoint {
  std::string_view name;
  Extends extends;
};
constexpr Extends kExtendsAny = [](const Plugin&) { return true; };
constexpr Extends kExtendsFilter = [](const Plugin& plugin) { return plugin.filters; };
constexpr Extends kExtendsScore = [](const Plugin& plugin) { return plugin.scores; };
constexpr Extends kExtendsPreFilter = [](const Plugin& plugin) {
  return plugin.filters || plugin.preempts;
};
constexpr Extends kExtendsPostFilter = [](const Plugin& plugin) { return plugin.preempts; };
constexpr Extends kExtendsReserve = [](const Plugin& plugin) { return plugin.reserves; };
constexpr Extends kExtendsPreEnqueue = [](const Plugin& plugin) { return plugin.gates; };
constexpr Extends kExtendsPreBind = [](const Plugin& plugin) {
  return plugin.id == PluginId::kVolumeBinding;
};

bool is_foreign(std::string_view name) {
  return std::find(kForeignPlugins.begin(), kForeignPlugins.end(), name) != kForeignPlugins.end();
}

std::string names_of(Extends extends) {
  std::vector<std::string_view> names;
  for (const Plugin& plugin : kPlugins) {
    if (extends != nullptr && extends(plugin)) names.emplace_back(to_string(plugin.id));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

struct PluginSet {
  struct Enabled {
    const Plugin* plugin;
    std::int64_t weight;
  };
  std::vector<Enabled> enabled;
  std::set<std::string> enabled_names;  // Headroom's and foreign ones
  std::set<std::string> disabled;       // may hold "*"

  bool has(const Plugin* plugin) const {
    return std::any_of(enabled.begin(), enabled.end(),
                       [&](const Enabled& entry) { return entry.plugin == plugin; });
  }
  bool disables(const Plugin* plugin) const {
    return disabled.contains("*") || disabled.contains(to_string(plugin->id));
  }
};

// --- plugins ---

void read_enabled(const ConfigValue& item, const ExtensionPoint& point, PluginSet& set) {
  const Plugin* plugin = nullptr;
  std::int64_t weight = 0;
  std::string name;
  item.fields(
      {{"name",
        [&](const ConfigValue& value) {
          name = value.text();
          plugin = find_plugin(name);
          const bool extends =
              plugin != nullptr && point.extends != nullptr && point.extends(*plugin);
          if (extends || is_foreign(name)) return;
          value.fail(plugin != nullptr ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
                     fmt::format("\"{}\" {}; accepted for {}: {}", name,
                                 plugin != nullptr ? fmt::format("does not extend {}", point.name)
                                                   : "is not known",
                                 point.name, names_of(point.extends)));
        }},
       {"weight", [&](const ConfigValue& value) { weight = value.integer(0, kPluginWeightMax); }}});
  if (name.empty()) item.fail(ErrorCode::kInvalid, "has no name");
  if (item.failed()) return;
  if (!set.enabled_names.insert(name).second) {
    item.fail(ErrorCode::kInvalid, fmt::format("\"{}\" is enabled twice", name));
    return;
  }
  if (plugin == nullptr) return;
  if (point.extends == kExtendsAny && weight != 0 && !plugin->scores) {
    item.fail(ErrorCode::kUnsupported,
              fmt::format("{} has no score to weigh with {}", name, weight));
  }
  set.enabled.push_back({plugin, std::max<std::int64_t>(1, weight)});
}

void read_disabled(const ConfigValue& item, PluginSet& set) {
  item.fields({{"name",
                [&](const ConfigValue& value) {
                  const std::string name = value.text();
                  if (name != "*" && find_plugin(name) == nullptr && !is_foreign(name)) {
                    value.fail(
                        ErrorCode::kInvalid,
                        fmt::format("\"{}\" is not known; accepted: *, {}, {}", name,
                                    names_of(kExtendsAny), fmt::join(kForeignPlugins, ", ")));
                  }
                  set.disabled.insert(name);
                }},
               {"weight", {}}});
}

PluginSet read_plugin_set(const ConfigValue& value, const ExtensionPoint& point) {
  PluginSet set;
  value.fields({{"enabled",
                 [&](const ConfigValue& list) {
                   list.items([&](const ConfigValue& item) { read_enabled(item, point, set); });
                 }},
                {"disabled", [&](const ConfigValue& list) {
                   list.items([&](const ConfigValue& item) { read_disabled(item, set); });
                 }}});
  return set;
}

// kube-scheduler's mergePluginSet: defaults keep their place, also when enabled anew.
PluginSet with_defaults(const PluginSet& given, KubernetesVersion version) {
  PluginSet merged;
  for (const Plugin& plugin : kPlugins) {
    if (!is_default_plugin(plugin, version) || given.disables(&plugin)) continue;
    const auto again = std::find_if(given.enabled.begin(), given.enabled.end(),
                                    [&](const auto& entry) { return entry.plugin == &plugin; });
    merged.enabled.push_back(
        {&plugin, again == given.enabled.end() ? plugin.weight : again->weight});
  }
  for (const PluginSet::Enabled& entry : given.enabled) {
    if (!merged.has(entry.plugin)) merged.enabled.push_back(entry);
  }
  return merged;
}

// kube-scheduler's expandMultiPointPlugins: those that the point itself repeats come first, in its
// order, then the rest of multiPoint, then the rest of the point.
std::vector<PluginSet::Enabled> expand(const PluginSet& multi_point, const PluginSet& point,
                                       Extends extends) {
  if (point.disabled.contains("*")) return point.enabled;
  std::vector<PluginSet::Enabled> result;
  for (const PluginSet::Enabled& entry : point.enabled) {
    if (multi_point.has(entry.plugin) && !point.disables(entry.plugin)) result.push_back(entry);
  }
  for (const PluginSet::Enabled& entry : multi_point.enabled) {
    if (!extends(*entry.plugin) || point.disables(entry.plugin) || point.has(entry.plugin)) {
      continue;
    }
    result.push_back(entry);
  }
  for (const PluginSet::Enabled& entry : point.enabled) {
    if (!multi_point.has(entry.plugin) || point.disables(entry.plugin)) result.push_back(entry);
  }
  return result;
}

void read_plugins(const ConfigValue& value, Profile& profile) {
  PluginSet multi_point;
  PluginSet filter;
  PluginSet score;
  PluginSet post_filter;
  PluginSet pre_enqueue;
  const auto into = [](PluginSet& set, std::string_view name, Extends extends) {
    return ConfigValue::Field{name, [&set, name, extends](const ConfigValue& v) {
                                set = read_plugin_set(v, {name, extends});
                              }};
  };
  const auto checked = [](std::string_view name, Extends extends) {
    return ConfigValue::Field{name, [name, extends](const ConfigValue& v) {
                                read_plugin_set(v, {name, extends});
                              }};
  };
  value.fields(
      {into(multi_point, "multiPoint", kExtendsAny), into(filter, "filter", kExtendsFilter),
       into(score, "score", kExtendsScore), checked("preFilter", kExtendsPreFilter),
       into(post_filter, "postFilter", kExtendsPostFilter), checked("preScore", kExtendsScore),
       checked("reserve", kExtendsReserve), into(pre_enqueue, "preEnqueue", kExtendsPreEnqueue),
       checked("queueSort", nullptr), checked("permit", nullptr),
       checked("preBind", kExtendsPreBind), checked("bind", nullptr), checked("postBind", nullptr),
       checked("placementGenerate", nullptr), checked("placementScore", nullptr),
       checked("podGroupPostFilter", nullptr)});
  const PluginSet everywhere = with_defaults(multi_point, profile.kubernetes_version);
  profile.filters.clear();
  for (const auto& entry : expand(everywhere, filter, kExtendsFilter)) {
    profile.filters.push_back(entry.plugin->id);
  }
  profile.capacity_scheduling = !expand(everywhere, post_filter, kExtendsPostFilter).empty();
  profile.scheduling_gates = !expand(everywhere, pre_enqueue, kExtendsPreEnqueue).empty();
  profile.scores.clear();
  for (const auto& entry : expand(everywhere, score, kExtendsScore)) {
    profile.scores.push_back({entry.plugin->id, entry.weight});
  }
}

// --- pluginConfig ---

// Replaces the arguments of `plugin` in `profile`, which is not to be used where the value failed.
void read_args_of(PluginId plugin, const ConfigValue& value, Profile& profile) {
  bool has_args = false;
  each_args(profile, [&](PluginId its, auto& args) {
    if (its != plugin) return;
    has_args = true;
    args = {};
    read_args(value, profile, args);
  });
  if (!has_args) read_fields(value, plugin, {});
}

void read_plugin_config(const ConfigValue& item, std::set<std::string>& seen, Profile& profile) {
  const Plugin* plugin = nullptr;
  std::string name;
  item.fields({{"name",
                [&](const ConfigValue& value) {
                  name = value.text();
                  plugin = find_plugin(name);
                  if (plugin == nullptr && !is_foreign(name)) {
                    value.fail(ErrorCode::kInvalid, fmt::format("\"{}\" is not known; accepted: {}",
                                                                name, names_of(kExtendsAny)));
                  } else if (!seen.insert(name).second) {
                    value.fail(ErrorCode::kInvalid,
                               fmt::format("\"{}\" is configured twice", name));
                  }
                }},
               {"args", {}}});
  if (name.empty()) item.fail(ErrorCode::kInvalid, "has no name");
  if (plugin == nullptr) return;
  // Now that the name is known, wherever in the item it stood.
  item.fields({{"name", {}}, {"args", [&](const ConfigValue& args) {
                                read_args_of(plugin->id, args, profile);
                              }}});
}

// --- documents ---

void read_scheduler_profile(const ConfigValue& value, Profile& profile) {
  std::set<std::string> configured;
  value.fields({{"schedulerName",
                 [&](const ConfigValue& name) {
                   if (const std::string text = name.text(); !text.empty()) {
                     profile.scheduler_name = text;
                   }
                 }},
                {"percentageOfNodesToScore", {}},  // Headroom scores all
                {"plugins", [&](const ConfigValue& plugins) { read_plugins(plugins, profile); }},
                {"pluginConfig", [&](const ConfigValue& list) {
                   list.items([&](const ConfigValue& item) {
                     read_plugin_config(item, configured, profile);
                   });
                 }}});
}

// `profiles` begins as one, which the others are like but for what they say; one file may have so
// many.
void read_scheduler_configuration(const ConfigValue& value, std::size_t most,
                                  std::vector<Profile>& profiles) {
  const Profile unsaid = profiles.front();
  value.fields({{"apiVersion", {}},
                {"kind", {}},
                {"profiles",
                 [&](const ConfigValue& list) {
                   std::size_t count = 0;
                   list.items([&](const ConfigValue& item) {
                     if (++count > most) {
                       item.fail(ErrorCode::kUnsupported,
                                 most == 1
                                     ? "a second profile is not supported; accepted: one per file"
                                     : fmt::format("kProfilesMax is {}", most));
                       return;
                     }
                     if (count > 1) profiles.push_back(unsaid);
                     read_scheduler_profile(item, profiles.back());
                     const auto same = [&](const Profile& other) {
                       return other.scheduler_name == profiles.back().scheduler_name;
                     };
                     if (std::any_of(profiles.begin(), profiles.end() - 1, same)) {
                       item.fail(ErrorCode::kInvalid,
                                 fmt::format("schedulerName: another profile has \"{}\"",
                                             profiles.back().scheduler_name));
                     }
                   });
                 }},
                // kube-scheduler's own business: its processes, connections, queue and extenders.
                {"clientConnection", {}},
                {"delayCacheUntilActive", {}},
                {"enableContentionProfiling", {}},
                {"enableProfiling", {}},
                {"extenders", {}},
                {"leaderElection", {}},
                {"parallelism", {}},
                {"percentageOfNodesToScore", {}},
                {"podInitialBackoffSeconds", {}},
                {"podMaxBackoffSeconds", {}}});
}

// `profile` says what was chosen before everything else follows from it.
void read_headroom_configuration(const ConfigValue& value, Profile& profile) {
  bool kube_scheduler = false;
  std::optional<Mode> stated_mode;
  value.fields(
      {{"apiVersion", {}},
       {"kind", {}},
       {"profile",
        [&](const ConfigValue& chosen) {
          kube_scheduler = !read_choice(chosen, kStandardProfile, kDefaultProfile);
        }},
       {"mode",
        [&](const ConfigValue& mode) {
          stated_mode =
              read_choice(mode, "Proposal", "Upstream") ? Mode::kProposal : Mode::kUpstream;
        }},
       {"kubernetesVersion", [&](const ConfigValue& version) {
          const std::string name = version.text();
          const auto known = std::find_if(kVersions.begin(), kVersions.end(),
                                          [&](const NamedVersion& v) { return v.name == name; });
          if (known == kVersions.end()) {
            version.fail(
                ErrorCode::kUnsupported,
                fmt::format("\"{}\" is not supported; accepted: \"1.35\", for earlier ones "
                            "too, \"1.36\", and \"1.37\", for later ones too",
                            name));
            return;
          }
          profile.kubernetes_version = known->version;
        }}});
  profile = kube_scheduler ? Profile::kube_scheduler(profile.kubernetes_version)
                           : Profile::standard(profile.kubernetes_version);
  if (stated_mode) profile.mode = *stated_mode;
}

struct Documents {
  const YamlValue* scheduler = nullptr;
  const YamlValue* headroom = nullptr;
};

// Tells the documents apart by apiVersion and kind.
Documents sort_documents(const std::vector<YamlValue>& values, ConfigErrors& errors) {
  Documents documents;
  for (const YamlValue& document : values) {
    const ConfigValue value(document, "", errors);
    if (value.is_null()) continue;
    std::string version;
    std::string kind;
    value.entries([&](const std::string& key, const ConfigValue& field) {
      if (key == "apiVersion") version = field.text();
      if (key == "kind") kind = field.text();
    });
    const bool scheduler = version == kSchedulerConfigVersion && kind == kSchedulerConfigKind;
    const bool headroom = version == kHeadroomConfigVersion && kind == kHeadroomConfigKind;
    if (!scheduler && !headroom) {
      value.fail(
          ErrorCode::kUnsupported,
          fmt::format("apiVersion \"{}\" and kind \"{}\" are not supported; accepted: {} {}, "
                      "{} {}",
                      version, kind, kSchedulerConfigVersion, kSchedulerConfigKind,
                      kHeadroomConfigVersion, kHeadroomConfigKind));
      return documents;
    }
    const YamlValue*& slot = scheduler ? documents.scheduler : documents.headroom;
    if (slot != nullptr) {
      value.fail(ErrorCode::kInvalid, fmt::format("a second {}; accepted: one of each kind", kind));
      return documents;
    }
    slot = &document;
  }
  return documents;
}

Result<std::vector<Profile>> read_documents(std::string_view yaml, std::string_view source,
                                            std::size_t most) {
  ConfigErrors errors{std::string(source), true, std::nullopt};
  std::vector<Profile> profiles = {Profile::standard()};
  const std::vector<YamlValue> values = read_config(yaml, errors);
  const Documents documents = sort_documents(values, errors);
  // A text that was cut off is not taken for the standard profile.
  if (!errors.first && documents.headroom == nullptr && documents.scheduler == nullptr) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: there is no {} and no {} in it", source,
                                                 kSchedulerConfigKind, kHeadroomConfigKind));
  }
  // First what decides how arguments are read.
  if (documents.headroom != nullptr) {
    read_headroom_configuration(ConfigValue(*documents.headroom, "", errors), profiles.front());
  }
  if (documents.scheduler != nullptr) {
    read_scheduler_configuration(ConfigValue(*documents.scheduler, "", errors), most, profiles);
  }
  if (errors.first) return tl::unexpected<Error>(*errors.first);
  return profiles;
}

Result<std::vector<Profile>> read_file(const std::string& path, std::size_t most) {
  if (path == kStandardProfile) return std::vector{Profile::standard()};
  if (path == kDefaultProfile) return std::vector{Profile::kube_scheduler()};
  const auto io_error = [&path] {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                fmt::format("{}: {}", path, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return io_error();
  std::string text(kConfigBytesMax + 1, '\0');  // one more than may be, so that too many shows
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return io_error();
  return read_documents(text, path, most);
}

Result<Profile> only(Result<std::vector<Profile>> profiles) {
  if (!profiles) return tl::unexpected(profiles.error());
  return std::move(profiles->front());
}

}  // namespace

Result<Profile> read_profile(std::string_view yaml, std::string_view source) {
  return only(read_documents(yaml, source, 1));
}

Result<Profile> read_profile_file(const std::string& path) { return only(read_file(path, 1)); }

Result<std::vector<Profile>> read_profiles(std::string_view yaml, std::string_view source) {
  return read_documents(yaml, source, kProfilesMax);
}

Result<std::vector<Profile>> read_profiles_file(const std::string& path) {
  return read_file(path, kProfilesMax);
}

Result<void> read_plugin_args(PluginId plugin, std::string_view json, Profile& profile) {
  ConfigErrors errors{fmt::format("{} args", to_string(plugin)), false, std::nullopt};
  Profile changed = profile;
  std::vector<YamlValue> values = read_config(json, errors);
  if (values.empty()) values.emplace_back();
  const ConfigValue args(values.front(), "", errors);
  if (values.size() > 1) args.fail(ErrorCode::kInvalid, "want one object");
  read_args_of(plugin, args, changed);
  if (errors.first) return tl::unexpected<Error>(*errors.first);
  profile = std::move(changed);
  return {};
}

}  // namespace headroom
