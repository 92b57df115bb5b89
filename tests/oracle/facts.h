// The current facts: latest objects, reservations, first-seen times. Nothing is derived here; views
// are built anew for every cycle (conformance/README.md, "Facts, not history").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/cycle.h"

namespace oracle {

// A pod that is neither Succeeded nor Failed, wherever it is.
struct LivePod {
  std::string key;   // namespace/name
  std::string node;  // where it is bound or reserved, existing or not; "" for a pending one
  const Json* pod = nullptr;
};

class Facts {
 public:
  explicit Facts(Mode mode) : mode_(mode) {}

  // Node, Pod, NodeMetric, ElasticQuota, PodDisruptionBudget and PriorityClass; other kinds are
  // ignored.
  void apply(const Json& object);
  void remove(const Json& object);
  void reserve(const Json& pod, const std::string& node);
  void unreserve(const Json& pod, const std::string& node);
  void advance(Int128 now) { now_ = now; }

  Int128 now() const { return now_; }
  // Nodes in the order in which they were first applied.
  const std::vector<std::string>& node_names() const { return node_names_; }
  // The pods that count on the node, without the one of this UID and name.
  NodeView view(const std::string& node, const Json& incoming) const;
  // The pod's own nominated node: the one that it names, else the one that is known of it while it
  // waits. "": none that is there.
  std::string nominated_node(const Json& pod) const;
  // Sorted by namespace/name, as are the two below.
  std::vector<LivePod> live_pods() const;
  const std::map<std::string, Json>& elastic_quotas() const { return elastic_quotas_; }
  const std::map<std::string, Json>& disruption_budgets() const { return disruption_budgets_; }
  // By name.
  const std::map<std::string, Json>& priority_classes() const { return priority_classes_; }

 private:
  struct PodFact {
    std::string uid;
    Json latest;                // applied or reserved last
    bool applied = false;       // known by more than its reservation
    std::string bound_node;     // that the applied object names
    std::string reserved_node;  // "" without a reservation
    std::string seen_node;      // the node of `since`
    Int128 since = 0;

    const std::string& node() const { return bound_node.empty() ? reserved_node : bound_node; }
  };

  void apply_pod(const Json& pod);
  void note_node(PodFact& fact) const;

  Mode mode_;
  Int128 now_ = 0;
  std::vector<std::string> node_names_;
  std::map<std::string, Json> nodes_, metrics_;
  std::map<std::string, PodFact> pods_;                              // by namespace/name
  std::map<std::string, Json> elastic_quotas_, disruption_budgets_;  // by namespace/name
  std::map<std::string, Json> priority_classes_;
};

}  // namespace oracle
