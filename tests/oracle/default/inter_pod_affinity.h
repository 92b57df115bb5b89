// InterPodAffinity: pods near or far from other pods, by the terms of both.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class InterPodAffinityPlugin final : public Plugin {
 public:
  explicit InterPodAffinityPlugin(const PodCycle& cycle);

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
  void add_pod(const Pod& placed, const Node& node) override { count_required(node, placed, 1); }
  void remove_pod(const Pod& placed, const Node& node) override {
    count_required(node, placed, -1);
  }
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override;

 private:
  using Pair = std::pair<std::string, std::string>;  // a topology key and its value
  using Pairs = std::map<Pair, std::int64_t>;

  // A term of the incoming pod, and a term of an existing one that meets the incoming pod.
  bool own_term_matches(const PodAffinityTerm& term, const Pod& other) const;
  bool others_term_matches(const PodAffinityTerm& term, const Pod& owner) const;
  bool matches_all_own_affinity_terms(const Pod& other) const;

  void count_required(const Node& node, const Pod& placed, std::int64_t change);
  void count_preferred(const Node& node, const Pod& placed);

  Pairs affinity_, anti_affinity_, existing_anti_affinity_;  // pods; no pair with 0
  Pairs preferred_;                                          // weights; touched pairs only
};

}  // namespace oracle::defaults
