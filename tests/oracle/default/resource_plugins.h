// The default plugins whose rules tests/oracle/policies.h has already, in the form of plugin.h:
// NodeName, NodePorts, NodeResourcesFit and NodeResourcesBalancedAllocation; and LimitAware, which
// is none of them and may stand beside them.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class NodeNamePlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
};

class NodePortsPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
};

class NodeResourcesFitPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
};

class BalancedAllocationPlugin final : public Plugin {
 public:
  explicit BalancedAllocationPlugin(const PodCycle& cycle);

  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;

 private:
  Json balanced_args_;
};

class LimitAwarePlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override;
};

}  // namespace oracle::defaults
