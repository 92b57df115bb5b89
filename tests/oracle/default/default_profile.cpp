// See default_profile.h.
#include "oracle/default/default_profile.h"

#include <algorithm>
#include <stdexcept>

#include "oracle/default/image_locality.h"
#include "oracle/default/inter_pod_affinity.h"
#include "oracle/default/node_affinity_score.h"
#include "oracle/default/node_declared_features.h"
#include "oracle/default/resource_plugins.h"
#include "oracle/default/taint_toleration_score.h"
#include "oracle/default/topology_spread.h"
#include "oracle/default/volumes/node_volume_limits.h"
#include "oracle/default/volumes/volume_binding.h"
#include "oracle/default/volumes/volume_restrictions.h"
#include "oracle/default/volumes/volume_zone.h"
#include "oracle/pod_priority.h"

namespace oracle::defaults {
namespace {

// Of a pod without claims: every node passes, every score is 0. Others are not decided here.
class DynamicResourcesPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status pre_score(const std::vector<const Node*>& /*feasible*/) override { return {}; }
};

using Make = std::unique_ptr<Plugin> (*)(const PodCycle&);

template <typename P>
std::unique_ptr<Plugin> make(const PodCycle& cycle) {
  return std::make_unique<P>(cycle);
}

const std::map<std::string, Make> kPlugins{
    {"DynamicResources", make<DynamicResourcesPlugin>},
    {"ImageLocality", make<ImageLocalityPlugin>},
    {"InterPodAffinity", make<InterPodAffinityPlugin>},
    {"LimitAware", make<LimitAwarePlugin>},
    {"NodeAffinity", make<NodeAffinityPlugin>},
    {"NodeDeclaredFeatures", make<NodeDeclaredFeaturesPlugin>},
    {"NodeName", make<NodeNamePlugin>},
    {"NodePorts", make<NodePortsPlugin>},
    {"NodeResourcesBalancedAllocation", make<BalancedAllocationPlugin>},
    {"NodeResourcesFit", make<NodeResourcesFitPlugin>},
    {"NodeUnschedulable", make<NodeUnschedulablePlugin>},
    {"NodeVolumeLimits", make<NodeVolumeLimitsPlugin>},
    {"PodTopologySpread", make<TopologySpreadPlugin>},
    {"TaintToleration", make<TaintTolerationPlugin>},
    {"VolumeBinding", make<VolumeBindingPlugin>},
    {"VolumeRestrictions", make<VolumeRestrictionsPlugin>},
    {"VolumeZone", make<VolumeZonePlugin>},
};

bool rejects(const Status& status) {
  return status.code != Code::kSuccess && status.code != Code::kSkip;
}

}  // namespace

const std::vector<std::string>& plugin_names(Version version) {
  static const std::vector<std::string> kRest{"TaintToleration",
                                              "NodeAffinity",
                                              "NodePorts",
                                              "NodeResourcesFit",
                                              "VolumeRestrictions",
                                              "NodeVolumeLimits",
                                              "VolumeBinding",
                                              "VolumeZone",
                                              "PodTopologySpread",
                                              "InterPodAffinity",
                                              "DynamicResources",
                                              "NodeDeclaredFeatures",
                                              "NodeResourcesBalancedAllocation",
                                              "ImageLocality"};
  static const auto prefixed = [](std::vector<std::string> names) {
    names.insert(names.end(), kRest.begin(), kRest.end());
    return names;
  };
  // "1.37: NodeName before NodeUnschedulable".
  static const std::vector<std::string> kOld = prefixed({"NodeUnschedulable", "NodeName"});
  static const std::vector<std::string> kNew = prefixed({"NodeName", "NodeUnschedulable"});
  return version >= Version::k137 ? kNew : kOld;
}

// "TaintToleration 3; NodeAffinity, PodTopologySpread, InterPodAffinity, DynamicResources 2; Fit,
// VolumeBinding, BalancedAllocation, ImageLocality 1."
std::int64_t weight_of(const std::string& plugin) {
  if (plugin == "TaintToleration") return 3;
  if (plugin == "NodeAffinity" || plugin == "PodTopologySpread" || plugin == "InterPodAffinity" ||
      plugin == "DynamicResources") {
    return 2;
  }
  return 1;
}

std::unique_ptr<Plugin> make_plugin(const std::string& name, const PodCycle& cycle) {
  const auto found = kPlugins.find(name);
  if (found == kPlugins.end()) throw std::invalid_argument("plugin: " + name);
  return found->second(cycle);
}

PluginAnswer run_plugin(const std::string& name, const PodCycle& cycle) {
  const std::unique_ptr<Plugin> plugin = make_plugin(name, cycle);
  PluginAnswer answer;
  answer.pre_filter = plugin->pre_filter();
  if (rejects(answer.pre_filter)) return answer;
  std::vector<const Node*> feasible;
  for (const Node* node : cycle.facts.nodes()) {
    Status status;
    if (answer.pre_filter.node_names && !answer.pre_filter.node_names->contains(node->name)) {
      status = unresolvable("node(s) didn't satisfy plugin(s) [" + name + "]");
    } else if (answer.pre_filter.code != Code::kSkip) {
      status = plugin->filter(*node);
    }
    if (status.code == Code::kSuccess) feasible.push_back(node);
    answer.filter[node->name] = status;
  }
  if (feasible.empty()) return answer;
  answer.pre_score = plugin->pre_score(feasible);
  if (answer.pre_score->code != Code::kSuccess) return answer;
  for (const Node* node : feasible) answer.scores[node->name] = plugin->score(*node);
  answer.normalized = answer.scores;
  plugin->normalize(answer.normalized);
  return answer;
}

