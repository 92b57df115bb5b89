// TaintToleration, and NodeUnschedulable, which is a taint by another name.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class TaintTolerationPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  void normalize(Scores& scores) override { normalize_by_highest(scores, true); }
};

class NodeUnschedulablePlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status filter(const Node& node) override;
};

}  // namespace oracle::defaults
