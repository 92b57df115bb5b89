// Kubernetes objects as tests need them: what nearly all of them state, and one default for the
// rest. What is odd about a test's object is set by the test itself.
//
// - A node has room for 110 pods, as a kubelet's, where its list says nothing of pods. Its capacity
//   is empty unless a test sets it.
// - A pod has one container, "main"; no priority, no phase; its uid is its name.
// - A quota's name is "quota"; a CapacityQuota's generation is 1.
//
// Thread safety: pure functions. Cost: that of the strings they copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "objects/objects.h"

namespace headroom {

// --- Lists of resources ------------------------------------------------------------------------

inline ResourceList cores(std::int64_t count) { return {{"cpu", Quantity::from_value(count)}}; }

// In thousandths of a core.
inline ResourceList millicores(std::int64_t count) {
  return {{"cpu", Quantity::from_milli(count)}};
}

// In thousandths of a core, and bytes.
inline ResourceList cpu_and_memory(std::int64_t milli_cpu, std::int64_t memory) {
  return {{"cpu", Quantity::from_milli(milli_cpu)}, {"memory", Quantity::from_value(memory)}};
}

// With 4 GiB of memory for each.
inline ResourceList cores_and_memory(std::int64_t count) {
  return {{"cpu", Quantity::from_value(count)}, {"memory", Quantity::from_value(count << 32)}};
}

// --- Nodes and pods ----------------------------------------------------------------------------

// `allocatable` may be in any order.
inline Node node_of(const std::string& name, ResourceList allocatable, StringMap labels = {}) {
  Node node;
  node.name = name;
  node.labels = std::move(labels);
  if (find(allocatable, "pods") == nullptr) {
    allocatable.emplace_back("pods", Quantity::from_value(110));
  }
  std::sort(allocatable.begin(), allocatable.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  node.allocatable = std::move(allocatable);
  return node;
}

// What a node is to a capacity quota: its capacity is as given, and nothing is allocatable.
inline Node capacity_node_of(const std::string& name, ResourceList capacity,
                             StringMap labels = {}) {
  Node node;
  node.name = name;
  node.labels = std::move(labels);
  node.capacity = std::move(capacity);
  return node;
}

// What few tests state of a pod.
struct PodFields {
  ResourceList limits = {};
  std::string node_name = {};
  StringMap labels = {};
  std::optional<std::int32_t> priority = {};
  std::string phase = {};
  std::string uid = {};  // "": its name
};

inline Pod pod_of(const std::string& namespace_name, const std::string& name, ResourceList requests,
                  PodFields fields = {}) {
  Pod pod;
  pod.namespace_name = namespace_name;
  pod.name = name;
  pod.uid = fields.uid.empty() ? name : std::move(fields.uid);
  pod.labels = std::move(fields.labels);
  pod.node_name = std::move(fields.node_name);
  pod.priority = fields.priority;
  pod.phase = std::move(fields.phase);
  Container& container = pod.containers.emplace_back();
  container.name = "main";
  container.requests = std::move(requests);
  container.limits = std::move(fields.limits);
  return pod;
}

// With a report. Where no interval is stated, an engine takes its default.
inline NodeMetric node_metric_of(const std::string& node_name, std::int64_t update_time_us,
                                 ResourceList usage,
                                 std::optional<std::int64_t> report_interval_seconds = {}) {
  NodeMetric metric;
  metric.name = node_name;
  metric.report_interval_seconds = report_interval_seconds;
  metric.update_time_us = update_time_us;
  metric.has_node_metric = true;
  metric.node_usage = std::move(usage);
  return metric;
}

// --- Quotas, budgets, priorities ---------------------------------------------------------------

inline ElasticQuota elastic_quota(const std::string& namespace_name, ResourceList min,
                                  ResourceList max) {
  ElasticQuota quota;
  quota.namespace_name = namespace_name;
  quota.name = "quota";
  quota.min = std::move(min);
  quota.max = std::move(max);
  return quota;
}

// Of cores.
inline ElasticQuota elastic_quota(const std::string& namespace_name, std::int64_t min,
                                  std::int64_t max) {
  return elastic_quota(namespace_name, cores(min), cores(max));
}

inline CapacityQuota capacity_quota(const std::string& name, StringMap limits,
                                    LabelSelector selector = {}) {
  CapacityQuota quota;
  quota.name = name;
  quota.generation = 1;
  quota.selector = std::move(selector);
  quota.limits = std::move(limits);
  return quota;
}

// For the pods with label app=APP.
inline PodDisruptionBudget disruption_budget(const std::string& namespace_name,
                                             const std::string& name, const std::string& app,
                                             std::int64_t disruptions_allowed) {
  PodDisruptionBudget budget;
  budget.namespace_name = namespace_name;
  budget.name = name;
  budget.selector = {{"app", "In", {app}}};
  budget.disruptions_allowed = disruptions_allowed;
  return budget;
}

inline PriorityClass priority_class(const std::string& name, std::int32_t value,
                                    bool global_default = false) {
  PriorityClass made;
  made.name = name;
  made.value = value;
  made.global_default = global_default;
  return made;
}

}  // namespace headroom
