// Draws the objects of a synthetic cluster.
#include "workloads/cluster_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "objects/annotations.h"
#include "objects/labels.h"
#include "objects/pod_resources.h"
#include "objects/text/time_text.h"
#include "workloads/apart_pods.h"
#include "workloads/random.h"
#include "workloads/zones.h"

namespace headroom {
namespace {

// The first key of every draw: what it is for.
enum ClusterPurpose : std::uint64_t { kForNode = 101, kForPod, kForBinding, kForMetric, kForUsage };

constexpr std::array kLimitRatioAnnotations = {R"({"cpu": 150, "memory": 120})",
                                               R"({"memory": 110})", R"({"cpu": "200%"})",
                                               R"({"cpu": "125%", "memory": "100%"})"};
constexpr std::array kThresholdAnnotations = {R"({"usageThresholds": {"cpu": 80, "memory": 90}})",
                                              R"({"usageThresholds": {"cpu": 50, "memory": 70}})"};
constexpr std::uint32_t kNamespaces = 24;
constexpr std::uint32_t kApps = 200;

constexpr std::uint32_t kBindProbes = 32;

constexpr std::int64_t kSidecarCpuMilli = 100, kSidecarMemoryMib = 128;
constexpr std::int64_t kSystemCpuMilli = 300, kSystemMemoryMib = 1024;
constexpr std::int64_t kReservedCpuMilli = 80;
constexpr std::int64_t kEphemeralBytes = 487'126'430'473;
constexpr std::int64_t kReportIntervalSeconds = 60;

// `percent` of cpu and memory.
ResourceList usage_at(std::int64_t cpu_milli, std::int64_t memory_mib, std::int64_t percent) {
  return {{"cpu", Quantity::from_milli(cpu_milli * percent / 100)},
          {"memory", memory_quantity(memory_mib * percent / 100)}};
}

std::int64_t usage_percent(std::string_view uid, bool best_effort, std::uint64_t seed) {
  // FNV-1a: std::hash may differ between libraries.
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : uid) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  Random random{seed, kForUsage, hash};
  return best_effort ? random.between(50, 90) : random.between(20, 60);
}

}  // namespace

struct ClusterGenerator::NodePlan {
  OpenbNode shape;  // capacity
  const char* zone = nullptr;
  bool batch = false, unschedulable = false, maintenance = false;
  const char* limit_ratio = nullptr;
  const char* thresholds = nullptr;

  // Allocatable.
  std::int64_t cpu_milli() const { return shape.cpu_milli - kReservedCpuMilli; }
  std::int64_t memory_mib() const { return shape.memory_mib - shape.memory_mib / 100; }

  const char* pool() const { return shape.gpu > 0 ? "gpu" : batch ? "batch" : "general"; }
  std::string instance_type() const {
    std::string type = fmt::format("c{}m{}", shape.cpu_milli / 1000, shape.memory_mib / 1024);
    if (shape.gpu > 0) type += fmt::format("-{}x{}", shape.model, shape.gpu);
    return type;
  }
};

struct ClusterGenerator::PodPlan {
  std::uint32_t trace_shape = 0;
  OpenbShape shape;  // scaled
  bool sidecar = false, daemon_set = false;
  bool tolerates_gpu = false, tolerates_batch = false, avoids_batch = false;
  const char* zone = nullptr;  // selected
  std::uint32_t app = 0;

  std::int64_t cpu_milli() const { return shape.cpu_milli + (sidecar ? kSidecarCpuMilli : 0); }
  std::int64_t memory_mib() const { return shape.memory_mib + (sidecar ? kSidecarMemoryMib : 0); }
};

// What is left of a node while pods are bound.
struct ClusterGenerator::Room {
  std::int64_t cpu_milli, memory_mib, gpu, pods;

  bool take(const PodPlan& pod) {
    if (pod.cpu_milli() > cpu_milli || pod.memory_mib() > memory_mib || pod.shape.num_gpu > gpu ||
        pods == 0) {
      return false;
    }
    cpu_milli -= pod.cpu_milli();
    memory_mib -= pod.memory_mib();
    gpu -= pod.shape.num_gpu;
    --pods;
    return true;
  }
};

