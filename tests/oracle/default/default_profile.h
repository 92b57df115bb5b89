// kube-scheduler's default profile over the facts: which nodes a pod may go to, why it may not go
// to the others, what each plugin scores, and the best node. Every node is evaluated.
#pragma once

#include <memory>

#include "oracle/default/plugin.h"

namespace oracle::defaults {

// In the order in which they filter; those that only score behind.
const std::vector<std::string>& plugin_names(Version version);
std::int64_t weight_of(const std::string& plugin);
// The plugin in this cycle; throws std::invalid_argument for a name that is none.
std::unique_ptr<Plugin> make_plugin(const std::string& name, const PodCycle& cycle);

// What one plugin says when it is alone, as the cases of one plugin have it.
struct PluginAnswer {
  PreFilterAnswer pre_filter;
  std::map<std::string, Status> filter;  // every node, unless pre_filter rejects
  std::optional<Status> pre_score;       // unless no node passes
  Scores scores, normalized;             // of the nodes that pass
};
PluginAnswer run_plugin(const std::string& name, const PodCycle& cycle);

struct ProfileAnswer {
  NodeStatus pre_filter;                        // its plugin: who rejected the pod
  std::map<std::string, NodeStatus> filter;     // every node
  std::map<std::string, Scores> plugin_scores;  // by plugin: normalised * weight
  Scores totals;                                // of the nodes that pass
  std::string best;  // highest total, of equals the node applied first; "" = none
  std::map<std::string, std::string> bound;  // there, as VolumeBindingPlugin::bound() says it
};

// One scheduling cycle of one pod with all plugins, over a copy of the facts in which pods may come
// and go after PreFilter. The pod must outlive it.
class ProfileCycle {
 public:
  ProfileCycle(Version version, const Json& args, const Facts& facts, const Pod& pod);
  ProfileCycle(const ProfileCycle&) = delete;
  ProfileCycle& operator=(const ProfileCycle&) = delete;

  const NodeStatus& pre_filter() const { return pre_filter_; }
  // The first plugin that rejects; a plugin that skipped in PreFilter is not asked again.
  NodeStatus filter(const Node& node) const;
  // With the pods nominated to the node that the pod must yield to, and if it passes, without.
  NodeStatus filter_with_nominated(const Node& node);
  // Of nodes that pass.
  void score(const std::vector<const Node*>& feasible, ProfileAnswer& answer) const;

  void place(const Pod& placed, const Node& node);
  void take(const Pod& placed, const Node& node);

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<Plugin> plugin;
    PreFilterAnswer pre_filter;
  };

  Facts facts_;
  const Pod& pod_;
  std::vector<Entry> plugins_;
  NodeStatus pre_filter_;
};

class DefaultProfile {
 public:
  // `args` by plugin, as in pluginConfig. With LimitAware's that is on as well, with weight 1.
  explicit DefaultProfile(Version version, Json args = Json::object())
      : version_(version), args_(std::move(args)) {}

  Version version() const { return version_; }
  const Json& args() const { return args_; }

  ProfileAnswer schedule(const Facts& facts, const Pod& pod) const;
  // The pod is assumed on the node, with what VolumeBinding would bind there.
  void reserve(Facts& facts, const Json& pod, const std::string& node) const;
  // The pod's own nominated node, where that takes it: kube-scheduler looks at no other then. "":
  // it has none, or it does not.
  std::string nominated_node(const Facts& facts, const Pod& pod) const;

 private:
  Version version_;
  Json args_;
};

}  // namespace oracle::defaults
