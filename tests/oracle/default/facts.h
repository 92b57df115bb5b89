// The facts that the default plugins look at: the latest objects, and where pods are. Plain values:
// a copy is another state, and whoever asks "what if" changes a copy.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/default/objects.h"
#include "oracle/facts.h"

namespace oracle::defaults {

class Facts {
 public:
  // conformance/README.md, "Facts, not history", 1 to 3. Kinds that no default plugin looks at are
  // ignored.
  void apply(const Json& object);
  // Kind and metadata are enough.
  void remove(const Json& object);
  void reserve(const Json& pod, const std::string& node);
  void unreserve(const Json& pod, const std::string& node);
  // What VolumeBinding's Reserve assumes of a claim, in kube-scheduler's caches: its volume, or
  // with "" that one is made, for which the node is selected.
  struct AssumedClaim {
    std::string claim, claim_uid;  // "namespace/name"
    std::string volume, node;
  };
  // Of a pod that is reserved; they last as long as that.
  void assume(const Pod& pod, std::vector<AssumedClaim> its);
  // The volumes and claims as these caches have them for a pod: as they were told, but for what is
  // assumed for others. What is told of the same later is newer: a claimRef, a selected node.
  std::map<std::string, PersistentVolume> assumed_volumes(const Pod& incoming) const;
  std::map<std::string, Claim> assumed_claims(const Pod& incoming) const;
  // What if: the pod is on that node, or is not there at all.
  void place(const Pod& pod, const std::string& node);
  void take(const Pod& pod) { pods_.erase(pod.key()); }

  // In the order in which they were first applied.
  std::vector<const Node*> nodes() const;
  // The pods that count on the node: bound or reserved there and not terminal; by namespace/name.
  std::vector<const Pod*> pods_on(const std::string& node) const;
  // The pod's own nominated node: the one that it names, else the one that is known of it while it
  // waits. "": none that is there.
  std::string nominated_node(const Pod& pod) const;
  // Fact 6: not terminal, on no node, nominated to this one.
  std::vector<const Pod*> nominated_to(const std::string& node) const;
  // PriorityClasses and PodDisruptionBudgets, in the form in which the other oracle's rules of
  // priority and preemption read them.
  const oracle::Facts& priorities() const { return priorities_; }

  // By name.
  std::map<std::string, Labels> namespaces;
  std::map<std::string, PersistentVolume> persistent_volumes;
  std::map<std::string, StorageClass> storage_classes;
  std::map<std::string, CsiNode> csi_nodes;
  std::map<std::string, CsiDriver> csi_drivers;
  // By namespace/name.
  std::map<std::string, Service> services;
  std::map<std::string, Controller> replication_controllers, replica_sets, stateful_sets;
  std::map<std::string, Claim> claims;
  std::map<std::string, CsiStorageCapacity> csi_storage_capacities;

 private:
  struct PlacedPod {
    Pod pod;                    // applied or reserved last
    bool applied = false;       // known by more than its reservation
    std::string bound_node;     // that the applied object names
    std::string reserved_node;  // "" without a reservation

    const std::string& node() const { return bound_node.empty() ? reserved_node : bound_node; }
  };

  void apply_pod(const Json& object);
  // Told of the claim: who binds may choose otherwise among equals.
  bool has_another_volume(const AssumedClaim& assumed) const;

  std::vector<std::string> node_names_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, PlacedPod> pods_;  // by namespace/name
  // By the pod: whoever asks "what if it were gone" does not ask what else it would have bound.
  std::map<std::string, std::vector<AssumedClaim>> assumed_;
  oracle::Facts priorities_{Mode::kUpstream};
};

}  // namespace oracle::defaults
