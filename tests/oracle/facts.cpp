// See facts.h. The numbers are those of conformance/README.md, "Facts, not history".
#include "oracle/facts.h"

#include <algorithm>

namespace oracle {
namespace {

std::string name_of(const Json& object) { return text(child(object, "metadata"), "name"); }

std::string key_of(const Json& object) {
  return text(child(object, "metadata"), "namespace") + "/" + name_of(object);
}

std::string uid_of(const Json& object) { return text(child(object, "metadata"), "uid"); }

bool is_terminal(const Json& pod) {
  const std::string phase = text(child(pod, "status"), "phase");
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

// Fact 1: the latest object of a kind and name counts.
void Facts::apply(const Json& object) {
  const std::string kind = text(object, "kind");
  if (kind == "Pod") {
    apply_pod(object);
  } else if (kind == "NodeMetric") {
    metrics_[name_of(object)] = object;
  } else if (kind == "ElasticQuota") {
    elastic_quotas_[key_of(object)] = object;
  } else if (kind == "PodDisruptionBudget") {
    disruption_budgets_[key_of(object)] = object;
  } else if (kind == "PriorityClass") {
    priority_classes_[name_of(object)] = object;
  } else if (kind == "Node") {
    if (!nodes_.contains(name_of(object))) node_names_.push_back(name_of(object));
    nodes_[name_of(object)] = object;
  }
}

// Fact 1: deletes remove it; fact 3: pods and metrics of a deleted node stay.
void Facts::remove(const Json& object) {
  const std::string kind = text(object, "kind");
  if (kind == "Pod") pods_.erase(key_of(object));
  if (kind == "NodeMetric") metrics_.erase(name_of(object));
  if (kind == "ElasticQuota") elastic_quotas_.erase(key_of(object));
  if (kind == "PodDisruptionBudget") disruption_budgets_.erase(key_of(object));
  if (kind == "PriorityClass") priority_classes_.erase(name_of(object));
  if (kind == "Node" && nodes_.erase(name_of(object)) != 0) {
    node_names_.erase(std::find(node_names_.begin(), node_names_.end(), name_of(object)));
  }
}

void Facts::apply_pod(const Json& pod) {
  PodFact& fact = pods_[key_of(pod)];
  // Fact 1: another UID replaces the older pod and its reservation.
  if (fact.uid != uid_of(pod)) fact = PodFact{};
  fact.uid = uid_of(pod);
  fact.latest = pod;
  fact.applied = true;
  const std::string node = text(child(pod, "spec"), "nodeName");
  // proposal-rules.md, Common: an update without nodeName leaves a bound pod where it is.
  if (!node.empty() || mode_ == Mode::kUpstream) fact.bound_node = node;
  // Fact 2: an apply with nodeName ends a reservation, a pending update keeps it.
  if (!node.empty()) fact.reserved_node.clear();
  note_node(fact);
}

// Fact 2; proposal-rules.md, Common: reserve moves a pod.
void Facts::reserve(const Json& pod, const std::string& node) {
  PodFact& fact = pods_[key_of(pod)];
  if (fact.uid != uid_of(pod)) fact = PodFact{};
  if (!fact.bound_node.empty()) return;
  fact.uid = uid_of(pod);
  fact.latest = pod;
  fact.reserved_node = node;
  note_node(fact);
}

std::string Facts::nominated_node(const Json& pod) const {
  std::string name = text(child(pod, "status"), "nominatedNodeName");
  const auto known = pods_.find(key_of(pod));
  if (name.empty() && known != pods_.end() && known->second.uid == uid_of(pod) &&
      known->second.node().empty() && !is_terminal(known->second.latest)) {
    name = text(child(known->second.latest, "status"), "nominatedNodeName");
  }
  return nodes_.contains(name) ? name : std::string();
}

// Fact 2: same node and UID only; a pod known only by its reservation is gone.
void Facts::unreserve(const Json& pod, const std::string& node) {
  const auto found = pods_.find(key_of(pod));
  if (found == pods_.end()) return;
  PodFact& fact = found->second;
  if (fact.uid != uid_of(pod) || fact.reserved_node != node || !fact.bound_node.empty()) return;
  fact.reserved_node.clear();
  note_node(fact);
  if (!fact.applied) pods_.erase(found);
}

// Fact 4: when this UID was first seen on its current node; updates there do not renew it.
void Facts::note_node(PodFact& fact) const {
  if (fact.node() == fact.seen_node) return;
  fact.seen_node = fact.node();
  fact.since = now_;
}

NodeView Facts::view(const std::string& node, const Json& incoming) const {
  NodeView view;
  view.node = &nodes_.at(node);
  const auto metric = metrics_.find(node);
  if (metric != metrics_.end()) view.metric = &metric->second;
  for (const auto& [key, fact] : pods_) {
    // Fact 3: Succeeded and Failed pods never count.
    if (fact.node() != node || is_terminal(fact.latest)) continue;
    // proposal-rules.md, Common: an incoming pod that is already on a node is not counted there.
    // Upstream: it counts twice.
    const bool is_incoming = fact.uid == uid_of(incoming) && key == key_of(incoming);
    if (is_incoming && mode_ == Mode::kProposal) continue;
    view.pods.push_back(PlacedPod{fact.uid, fact.since, &fact.latest});
  }
  return view;
}

// Fact 3: Succeeded and Failed pods never count.
std::vector<LivePod> Facts::live_pods() const {
  std::vector<LivePod> pods;
  for (const auto& [key, fact] : pods_) {
    if (!is_terminal(fact.latest)) pods.push_back(LivePod{key, fact.node(), &fact.latest});
  }
  return pods;
}

}  // namespace oracle
