// Which nodes cluster-autoscaler expects soon: counted by its quota tracker as copies of their
// group's template, while those of them that have registered are not counted themselves.
//
// Source: cluster-autoscaler 33c3f97b, GetUpcomingNodes and updateReadinessStats of
// pkg/clusterstate. A group's upcoming nodes are its target size less its ready, unready, suspended
// and long unregistered ones: what has not started, or not registered, or is not there yet. A group
// without a scale-up request, or backed off, is left out, though its nodes may still come; a group
// without a template cannot be backed off.
// Thread safety: plain functions. Cost: O(nodes * log groups).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/upstream/upstream_node.h"

namespace headroom {

// A node that is not ready counts as starting up to this age.
inline constexpr std::int64_t kNodeStartupMaxUs = std::int64_t{15} * 60 * 1'000'000;

struct UpcomingNodes {
  UpstreamAmounts counts;                // node group id to a count above 0
  std::vector<std::string> not_started;  // names of registered nodes of those groups, sorted
  friend bool operator==(const UpcomingNodes&, const UpcomingNodes&) = default;
};

UpcomingNodes upcoming_nodes(std::span<const UpstreamNode> nodes,
                             std::span<const UpstreamNodeGroup> groups, std::int64_t now_us);

}  // namespace headroom