ClusterGenerator::ClusterGenerator(const Options& options) : options_(options) {
  node_of_pod_.assign(options_.pods, kUnbound);
  first_pod_.assign(options_.nodes + std::size_t{1}, 0);
  if (options_.applications) {
    applications_.emplace(options_.nodes, options_.pods, options_.seed);
  }
  if (options_.quotas > 0) quotas_.emplace(options_.quotas, options_.seed);
  if (options_.nodes == 0) return;
  if (options_.capacity_quotas > 0) set_capacity_quotas();
  if (!options_.follow_trace) scale_to_fit();
  if (options_.bound_permille > 0) bind_pods();
  if (quotas_) set_elastic_quotas();
}

// Compares the trace's mean pod, times the pods, with its mean node, times the nodes. Applications
// are too few for a mean: what they ask for is added up.
void ClusterGenerator::scale_to_fit() {
  const OpenbTrace& trace = openb_trace();
  double node_cpu = 0, node_memory = 0, node_gpu = 0, pod_cpu = 0, pod_memory = 0, pod_gpu = 0;
  for (const OpenbNode& node : trace.nodes) {
    node_cpu += static_cast<double>(node.cpu_milli);
    node_memory += static_cast<double>(node.memory_mib);
    node_gpu += static_cast<double>(node.gpu);
  }
  const auto add = [&](const OpenbPod& pod, double times) {
    const OpenbShape& shape = trace.shapes[pod.shape];
    pod_cpu += static_cast<double>(shape.cpu_milli) * times;
    pod_memory += static_cast<double>(shape.memory_mib) * times;
    pod_gpu += static_cast<double>(shape.num_gpu) * times;
  };
  const double nodes = options_.nodes / static_cast<double>(trace.nodes.size());
  double pods = options_.pods / static_cast<double>(trace.pods.size());
  if (applications_) {
    for (std::uint32_t a = 0; a < applications_->count(); ++a) {
      add(trace.pods[trace_pod(applications_->first_pod(a))], applications_->pod_count(a));
    }
    pods = applications_->count() > 0 ? 1 : 0;
  } else {
    for (const OpenbPod& pod : trace.pods) add(pod, 1);
  }
  const auto permille = [&](double node_sum, double pod_sum) {
    if (pods == 0) return std::int64_t{1000};
    const double fits = options_.fill_permille * node_sum * nodes / (pod_sum * pods);
    return std::clamp(static_cast<std::int64_t>(fits), std::int64_t{1}, std::int64_t{1000});
  };
  cpu_permille_ = permille(node_cpu, pod_cpu);
  memory_permille_ = permille(node_memory, pod_memory);
  gpu_permille_ = static_cast<std::uint32_t>(permille(node_gpu, pod_gpu));
}

ClusterGenerator::NodePlan ClusterGenerator::plan_node(std::uint32_t index) const {
  const OpenbTrace& trace = openb_trace();
  Random random{options_.seed, kForNode, index};
  NodePlan plan;
  plan.shape = trace.nodes[random.below(static_cast<std::uint32_t>(trace.nodes.size()))];
  plan.zone = kZones[random.below(kZones.size())];
  plan.batch = plan.shape.gpu == 0 && random.permille(50);
  plan.unschedulable = random.permille(20);
  plan.maintenance = random.permille(10);
  if (random.permille(200)) {
    plan.limit_ratio = kLimitRatioAnnotations[random.below(kLimitRatioAnnotations.size())];
  }
  if (random.permille(50)) {
    plan.thresholds = kThresholdAnnotations[random.below(kThresholdAnnotations.size())];
  }
  return plan;
}

std::uint32_t ClusterGenerator::trace_pod(std::uint32_t index) const {
  const auto size = static_cast<std::uint32_t>(openb_trace().pods.size());
  index = template_of(index);
  if (options_.follow_trace) return index % size;
  return Random{options_.seed, kForPod, index, 1}.below(size);
}

ClusterGenerator::PodPlan ClusterGenerator::plan_pod(std::uint32_t index) const {
  const OpenbTrace& trace = openb_trace();
  index = template_of(index);
  Random random{options_.seed, kForPod, index};
  PodPlan plan;
  plan.trace_shape = trace.pods[trace_pod(index)].shape;
  plan.shape = trace.shapes[plan.trace_shape];
  OpenbShape& shape = plan.shape;
  shape.cpu_milli = std::max<std::int64_t>(shape.cpu_milli * cpu_permille_ / 1000, 1);
  shape.memory_mib = std::max<std::int64_t>(shape.memory_mib * memory_permille_ / 1000, 1);
  if (!random.permille(gpu_permille_)) shape.num_gpu = 0;
  plan.sidecar = random.permille(100);
  plan.daemon_set = random.permille(10) && !applications_;
  // Most pods without GPUs tolerate them: four nodes in five have some.
  plan.tolerates_gpu = shape.num_gpu > 0 || random.permille(900);
  plan.tolerates_batch = shape.qos == "BE" && random.permille(500);
  plan.avoids_batch = !plan.tolerates_batch && random.permille(10);
  if (random.permille(30)) plan.zone = kZones[random.below(kZones.size())];
  plan.app = random.below(kApps);
  return plan;
}

