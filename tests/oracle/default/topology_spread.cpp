// See topology_spread.h.
#include "oracle/default/topology_spread.h"

#include <algorithm>
#include <cmath>

#include "oracle/default/go_log.h"
#include "oracle/default/node_affinity_score.h"

namespace oracle::defaults {
namespace {

const std::string kHostname = "kubernetes.io/hostname";
constexpr std::int64_t kNoDomain = INT32_MAX;

bool has_keys_of(const std::vector<SpreadConstraint>& constraints, const Node& node) {
  return std::all_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& one) {
    return node.labels.contains(one.topology_key);
  });
}

// The key's value, "" without one.
std::string domain_of(const SpreadConstraint& constraint, const Node& node) {
  const auto found = node.labels.find(constraint.topology_key);
  return found == node.labels.end() ? "" : found->second;
}

// "System: soft hostname skew 3, soft zone skew 5".
std::vector<SpreadConstraint> system_constraints() {
  SpreadConstraint host, zone;
  host.topology_key = kHostname;
  host.max_skew = 3;
  zone.topology_key = "topology.kubernetes.io/zone";
  zone.max_skew = 5;
  return {host, zone};
}

const Controller* find_controller(const std::map<std::string, Controller>& controllers,
                                  const Pod& pod) {
  const auto found = controllers.find(pod.space + "/" + pod.controller->name);
  return found == controllers.end() ? nullptr : &found->second;
}

}  // namespace

TopologySpreadPlugin::TopologySpreadPlugin(const PodCycle& cycle) : Plugin(cycle) {
  system_defaults_ = text(args(), "defaultingType") != "List";
  const bool own = !pod().spread_constraints.empty();
  if (own) system_defaults_ = false;
  for (const SpreadConstraint& constraint :
       own ? resolve(pod().spread_constraints) : default_constraints()) {
    (constraint.hard ? hard_ : soft_).push_back(constraint);
  }
  // "A participant without pods makes a domain of 0."
  for (const SpreadConstraint& constraint : hard_) {
    Domains domains;
    for (const Node* node : facts().nodes()) {
      if (!has_keys_of(hard_, *node) || !takes_part(constraint, *node)) continue;
      domains[domain_of(constraint, *node)] += count_pods(constraint, *node);
    }
    hard_domains_.push_back(std::move(domains));
  }
}

// "Selector absent = nothing, `{}` = everything. matchLabelKeys adds `key in (value)` for keys the
// pod has."; to nothing it adds nothing.
TopologySpreadPlugin::Constraints TopologySpreadPlugin::resolve(const Constraints& written) const {
  Constraints constraints = written;
  for (SpreadConstraint& constraint : constraints) {
    for (const std::string& key : constraint.match_label_keys) {
      const auto label = pod().labels.find(key);
      if (label == pod().labels.end() || !constraint.selector) continue;
      constraint.selector->push_back({key, "In", {label->second}});
    }
  }
  return constraints;
}

TopologySpreadPlugin::Constraints TopologySpreadPlugin::default_constraints() const {
  const LabelSelector selector = default_selector();
  // "Empty: no constraints."
  if (selector.empty()) return {};
  Constraints constraints;
  if (system_defaults_) {
    constraints = system_constraints();
  } else {
    for (const Json& constraint : child(args(), "defaultConstraints")) {
      constraints.push_back(read_spread_constraint(constraint));
    }
  }
  for (SpreadConstraint& constraint : constraints) constraint.selector = selector;
  return constraints;
}

// "Those of the namespace's services that match the pod, merged (services without selector: none),
// and that of the controller". A ReplicationController's selector is merged as a map, so where it
// and a service name the same key, its value stands alone (upstream's labels.Merge; the rules do
// not say).
LabelSelector TopologySpreadPlugin::default_selector() const {
  Labels merged;
  for (const auto& [key, service] : facts().services) {
    if (service.space != pod().space || !service.selector) continue;
    if (!selects(from_map(*service.selector), pod().labels)) continue;
    merged.insert(service.selector->begin(), service.selector->end());
  }
  LabelSelector added;
  if (pod().controller) {
    const OwnerReference& owner = *pod().controller;
    if (owner.api_version == "v1" && owner.kind == "ReplicationController") {
      if (const Controller* found = find_controller(facts().replication_controllers, pod())) {
        for (const auto& [key, value] : found->map) merged[key] = value;
      }
    }
    const Controller* found = nullptr;
    if (owner.api_version == "apps/v1" && owner.kind == "ReplicaSet") {
      found = find_controller(facts().replica_sets, pod());
    } else if (owner.api_version == "apps/v1" && owner.kind == "StatefulSet") {
      found = find_controller(facts().stateful_sets, pod());
    }
    if (found != nullptr && found->selector) added = *found->selector;
  }
  LabelSelector selector = from_map(merged);
  selector.insert(selector.end(), added.begin(), added.end());
  return selector;
}

// "Pods of the pod's namespace, not terminating, that match; an empty selector counts 0, though the
// pod does match itself".
std::int64_t TopologySpreadPlugin::count_pods(const SpreadConstraint& constraint,
                                              const Node& node) const {
  if (!constraint.selector || constraint.selector->empty()) return 0;
  std::int64_t count = 0;
  for (const Pod* placed : facts().pods_on(node.name)) {
    if (placed->space != pod().space || placed->terminating) continue;
    if (selects(constraint.selector, placed->labels)) ++count;
  }
  return count;
}

