// NodeResources: the policy of NodeResourcesFit and NodeResourcesBalancedAllocation.
//
// Source: kube-scheduler v1.35 plugins/noderesources and framework NodeInfo. In mode Proposal a pod
// asks and counts by its spec alone, the same before and after it is bound.
#pragma once

#include <map>
#include <optional>

#include "engine/policies/policy.h"

namespace headroom {

class NodeResources final : public Policy {
 public:
  explicit NodeResources(const PolicyContext& context);

  bool set_node(std::uint32_t row, const NodeFacts& node) override;
  void forget(ResourceId resource) override;
  void describe(const Pod& pod, PodShape& shape) override;
  void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) override;
  void add_figures(ResourceId resource, NodeFigures& figures) const override;

 private:
  struct Columns {
    SumId requested;
    ColumnId allocatable, headroom;
    ColumnId non_zero_headroom = kNoColumn;  // cpu and memory only
    SumId non_zero = 0;
  };

  // The resource's columns; adds them if it has none.
  const Columns& columns(ResourceId resource);
  // Requests by resource; those with names that the scheduler drops, or that no node has, are left
  // out.
  Amounts amounts(const ResourceList& list) const;
  bool ignored(const std::string& name) const;
  bool left_to_dynamic_resources(const std::string& name) const;
  // Of a name that no node has: nowhere any of it.
  const Columns& nothing();
  // Upstream counts a resized pod by its status, too; "from spec; status is not read" in Proposal.
  std::optional<KubernetesVersion> resized_as() const {
    return profile_.mode == Mode::kUpstream ? std::optional(profile_.kubernetes_version)
                                            : std::nullopt;
  }
  void add_fit_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder);
  void add_balanced_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder);

  const Profile& profile_;
  ResourceNames& names_;
  NodeTable& table_;
  std::map<ResourceId, Columns> columns_;
  std::optional<Columns> nothing_;
  std::int8_t ratio_table_[101] = {};
};

}  // namespace headroom
