#include "simulation/simulated_metrics.h"

#include <algorithm>

#include "objects/text/time_text.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

void change(NodeMetric& metric, const ResourceList& usage, int sign) {
  for (auto& [name, total] : metric.node_usage) {
    if (const Quantity* part = find(usage, name)) {
      total += Quantity::from_nanos(sign * part->nanos());
    }
  }
}

}  // namespace

SimulatedMetrics::SimulatedMetrics(const std::vector<Node>& nodes, std::int64_t every_seconds,
                                   std::uint64_t seed)
    : every_seconds_(every_seconds), every_us_(every_seconds * kMicrosPerSecond), seed_(seed) {
  for (const Node& node : nodes) add_node(node.name);
}

void SimulatedMetrics::add_node(const std::string& name) {
  ids_.emplace(name, metrics_.size());
  NodeMetric& metric = metrics_.emplace_back();
  metric.name = name;
  metric.report_interval_seconds = every_seconds_;
  metric.has_node_metric = true;
  metric.node_usage = {{"cpu", Quantity()}, {"memory", Quantity()}};
}

std::vector<NodeMetric>& SimulatedMetrics::report(std::int64_t now_us) {
  const std::int64_t time_us = now_us - now_us % every_us_;
  next_us_ = time_us + every_us_;
  for (NodeMetric& metric : metrics_) metric.update_time_us = time_us;
  return metrics_;
}

void SimulatedMetrics::add(const Pod& pod, std::string_view node_name) {
  const auto found = ids_.find(std::string(node_name));
  if (found == ids_.end()) return;
  NodeMetric& metric = metrics_[found->second];
  const bool best_effort = pod.priority && *pod.priority >= 5000 && *pod.priority <= 5999;
  metric.pods.push_back({pod.namespace_name, pod.name, simulated_usage(pod, seed_),
                         best_effort ? "koord-batch" : "koord-prod"});
  change(metric, metric.pods.back().usage, 1);
}

void SimulatedMetrics::remove(std::string_view namespace_name, std::string_view name,
                              std::uint32_t node) {
  NodeMetric& metric = metrics_[node];
  const auto pod = std::find_if(metric.pods.begin(), metric.pods.end(), [&](const auto& entry) {
    return entry.name == name && entry.namespace_name == namespace_name;
  });
  if (pod == metric.pods.end()) return;
  change(metric, pod->usage, -1);
  metric.pods.erase(pod);
}

}  // namespace headroom
