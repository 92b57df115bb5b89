// LimitAware: keeps the sum of limits on a node within a ratio of its allocatable, and prefers
// nodes whose limits are least allocated.
//
// Source: the seed limit-aware-scheduling and proposal-rules (mode Proposal); koordinator #1486
// (mode Upstream), where a ratio that is no percentage makes its node answer Error.
//
// A resource without a ratio has no limit, so one that no node has rejects nobody here. Of names
// beyond kResourcesMax no limits are kept: a node with a ratio for some of them rejects pods that
// limit one of them, and says so.
#pragma once

#include <map>
#include <optional>

#include "engine/policies/limit_ratio.h"
#include "engine/policies/policy.h"

namespace headroom {

class LimitAware final : public Policy {
 public:
  explicit LimitAware(const PolicyContext& context);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  void names_of(const KeptNode& node, std::vector<std::string>& names) const override;
  void forget(ResourceId resource) override;
  void describe(const Pod& pod, PodShape& shape) override;
  void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;
  void notes(std::uint32_t row, const NodeFacts& node, std::vector<Note>& out) const override;
  void add_figures(ResourceId resource, NodeFigures& figures) const override;

 private:
  struct Columns {
    SumId limit;
    ColumnId headroom;  // kUnlimited where the node has no ratio for the resource
    // Scored resources only. cpu and memory have a sum of their own, with defaults.
    SumId scored = 0;
    ColumnId scored_capacity = kNoColumn, scored_headroom = kNoColumn;
  };
  struct NodeRatio {
    ResourcePercents percents;
    bool error = false;    // mode Upstream
    bool ignored = false;  // mode Proposal: the annotation is bad, the default applies
  };

  Columns& columns(ResourceId resource);
  NodeRatio ratio_of(const KeptNode& node) const;
  // Whether the ratio names what is beyond kResourcesMax.
  bool is_not_kept(const NodeRatio& ratio) const;
  void add_not_kept();
  // Without resources that no node has. `beyond`: takes the names of limits that are not kept.
  Amounts limits_of(const Pod& pod, bool scored, bool* has_scalars = nullptr,
                    std::vector<std::string>* beyond = nullptr) const;
  void add_error_term(ProgramBuilder& builder, bool of_score) const;

  const Profile& profile_;
  const bool upstream_;
  ResourceNames& names_;
  NodeTable& table_;
  const Facts& facts_;
  std::map<ResourceId, Columns> columns_;
  ColumnId error_ = kNoColumn;  // mode Upstream: -1 on nodes that answer Error
  // -1 on nodes with a ratio for a name beyond kResourcesMax; since a pod first asked for one.
  ColumnId not_kept_ = kNoColumn;
};

}  // namespace headroom
