// ResourceLimitAware: prefers nodes whose pods' limits add up to the least share of allocatable.
//
// Source: the seed resource-limit-aware-node-scoring and proposal-rules; the same in both modes, as
// no implementation exists.
#pragma once

#include <map>

#include "engine/policies/policy.h"

namespace headroom {

class ResourceLimitAware final : public Policy {
 public:
  explicit ResourceLimitAware(const PolicyContext& context);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  void describe(const Pod& pod, PodShape& shape) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;
  bool count(std::uint32_t row, PodId id) override;
  void uncount(std::uint32_t row, PodId id) override;
  bool counts_by_node() const override { return true; }
  void add_figures(ResourceId resource, NodeFigures& figures) const override;

 private:
  struct Columns {
    SumId limit;
    ColumnId capacity, headroom;
  };

  std::int64_t need_on(std::uint32_t row, const AllocatableNeed& need) const;

  const Profile& profile_;
  ResourceNames& names_;
  NodeTable& table_;
  const Facts& facts_;
  std::map<ResourceId, Columns> columns_;
};

}  // namespace headroom
