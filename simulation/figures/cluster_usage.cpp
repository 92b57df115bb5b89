#include "simulation/figures/cluster_usage.h"

#include <algorithm>

#include "engine/policies/pod_limits.h"
#include "objects/pod_resources.h"

namespace headroom {

namespace {

// The larger of limit and request of each container, as LimitAware adds them up.
std::int64_t limit_amount(const PodLimit& limit) {
  std::int64_t most = 0;
  for (const PodLimit::Line& line : limit.lines) {
    most = std::max(most, resource_amount(limit.resource, line.constant).value_or(0));
  }
  return most;
}

}  // namespace

ClusterUsage::ClusterUsage(std::span<const Node> nodes, std::span<const Node> templates) {
  for (const std::span<const Node> list : {nodes, templates}) {
    for (const Node& node : list) {
      for (const auto& [name, quantity] : node.allocatable) {
        if (!quantity.is_zero()) resource_ids_.emplace(name, 0);
      }
    }
  }
  for (auto& [name, id] : resource_ids_) {
    id = static_cast<std::uint32_t>(peaks_.size());
    peaks_.push_back({.name = name, .hottest_node = {}});
  }
  total_.assign(peaks_.size(), 0);
  requested_.assign(peaks_.size(), 0);
  limits_.assign(peaks_.size(), 0);
  for (const Node& node : nodes) add_node(node);
}

void ClusterUsage::add_node(const Node& node) {
  node_ids_.emplace(node.name, static_cast<std::uint32_t>(node_names_.size()));
  node_names_.push_back(node.name);
  for (const auto& [name, id] : resource_ids_) {
    const Quantity* quantity = find(node.allocatable, name);
    allocatable_.push_back(quantity == nullptr ? 0 : resource_amount(name, *quantity).value_or(0));
    peaks_[id].allocatable = saturated(total_[id] += allocatable_.back());
  }
  node_limits_.resize(allocatable_.size(), 0);
}

ClusterUsage::Holding ClusterUsage::holding(const Pod& pod, std::string_view node_name) const {
  Holding holding;
  const auto node = node_ids_.find(std::string(node_name));
  if (node == node_ids_.end()) return holding;  // bound to a node that is not in the input
  holding.node = node->second;
  const ResourceList requests = pod_requests(pod);
  const std::vector<PodLimit> limits = pod_limits_of(pod, ContainerLimit::kLargerOfBoth, {});
  for (const auto& [name, id] : resource_ids_) {
    const Quantity* request = find(requests, name);
    const auto limit =
        std::find_if(limits.begin(), limits.end(),
                     [&wanted = name](const PodLimit& at) { return at.resource == wanted; });
    Holding::Need need{
        .resource = id,
        .request = request == nullptr ? 0 : resource_amount(name, *request).value_or(0),
        .limit = limit == limits.end() ? 0 : limit_amount(*limit)};
    if (name == "pods") need.request = need.limit = 1;
    if (need.request > 0 || need.limit > 0) holding.needs.push_back(need);
  }
  return holding;
}

void ClusterUsage::add(const Holding& holding) {
  for (const Holding::Need& need : holding.needs) {
    ResourceReport& peak = peaks_[need.resource];
    peak.requested = std::max(peak.requested, saturated(requested_[need.resource] += need.request));
    peak.limits = std::max(peak.limits, saturated(limits_[need.resource] += need.limit));
    const std::size_t cell = holding.node * peaks_.size() + need.resource;
    node_limits_[cell] += need.limit;
    const std::int64_t limits = saturated(node_limits_[cell]);
    // a / b > c / d without division; the products are within Int128.
    if (allocatable_[cell] > 0 &&
        (peak.hottest_allocatable == 0 || Int128{limits} * peak.hottest_allocatable >
                                              Int128{peak.hottest_limits} * allocatable_[cell])) {
      peak.hottest_limits = limits;
      peak.hottest_allocatable = allocatable_[cell];
      peak.hottest_node = node_names_[holding.node];
    }
  }
}

void ClusterUsage::remove(const Holding& holding) {
  for (const Holding::Need& need : holding.needs) {
    requested_[need.resource] -= need.request;
    limits_[need.resource] -= need.limit;
    node_limits_[holding.node * peaks_.size() + need.resource] -= need.limit;
  }
}

std::vector<ResourceReport> ClusterUsage::peaks() const {
  std::vector<ResourceReport> used;
  for (const ResourceReport& peak : peaks_) {
    if (peak.requested > 0 || peak.limits > 0) used.push_back(peak);
  }
  return used;
}

}  // namespace headroom
