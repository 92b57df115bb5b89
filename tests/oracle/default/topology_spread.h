// PodTopologySpread: pods of an application spread over domains.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class TopologySpreadPlugin final : public Plugin {
 public:
  explicit TopologySpreadPlugin(const PodCycle& cycle);

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
  void add_pod(const Pod& placed, const Node& node) override { count(placed, node, 1); }
  void remove_pod(const Pod& placed, const Node& node) override { count(placed, node, -1); }
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override;

 private:
  using Constraints = std::vector<SpreadConstraint>;
  using Domains = std::map<std::string, std::int64_t>;  // pods by the key's value

  // Its selector is never absent where it counts: an absent one selects nothing.
  Constraints resolve(const Constraints& written) const;
  Constraints default_constraints() const;
  LabelSelector default_selector() const;

  std::int64_t count_pods(const SpreadConstraint& constraint, const Node& node) const;
  bool takes_part(const SpreadConstraint& constraint, const Node& node) const;
  void count(const Pod& placed, const Node& node, std::int64_t change);

  bool system_defaults_ = false;
  Constraints hard_, soft_;
  std::vector<Domains> hard_domains_;  // by hard constraint

  // From PreScore on.
  std::set<std::string> ignored_;      // nodes
  std::vector<Domains> soft_domains_;  // by soft constraint; none of hostname
  std::vector<double> weights_;        // by soft constraint
};

}  // namespace oracle::defaults
