// The default plugins whose rules tests/oracle/policies/policies.h has already, in the form of
// plugin.h: NodeName, NodePorts, NodeResourcesFit and NodeResourcesBalancedAllocation; and
// LimitAware, which is none of them and may stand beside them.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

// What the oracle of the policies decides.
class ResourcePlugin : public Plugin {
 protected:
  using Plugin::Plugin;

  Cycle cycle() const;
};

class NodeNamePlugin final : public ResourcePlugin {
 public:
  using ResourcePlugin::ResourcePlugin;

  Status filter(const Node& node) override;
};

class NodePortsPlugin final : public ResourcePlugin {
 public:
  using ResourcePlugin::ResourcePlugin;

  Status filter(const Node& node) override;
};

class NodeResourcesFitPlugin final : public ResourcePlugin {
 public:
  using ResourcePlugin::ResourcePlugin;

  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
};

class BalancedAllocationPlugin final : public ResourcePlugin {
 public:
  using ResourcePlugin::ResourcePlugin;

  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
};

class LimitAwarePlugin final : public ResourcePlugin {
 public:
  using ResourcePlugin::ResourcePlugin;

  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override;
};

}  // namespace oracle::defaults
