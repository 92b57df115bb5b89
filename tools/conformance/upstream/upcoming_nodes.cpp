// Readiness of a group's nodes, and what its target lacks; see upcoming_nodes.h.
#include "tools/conformance/upstream/upcoming_nodes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom {

namespace {

constexpr std::array<std::string_view, 3> kNotReadyTaints = {
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/network-unavailable",
};

// The first condition of that type counts.
bool is_suspended(const UpstreamNode& node) {
  const auto found = std::find_if(
      node.conditions.begin(), node.conditions.end(),
      [](const UpstreamCondition& condition) { return condition.type == "Suspended"; });
  return found != node.conditions.end() && found->status == "True";
}

// Has a condition Ready, and nothing says otherwise.
bool is_ready(const UpstreamNode& node) {
  bool known = false;
  for (const UpstreamCondition& condition : node.conditions) {
    if (condition.type == "Ready") {
      known = true;
      if (condition.status == "False" || condition.status == "Unknown") return false;
    } else if (condition.type == "DiskPressure" || condition.type == "NetworkUnavailable") {
      if (condition.status == "True") return false;
    }
  }
  return known && std::none_of(kNotReadyTaints.begin(), kNotReadyTaints.end(), [&](auto taint) {
           return std::find(node.taint_keys.begin(), node.taint_keys.end(), taint) !=
                  node.taint_keys.end();
         });
}

struct GroupReadiness {
  std::int64_t present = 0;  // ready, unready or suspended
  std::vector<std::string> not_started;
};

}  // namespace

UpcomingNodes upcoming_nodes(std::span<const UpstreamNode> nodes,
                             std::span<const UpstreamNodeGroup> groups, std::int64_t now_us) {
  std::map<std::string_view, GroupReadiness> readiness;
  for (const UpstreamNode& node : nodes) {
    if (!node.has_instance) continue;
    GroupReadiness& group = readiness[node.node_group];
    const bool young = node.creation_us && *node.creation_us + kNodeStartupMaxUs > now_us;
    if (young && !is_suspended(node) && !is_ready(node)) {
      group.not_started.push_back(node.name);
    } else {
      ++group.present;
    }
  }
  UpcomingNodes upcoming;
  for (const UpstreamNodeGroup& group : groups) {
    const GroupReadiness& there = readiness[group.id];
    const std::int64_t count = group.target_size - there.present - group.long_unregistered;
    const bool backed_off = group.backed_off && group.node_template;
    if (count <= 0 || !group.scaling_up || backed_off) continue;
    upcoming.counts[group.id] = count;
    upcoming.not_started.insert(upcoming.not_started.end(), there.not_started.begin(),
                                there.not_started.end());
  }
  std::sort(upcoming.not_started.begin(), upcoming.not_started.end());
  return upcoming;
}

}  // namespace headroom
