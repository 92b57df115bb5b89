// NodeAffinity: nodeSelector, required and preferred terms, and the profile's addedAffinity.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

// nodeSelector and one of the required terms: also what nodeAffinityPolicy Honor asks.
bool matches_required_node_affinity(const Pod& pod, const Node& node);

class NodeAffinityPlugin final : public Plugin {
 public:
  explicit NodeAffinityPlugin(const PodCycle& cycle);

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override { normalize_by_highest(scores, false); }

 private:
  NodeAffinity added_;
};

}  // namespace oracle::defaults
