// RefusedNodes: nodes of one template that quotas do not allow, with the pods that would run there:
// so that it is known how many they are.
//
// The cluster's pods are not there, so that what a pod asks of others (required affinity, hard
// spread) is not asked again; the template took it. Pods here keep away from each other. Pods are
// whatever the caller numbers them by. Thread safety: one thread at a time. Cost: a pod is a
// decision over these nodes; before the first one no engine is made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"

namespace headroom {

class RefusedNodes {
 public:
  // The pod goes to the first node with room for it, or to one more; the node's name. The template,
  // the profile and what pods refer to are the same each time. Errors: what the engine refuses.
  Result<std::string> add(std::uint32_t id, const Pod& pod, const Node& node_template,
                          const Profile& profile, std::span<const ReferredObject> referred_objects);
  // A pod that add() put on this node; the last one takes it along.
  void remove(std::uint32_t id, const Pod& pod, const std::string& node);

  bool empty() const { return pod_counts_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(pod_counts_.size()); }
  const std::unordered_set<std::uint32_t>& pods() const { return pods_; }
  // Since noted(): whether anything changed, and who came and is still there.
  bool changed() const { return changed_; }
  std::span<const std::uint32_t> new_pods() const { return new_pods_; }
  void noted();

 private:
  std::optional<Engine> engine_;
  std::map<std::string, std::uint32_t> pod_counts_;  // by node
  std::unordered_set<std::uint32_t> pods_;
  std::vector<std::uint32_t> new_pods_;
  bool changed_ = false;
  std::uint64_t named_ = 0;  // numbers the nodes
};

}  // namespace headroom
