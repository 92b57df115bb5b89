// ResourceLimitAware: prefers nodes whose pods' limits add up to the least share of allocatable.
//
// Source: the seed resource-limit-aware-node-scoring and proposal-rules; the same in both modes, as
// no implementation exists.
#pragma once

#include <map>
#include <optional>

#include "engine/policies/policy.h"

namespace headroom {

class ResourceLimitAware final : public Policy {
 public:
  ResourceLimitAware(const Profile& profile, ResourceNames& names, NodeTable& table);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  bool describe(const Pod& pod, PodShape& shape) override;
  void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;

  // nullopt: the resource is not scored.
  std::optional<SumId> limit(ResourceId resource) const {
    const auto found = columns_.find(resource);
    return found == columns_.end() ? std::nullopt : std::optional(found->second.limit);
  }

 private:
  struct Columns {
    SumId limit;
    ColumnId capacity, headroom;
  };

  const Profile& profile_;
  ResourceNames& names_;
  NodeTable& table_;
  std::map<ResourceId, Columns> columns_;
};

}  // namespace headroom