void ClusterGenerator::bind_pods() {
  std::vector<Room> rooms(options_.nodes);
  std::vector<std::uint32_t> gpu_nodes, all_nodes;
  for (std::uint32_t n = 0; n < options_.nodes; ++n) {
    const NodePlan node = plan_node(n);
    rooms[n] = {node.cpu_milli(), node.memory_mib(), node.shape.gpu, kNodePods};
    if (node.unschedulable || node.maintenance) continue;
    all_nodes.push_back(n);
    if (node.shape.gpu > 0) gpu_nodes.push_back(n);
  }
  std::optional<ApartPods> apart;
  if (applications_) apart.emplace(*applications_);
  std::vector<std::uint32_t> pods_on(options_.nodes, 0);
  for (std::uint32_t p = 0; p < options_.pods; ++p) {
    Random random{options_.seed, kForBinding, p};
    if (!random.permille(options_.bound_permille)) continue;
    const PodPlan pod = plan_pod(p);
    const std::vector<std::uint32_t>& nodes = pod.shape.num_gpu > 0 ? gpu_nodes : all_nodes;
    if (nodes.empty()) continue;
    for (std::uint32_t probe = 0; probe < kBindProbes; ++probe) {
      const std::uint32_t n = nodes[random.below(static_cast<std::uint32_t>(nodes.size()))];
      const NodePlan node = plan_node(n);
      if ((node.batch && !pod.tolerates_batch) || (node.shape.gpu > 0 && !pod.tolerates_gpu) ||
          (pod.zone != nullptr && std::string_view(pod.zone) != node.zone) ||
          (apart && !apart->let_in(p, n, node.zone, pod.zone != nullptr)) || !rooms[n].take(pod)) {
        continue;
      }
      if (apart) apart->add(n, node.zone);
      node_of_pod_[p] = n;
      ++pods_on[n];
      break;
    }
  }
  std::partial_sum(pods_on.begin(), pods_on.end(), first_pod_.begin() + 1);
  pods_of_node_.resize(first_pod_.back());
  std::vector<std::uint32_t> next(first_pod_.begin(), first_pod_.end() - 1);
  for (std::uint32_t p = 0; p < options_.pods; ++p) {
    if (is_bound(p)) pods_of_node_[next[node_of_pod_[p]]++] = p;
  }
}

void ClusterGenerator::set_elastic_quotas() {
  ElasticQuotaGenerator::Amounts allocatable;
  for (std::uint32_t n = 0; n < options_.nodes; ++n) {
    const NodePlan node = plan_node(n);
    allocatable += {node.cpu_milli(), node.memory_mib(), node.shape.gpu};
  }
  std::vector<ElasticQuotaGenerator::Amounts> used(options_.quotas);
  for (std::uint32_t p = 0; p < options_.pods; ++p) {
    if (!is_bound(p)) continue;
    const PodPlan pod = plan_pod(p);
    used[team_of_pod(p)] += {pod.cpu_milli(), pod.memory_mib(), pod.shape.num_gpu};
  }
  quotas_->set_elastic_quotas(allocatable, used);
}

void ClusterGenerator::set_capacity_quotas() {
  capacity_quotas_.emplace(options_.seed);
  for (std::uint32_t n = 0; n < options_.nodes; ++n) {
    const NodePlan node = plan_node(n);
    capacity_quotas_->add(
        {.zone = node.zone, .pool = node.pool(), .instance_type = node.instance_type()},
        {.nodes = 1,
         .cpu_milli = node.shape.cpu_milli,
         .memory_mib = node.shape.memory_mib,
         .gpu = node.shape.gpu});
  }
}

std::string ClusterGenerator::zone_of_node(std::uint32_t index) const {
  return plan_node(index).zone;
}

std::string ClusterGenerator::node_name(std::uint32_t index) const {
  return fmt::format("node-{:06}", index);
}

std::string ClusterGenerator::pod_name(std::uint32_t index) const {
  return fmt::format("pod-{:07}", index);
}

std::uint32_t ClusterGenerator::team_of_pod(std::uint32_t index) const {
  if (applications_) index = ApplicationGenerator::namespace_of(applications_->of_pod(index));
  return quotas_ ? quotas_->team_of_pod(index)
                 : static_cast<std::uint32_t>(mix_bits(index) % kNamespaces);
}

