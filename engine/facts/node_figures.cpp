// Cluster: what nodes have and hold of one resource, for whoever looks at all of them.
#include "engine/facts/cluster.h"

namespace headroom {

NodeFigures Cluster::figures(ResourceId resource) const {
  NodeFigures figures;
  const std::uint32_t rows = table_.size();
  for (std::uint32_t row = 0; row < rows; ++row) {
    figures.allocatable.push_back(nodes_[row].node ? nodes_[row].allocatable_of(resource) : 0);
  }
  const auto copy = [&](std::optional<SumId> sum, std::vector<std::int64_t>& to) {
    to.assign(rows, 0);
    for (std::uint32_t row = 0; sum && row < rows; ++row) {
      to[row] = table_.sum(row, *sum);
    }
  };
  if (node_resources_ != nullptr) {
    copy(node_resources_->requested(resource), figures.requested);
  }
  if (limit_aware_ != nullptr) {
    copy(limit_aware_->limit(resource), figures.limits);
  } else if (resource_limit_aware_ != nullptr && resource_limit_aware_->limit(resource)) {
    copy(resource_limit_aware_->limit(resource), figures.limits);
  }
  for (std::uint32_t row = 0; load_aware_ != nullptr && row < rows; ++row) {
    const std::optional<std::int64_t> estimated = load_aware_->estimated(row, resource);
    if (!estimated) {
      break;
    }
    figures.estimated.push_back(*estimated);
  }
  return figures;
}

}  // namespace headroom
