// ClusterGenerator: a synthetic cluster of any size, calibrated to the openb trace.
//
// Node shapes, pod shapes, qos classes and lifetimes are the trace's; what it lacks is drawn from
// the seed. Any object is made on its own, from the options and its index; the same options give
// the same objects on every machine.
//
// Nodes: a shape of the trace's table; allocatable is a little below capacity; hostname, zone,
// region, pool, instance type and GPU model as labels; GPU nodes are tainted nvidia.com/gpu, and
// one in 20 of the others dedicated=batch; 2 in 100 are unschedulable and 1 in 100 drains for
// maintenance; 20 in 100 have a limit-to-allocatable annotation and 5 usage-thresholds.
//
// Pods: a shape of the trace's table with limits as openb.h draws them; sidecars on 10 in 100, zone
// selectors on 3, a node affinity on 1, DaemonSet owners on 1, tolerations for the taints above.
// When so many pods would not fit, every request is scaled down by one factor per resource, and
// GPUs are taken from all but a share of the pods.
//
// bound_permille of the pods sit on nodes, within allocatable and where their taints and selectors
// let them, as far as a node was found; the others are pending.
//
// With quotas, namespaces, apps and priorities are those of elastic_quota_generator.h, and bound
// pods have a start time. Capacity quotas are those of capacity_quota_generator.h; no other object
// changes with them.
//
// With applications, pods are of those of application_generator.h: what is drawn for a pod above is
// drawn for its application, none is a DaemonSet's, nodes have images and CSINodes, and bound pods
// keep to required anti-affinity and hard spread constraints. Budgets, of which there are some with
// quotas only, are then of every fourth application.
//
// Metrics: 95 in 100 nodes have one, 1 in 100 of those is ten minutes old. A pod uses 20 to 90
// percent of its request. Thread safety: const after construction. Cost: construction O(nodes +
// pods) when pods are bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects/objects.h"
#include "workloads/application_generator.h"
#include "workloads/capacity_quota_generator.h"
#include "workloads/elastic_quota_generator.h"
#include "workloads/openb.h"

namespace headroom {

class ClusterGenerator {
 public:
  struct Options {
    std::uint32_t nodes = 0;
    std::uint32_t pods = 0;
    std::uint64_t seed = 1;
    std::uint32_t bound_permille = 900;
    // Pod j requests what the trace's pod j does, unscaled, the trace repeated as often as needed.
    bool follow_trace = false;
    std::int64_t now_us = kTraceStartUs;
    std::uint32_t quotas = 0;  // namespaces that have one; 0: there are none
    // How much of the cluster all pods request at most, in thousandths; above 1000, some wait.
    std::uint32_t fill_permille = 700;
    std::uint32_t capacity_quotas = 0;
    bool applications = false;
  };

  explicit ClusterGenerator(const Options& options);

  const Options& options() const { return options_; }

  Node node(std::uint32_t index) const;
  Pod pod(std::uint32_t index) const;
  bool has_node_metric(std::uint32_t index) const;
  NodeMetric node_metric(std::uint32_t index) const;

  // Of each none without quotas.
  std::uint32_t elastic_quota_count() const { return options_.quotas; }
  ElasticQuota elastic_quota(std::uint32_t index) const { return quotas_->elastic_quota(index); }
  std::uint32_t budget_count() const;
  PodDisruptionBudget budget(std::uint32_t index) const;
  std::uint32_t priority_class_count() const {
    return quotas_ ? ElasticQuotaGenerator::priority_class_count() : 0;
  }
  PriorityClass priority_class(std::uint32_t index) const {
    return ElasticQuotaGenerator::priority_class(index);
  }

  std::uint32_t capacity_quota_count() const {
    return capacity_quotas_ ? options_.capacity_quotas : 0;
  }
  CapacityQuota capacity_quota(std::uint32_t index) const {
    return capacity_quotas_->capacity_quota(index);
  }
  // All of these, kind after kind.
  void visit_quotas(const auto& visit) const {
    for (std::uint32_t c = 0; c < priority_class_count(); ++c) visit(priority_class(c));
    for (std::uint32_t q = 0; q < elastic_quota_count(); ++q) visit(elastic_quota(q));
    for (std::uint32_t b = 0; b < budget_count(); ++b) visit(budget(b));
    for (std::uint32_t q = 0; q < capacity_quota_count(); ++q) visit(capacity_quota(q));
  }

  // What nodes and pods refer to: namespaces, storage classes and drivers, what runs the pods and
  // serves them, their claims and volumes, the nodes' CSINodes. None without applications.
  void visit_referred_objects(const ApplicationGenerator::Visit& visit) const;
  std::vector<ReferredObject> referred_objects() const;

  std::string node_name(std::uint32_t index) const;
  bool is_bound(std::uint32_t pod_index) const { return node_of_pod_[pod_index] != kUnbound; }
  // Seconds that the trace gives the pod to live.
  std::int64_t pod_lifetime_seconds(std::uint32_t pod_index) const;

 private:
  static constexpr std::uint32_t kUnbound = 0xFFFFFFFF;

  struct NodePlan;
  struct PodPlan;
  struct Room;

  NodePlan plan_node(std::uint32_t index) const;
  PodPlan plan_pod(std::uint32_t index) const;
  // The pod that others are like: itself, or the first of its application.
  std::uint32_t template_of(std::uint32_t pod_index) const {
    return applications_ ? applications_->first_pod(applications_->of_pod(pod_index)) : pod_index;
  }
  std::uint32_t trace_pod(std::uint32_t index) const;
  void scale_to_fit();
  void bind_pods();
  void set_elastic_quotas();
  void set_capacity_quotas();
  std::string zone_of_node(std::uint32_t index) const;
  std::uint32_t team_of_pod(std::uint32_t index) const;
  std::string pod_name(std::uint32_t index) const;
  std::string pod_namespace(std::uint32_t index) const;
  std::string app_name(std::uint32_t index, const PodPlan& plan) const;

  Options options_;
  std::int64_t cpu_permille_ = 1000, memory_permille_ = 1000;  // of a trace request
  std::uint32_t gpu_permille_ = 1000;                          // of GPU pods keep their GPUs
  std::vector<std::uint32_t> node_of_pod_;                     // or kUnbound
  // Bound pods by node: pods_of_node_[first_pod_[n]] up to pods_of_node_[first_pod_[n + 1]].
  std::vector<std::uint32_t> first_pod_, pods_of_node_;
  std::optional<ApplicationGenerator> applications_;
  std::optional<ElasticQuotaGenerator> quotas_;
  std::optional<CapacityQuotaGenerator> capacity_quotas_;  // if there are any, and nodes
};

// What `pod` uses: a share of its cpu and memory requests drawn from the seed and its name, 50 to
// 90 percent for pods of qos BE and 20 to 60 for others.
ResourceList simulated_usage(const Pod& pod, std::uint64_t seed);

}  // namespace headroom