std::string ClusterGenerator::pod_namespace(std::uint32_t index) const {
  const std::uint32_t team = team_of_pod(index);
  return quotas_ ? quotas_->team_name(team) : fmt::format("team-{:02}", team);
}

std::int64_t ClusterGenerator::pod_lifetime_seconds(std::uint32_t pod_index) const {
  const OpenbPod& row = openb_trace().pods[trace_pod(pod_index)];
  return row.deletion - row.creation;
}

Node ClusterGenerator::node(std::uint32_t index) const {
  const NodePlan plan = plan_node(index);
  const OpenbNode& shape = plan.shape;
  Node node;
  node.name = node_name(index);
  node.labels = {{"kubernetes.io/arch", "amd64"},
                 {kHostnameLabel, node.name},
                 {"kubernetes.io/os", "linux"},
                 {"node.kubernetes.io/instance-type", plan.instance_type()}};
  if (shape.gpu > 0) node.labels.emplace_back(kGpuModelLabel, shape.model);
  node.labels.emplace_back("pool", plan.pool());
  node.labels.emplace_back("topology.kubernetes.io/region", "region-1");
  node.labels.emplace_back(kZoneLabel, plan.zone);
  if (plan.limit_ratio != nullptr) {
    node.annotations.emplace_back(kLimitToAllocatableAnnotation, plan.limit_ratio);
  }
  if (plan.thresholds != nullptr) {
    node.annotations.emplace_back(kUsageThresholdsAnnotation, plan.thresholds);
  }
  if (shape.gpu > 0) node.taints.push_back({kGpuResource, "present", "NoSchedule"});
  if (plan.batch) node.taints.push_back({"dedicated", "batch", "NoSchedule"});
  if (plan.maintenance) node.taints.push_back({"maintenance", "", "NoExecute"});
  if (plan.unschedulable) {
    node.taints.push_back({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
    node.unschedulable = true;
  }
  const auto resources = [&](std::int64_t cpu_milli, std::int64_t memory_mib) {
    ResourceList list = {{"cpu", Quantity::from_milli(cpu_milli)},
                         {"ephemeral-storage", Quantity::from_value(kEphemeralBytes)},
                         {"hugepages-1Gi", Quantity()},
                         {"hugepages-2Mi", Quantity()},
                         {"memory", memory_quantity(memory_mib)}};
    if (shape.gpu > 0) list.emplace_back(kGpuResource, Quantity::from_value(shape.gpu));
    list.emplace_back("pods", Quantity::from_value(kNodePods));
    return list;
  };
  if (applications_) {
    std::vector<std::uint32_t> applications;
    for (std::uint32_t i = first_pod_[index]; i < first_pod_[index + 1]; ++i) {
      applications.push_back(applications_->of_pod(pods_of_node_[i]));
    }
    node.images = applications_->images(index, applications);
  }
  node.capacity = resources(shape.cpu_milli, shape.memory_mib);
  node.allocatable = resources(plan.cpu_milli(), plan.memory_mib());
  return node;
}

std::string ClusterGenerator::app_name(std::uint32_t index, const PodPlan& plan) const {
  if (applications_) return ApplicationGenerator::name(applications_->of_pod(index));
  return fmt::format("app-{}", quotas_ ? quotas_->app_of(plan.app) : plan.app);
}

Pod ClusterGenerator::pod(std::uint32_t index) const {
  const PodPlan plan = plan_pod(index);
  Pod pod;
  pod.namespace_name = pod_namespace(index);
  pod.name = pod_name(index);
  pod.uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", options_.seed & 0xFFFFFFFF, index);
  pod.labels = {{"app", app_name(index, plan)}};
  if (plan.shape.qos == "LS" || plan.shape.qos == "BE") {
    pod.labels.emplace_back(kQosLabel, plan.shape.qos);
  }
  pod.daemon_set = plan.daemon_set;
  pod.containers = {
      openb_container(plan.shape, openb_limit_ratios(plan.trace_shape, options_.seed))};
  if (plan.sidecar) {
    Container sidecar;
    sidecar.name = "proxy";
    sidecar.requests = {{"cpu", Quantity::from_milli(kSidecarCpuMilli)},
                        {"memory", memory_quantity(kSidecarMemoryMib)}};
    sidecar.limits = {{"cpu", Quantity::from_milli(2 * kSidecarCpuMilli)},
                      {"memory", memory_quantity(2 * kSidecarMemoryMib)}};
    sidecar.restart_always = true;
    pod.init_containers.push_back(std::move(sidecar));
  }
  if (quotas_) {
    quotas_->set_priority(pod, template_of(index), plan.shape.qos == "BE");
  } else {
    pod.priority = openb_priority(plan.shape);
  }
  if (plan.zone != nullptr) pod.node_selector = {{kZoneLabel, plan.zone}};
  if (plan.avoids_batch) {
    pod.required_node_affinity = {
        {.match_expressions = {{.key = "pool", .op = "NotIn", .values = {"batch"}}},
         .match_fields = {}}};
  }
  if (plan.tolerates_gpu) pod.tolerations.push_back({kGpuResource, "Exists", "", "NoSchedule"});
  if (plan.tolerates_batch) pod.tolerations.push_back({"dedicated", "Equal", "batch", ""});
  if (applications_) applications_->fill(pod, index);
  const std::int64_t lifetime = pod_lifetime_seconds(index);
  if (plan.shape.qos == "BE" && lifetime > 0) pod.active_deadline_seconds = lifetime;

  if (is_bound(index)) {
    Random random{options_.seed, kForPod, index, 2};
    const std::int64_t scheduled = options_.now_us - random.between(1, 7200) * kMicrosPerSecond;
    pod.creation_us = scheduled - random.between(0, 30) * kMicrosPerSecond;
    pod.node_name = node_name(node_of_pod_[index]);
    pod.scheduled = PodCondition{.is_true = true, .last_transition_us = scheduled};
    pod.phase = "Running";
    if (quotas_) pod.start_us = scheduled;
  } else {
    pod.creation_us = options_.now_us;
    pod.phase = "Pending";
  }
  pod.qos_class = pod_qos_class(pod);
  return pod;
}

bool ClusterGenerator::has_node_metric(std::uint32_t index) const {
  return Random{options_.seed, kForMetric, index}.permille(950);
}

NodeMetric ClusterGenerator::node_metric(std::uint32_t index) const {
  Random random{options_.seed, kForMetric, index, 1};
  NodeMetric metric;
  metric.name = node_name(index);
  metric.report_interval_seconds = kReportIntervalSeconds;
  const std::int64_t age_seconds = random.permille(10) ? 600 : random.between(0, 59);
  metric.update_time_us = options_.now_us - age_seconds * kMicrosPerSecond;
  metric.has_node_metric = true;
  std::int64_t cpu_milli = kSystemCpuMilli, memory_mib = kSystemMemoryMib;
  for (std::uint32_t i = first_pod_[index]; i < first_pod_[index + 1]; ++i) {
    const std::uint32_t p = pods_of_node_[i];
    const PodPlan plan = plan_pod(p);
    const bool best_effort = plan.shape.qos == "BE";
    const std::string name = pod_name(p);
    const std::int64_t percent = usage_percent(name, best_effort, options_.seed);
    cpu_milli += plan.cpu_milli() * percent / 100;
    memory_mib += plan.memory_mib() * percent / 100;
    metric.pods.push_back({pod_namespace(p), name,
                           usage_at(plan.cpu_milli(), plan.memory_mib(), percent),
                           best_effort ? "koord-batch" : "koord-prod"});
  }
  metric.node_usage = usage_at(cpu_milli, memory_mib, 100);
  metric.system_usage = usage_at(kSystemCpuMilli, kSystemMemoryMib, 100);
  metric.aggregated = {{.duration_us = 300 * kMicrosPerSecond,
                        .usage = {{"avg", usage_at(cpu_milli, memory_mib, 95)},
                                  {"p50", usage_at(cpu_milli, memory_mib, 90)},
                                  {"p90", usage_at(cpu_milli, memory_mib, 120)},
                                  {"p95", usage_at(cpu_milli, memory_mib, 130)},
                                  {"p99", usage_at(cpu_milli, memory_mib, 150)}}}};
  return metric;
}

ResourceList simulated_usage(const Pod& pod, std::uint64_t seed) {
  const std::string* qos = find(pod.labels, kQosLabel);
  const std::int64_t percent = usage_percent(pod.name, qos != nullptr && *qos == "BE", seed);
  ResourceList usage;
  for (const auto& [name, request] : pod_requests(pod)) {
    if (name != "cpu" && name != "memory") continue;
    usage.emplace_back(name, Quantity::from_nanos(request.nanos() / 100 * percent));
  }
  return usage;
}

}  // namespace headroom