ProfileCycle::ProfileCycle(Version version, const Json& args, const Facts& facts, const Pod& pod)
    : facts_(facts), pod_(pod) {
  std::vector<std::string> names = plugin_names(version);
  // Where it has arguments; the engine asks it before what looks at other pods, whatever the order.
  if (args.contains("LimitAware")) {
    names.insert(std::find(names.begin(), names.end(), "NodeResourcesFit") + 1, "LimitAware");
  }
  for (const std::string& name : names) {
    plugins_.push_back({name, make_plugin(name, {facts_, pod_, child(args, name), version}), {}});
    Entry& entry = plugins_.back();
    entry.pre_filter = entry.plugin->pre_filter();
    if (rejects(entry.pre_filter)) {
      pre_filter_ = {entry.pre_filter, name};
      return;
    }
  }
}

// "Nodes outside PreFilter's names, before any filter".
NodeStatus ProfileCycle::filter(const Node& node) const {
  if (rejects(pre_filter_)) return pre_filter_;
  for (const Entry& entry : plugins_) {
    if (!entry.pre_filter.node_names || entry.pre_filter.node_names->contains(node.name)) continue;
    return {unresolvable("node(s) didn't satisfy plugin(s) [" + entry.name + "]"), entry.name};
  }
  for (const Entry& entry : plugins_) {
    if (entry.pre_filter.code == Code::kSkip) continue;
    Status status = entry.plugin->filter(node);
    if (status.code != Code::kSuccess) return {std::move(status), entry.name};
  }
  return {};
}

// RunFilterPluginsWithNominatedPods: those of the same or a higher priority.
NodeStatus ProfileCycle::filter_with_nominated(const Node& node) {
  const std::int64_t priority = pod_priority(facts_.priorities(), *pod_.object);
  std::vector<Pod> yielded_to;
  for (const Pod* nominated : facts_.nominated_to(node.name)) {
    const bool higher = pod_priority(facts_.priorities(), *nominated->object) >= priority;
    if (higher && nominated->uid != pod_.uid) yielded_to.push_back(*nominated);
  }
  if (!yielded_to.empty()) {
    const Facts before = facts_;
    for (const Pod& nominated : yielded_to) place(nominated, node);
    NodeStatus status = filter(node);
    for (const Pod& nominated : yielded_to) take(nominated, node);
    facts_ = before;
    if (status.code != Code::kSuccess) return status;
  }
  return filter(node);
}

void ProfileCycle::score(const std::vector<const Node*>& feasible, ProfileAnswer& answer) const {
  for (const Node* node : feasible) answer.totals[node->name] = 0;
  for (const Entry& entry : plugins_) {
    const Status pre_score = entry.plugin->pre_score(feasible);
    if (pre_score.code == Code::kSkip) continue;
    if (pre_score.code != Code::kSuccess) {
      // An error ends the cycle: no node is chosen.
      answer.pre_filter = {pre_score, entry.name};
      answer.plugin_scores.clear();
      answer.totals.clear();
      return;
    }
    Scores scores;
    for (const Node* node : feasible) scores[node->name] = entry.plugin->score(*node);
    entry.plugin->normalize(scores);
    for (auto& [node, score] : scores) {
      score *= weight_of(entry.name);
      answer.totals[node] += score;
    }
    answer.plugin_scores[entry.name] = std::move(scores);
  }
}

void ProfileCycle::place(const Pod& placed, const Node& node) {
  facts_.place(placed, node.name);
  for (const Entry& entry : plugins_) {
    if (entry.pre_filter.code != Code::kSkip) entry.plugin->add_pod(placed, node);
  }
}

void ProfileCycle::take(const Pod& placed, const Node& node) {
  facts_.take(placed);
  for (const Entry& entry : plugins_) {
    if (entry.pre_filter.code != Code::kSkip) entry.plugin->remove_pod(placed, node);
  }
}

void DefaultProfile::reserve(Facts& facts, const Json& object, const std::string& name) const {
  facts.reserve(object, name);
  const Pod pod = read_pod(object);
  for (const Node* node : facts.nodes()) {
    if (node->name != name) continue;
    const PodCycle cycle{facts, pod, child(args_, "VolumeBinding"), version_};
    facts.assume(pod, VolumeBindingPlugin(cycle).reserve(*node));
  }
}

std::string DefaultProfile::nominated_node(const Facts& facts, const Pod& pod) const {
  const std::string name = facts.nominated_node(pod);
  if (name.empty()) return name;
  const ProfileAnswer answer = schedule(facts, pod);
  return answer.filter.at(name).code == Code::kSuccess ? name : std::string();
}

ProfileAnswer DefaultProfile::schedule(const Facts& facts, const Pod& pod) const {
  ProfileCycle cycle(version_, args_, facts, pod);
  ProfileAnswer answer;
  answer.pre_filter = cycle.pre_filter();
  std::vector<const Node*> feasible;
  for (const Node* node : facts.nodes()) {
    NodeStatus status = cycle.filter_with_nominated(*node);
    if (status.code == Code::kSuccess) feasible.push_back(node);
    answer.filter[node->name] = std::move(status);
  }
  if (feasible.empty()) return answer;
  cycle.score(feasible, answer);
  for (const Node* node : feasible) {
    const auto total = answer.totals.find(node->name);
    if (total == answer.totals.end()) continue;
    if (answer.best.empty() || total->second > answer.totals.at(answer.best)) {
      answer.best = node->name;
    }
  }
  for (const Node* node : feasible) {
    if (node->name != answer.best) continue;
    answer.bound =
        VolumeBindingPlugin({facts, pod, child(args_, "VolumeBinding"), version_}).bound(*node);
  }
  return answer;
}

}  // namespace oracle::defaults