// The two policies; the keys are asked apart, as they are those of all constraints.
bool TopologySpreadPlugin::takes_part(const SpreadConstraint& constraint, const Node& node) const {
  if (constraint.honors_affinity && !matches_required_node_affinity(pod(), node)) return false;
  return !constraint.honors_taints || !has_untolerated_taint(node.taints, pod().tolerations);
}

// What kube-scheduler does here is not count_pods(): a terminating pod, and any pod under an empty
// selector, was not counted, but is subtracted when preemption takes it away in thought.
void TopologySpreadPlugin::count(const Pod& placed, const Node& node, std::int64_t change) {
  if (placed.space != pod().space || !has_keys_of(hard_, node)) return;
  for (std::size_t i = 0; i < hard_.size(); ++i) {
    if (!selects(hard_[i].selector, placed.labels) || !takes_part(hard_[i], node)) continue;
    hard_domains_[i][domain_of(hard_[i], node)] += change;
  }
}

PreFilterAnswer TopologySpreadPlugin::pre_filter() {
  if (hard_.empty()) return {{Code::kSkip, {}}, {}};
  return {};
}

Status TopologySpreadPlugin::filter(const Node& node) {
  const std::string reason = "node(s) didn't match pod topology spread constraints";
  for (std::size_t i = 0; i < hard_.size(); ++i) {
    const SpreadConstraint& constraint = hard_[i];
    const Domains& domains = hard_domains_[i];
    if (!node.labels.contains(constraint.topology_key)) {
      return unresolvable(reason + " (missing required label)");
    }
    // "min: lowest domain; 0 with fewer domains than minDomains; MaxInt32 with none".
    std::int64_t least = kNoDomain;
    for (const auto& [value, count] : domains) least = std::min(least, count);
    if (static_cast<std::int64_t>(domains.size()) < constraint.min_domains) least = 0;
    const auto domain = domains.find(domain_of(constraint, node));
    const std::int64_t count = domain == domains.end() ? 0 : domain->second;
    const std::int64_t self = selects(constraint.selector, pod().labels) ? 1 : 0;
    if (count + self - least > constraint.max_skew) return unschedulable(reason);
  }
  return {};
}

Status TopologySpreadPlugin::pre_score(const std::vector<const Node*>& feasible) {
  ignored_.clear();
  soft_domains_.clear();
  weights_.clear();
  if (soft_.empty()) return {Code::kSkip, {}};
  // "Nodes without some key are ignored, except under System defaults."
  for (const Node* node : feasible) {
    if (!system_defaults_ && !has_keys_of(soft_, *node)) ignored_.insert(node->name);
  }
  for (const SpreadConstraint& constraint : soft_) {
    Domains domains;
    std::size_t size = feasible.size() - ignored_.size();
    if (constraint.topology_key != kHostname) {
      // "Domains: values on feasible nodes not ignored; under System defaults a missing value is a
      // domain too."
      for (const Node* node : feasible) {
        if (!ignored_.contains(node->name)) domains[domain_of(constraint, *node)] = 0;
      }
      // "Counts come from all participants, infeasible ones too."
      for (const Node* node : facts().nodes()) {
        if (!system_defaults_ && !has_keys_of(soft_, *node)) continue;
        if (!takes_part(constraint, *node)) continue;
        const auto domain = domains.find(domain_of(constraint, *node));
        if (domain != domains.end()) domain->second += count_pods(constraint, *node);
      }
      size = domains.size();
    }
    soft_domains_.push_back(std::move(domains));
    weights_.push_back(go_log(static_cast<double>(size + 2)));
  }
  return {};
}

// "Hostname: the node's own pods, no policies". "Sum, in float64, in order, over keys the node has:
// count·ln(size+2) + (maxSkew−1); round half up."
std::int64_t TopologySpreadPlugin::score(const Node& node) {
  if (ignored_.contains(node.name)) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < soft_.size(); ++i) {
    const SpreadConstraint& constraint = soft_[i];
    if (!node.labels.contains(constraint.topology_key)) continue;
    const std::int64_t count = constraint.topology_key == kHostname
                                   ? count_pods(constraint, node)
                                   : soft_domains_[i].at(domain_of(constraint, node));
    const double weighted = static_cast<double>(count) * weights_[i];
    sum += weighted + static_cast<double>(constraint.max_skew - 1);
  }
  return static_cast<std::int64_t>(std::round(sum));
}

// "Over those not ignored: 100*(max+min−s)/max; max 0: 100; ignored 0."
void TopologySpreadPlugin::normalize(Scores& scores) {
  std::int64_t least = INT64_MAX, most = 0;
  for (const auto& [node, score] : scores) {
    if (ignored_.contains(node)) continue;
    least = std::min(least, score);
    most = std::max(most, score);
  }
  for (auto& [node, score] : scores) {
    if (ignored_.contains(node)) {
      score = 0;
    } else {
      score = most == 0 ? 100 : 100 * (most + least - score) / most;
    }
  }
}

}  // namespace oracle::defaults
