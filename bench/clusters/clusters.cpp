#include "bench/clusters/clusters.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/checks.h"
#include "objects/labels.h"
#include "workloads/cluster_generator.h"
#include "workloads/random.h"

namespace headroom {

namespace {

enum FillPurpose : std::uint64_t { kForFill = 501 };

constexpr std::uint32_t kPodsPerNode = 4;
// Of the identical nodes.
constexpr std::int64_t kCpuMilli = 64'000, kMemoryMib = 262'144;
constexpr std::int64_t kCpuRatio = 150, kMemoryRatio = 120;
// Fills are drawn in this many steps, so that pods of one fill share a shape.
constexpr std::uint32_t kFillSteps = 512;

ResourceList amounts(std::int64_t cpu_milli, std::int64_t memory_mib) {
  return {{"cpu", Quantity::from_milli(cpu_milli)},
          {"memory", Quantity::from_value(memory_mib << 20)}};
}

Pod simple_pod(std::string name, ResourceList requests, ResourceList limits) {
  Pod pod;
  pod.namespace_name = "bench";
  pod.name = std::move(name);
  pod.uid = pod.name;
  pod.priority = 9500;
  Container container;
  container.name = "main";
  container.requests = std::move(requests);
  container.limits = std::move(limits);
  pod.containers = {std::move(container)};
  Toleration gpu;
  gpu.key = kGpuResource;
  gpu.op = "Exists";
  pod.tolerations = {std::move(gpu)};
  pod.phase = "Pending";
  return pod;
}

Node identical_node(std::uint32_t index) {
  Node node;
  node.name = fmt::format("node-{:06}", index);
  node.labels = {{kHostnameLabel, node.name}};
  node.allocatable = amounts(kCpuMilli, kMemoryMib);
  node.allocatable.emplace_back("pods", Quantity::from_value(kNodePods));
  return node;
}

// Requests and limits of the pod on an identical node, in thousandths of allocatable; memory's
// limits are scaled to its lower ratio.
struct Fill {
  std::int64_t cpu_request, memory_request, cpu_limit, memory_limit;
};

Fill draw_fill(ClusterKind kind, std::uint32_t step) {
  Random random{kForFill, step};
  if (kind == ClusterKind::kAntiCorrelated) {
    const std::int64_t cpu = random.between(50, 550), memory = random.between(50, 500);
    return {cpu, memory, 1300 - cpu, 1050 - memory};
  }
  const std::int64_t cpu = random.between(200, 500), memory = random.between(200, 500);
  return {cpu, memory, cpu * kCpuRatio / 100, memory * kMemoryRatio / 100};
}

Pod fill_pod(const ClusterSpec& spec, std::uint32_t index) {
  const Fill fill = draw_fill(spec.kind, Random{spec.seed, kForFill, index}.below(kFillSteps));
  const auto scaled = [](std::int64_t cpu_permille, std::int64_t memory_permille) {
    return amounts(kCpuMilli * cpu_permille / 1000, kMemoryMib * memory_permille / 1000);
  };
  Pod pod =
      simple_pod(fmt::format("fill-{:06}", index), scaled(fill.cpu_request, fill.memory_request),
                 scaled(fill.cpu_limit, fill.memory_limit));
  pod.node_name = fmt::format("node-{:06}", index);
  pod.phase = "Running";
  return pod;
}

NodeMetric metric_of(const ClusterSpec& spec, std::uint32_t index) {
  NodeMetric metric;
  metric.name = fmt::format("node-{:06}", index);
  metric.report_interval_seconds = 60;
  metric.update_time_us = kTraceStartUs;
  metric.has_node_metric = true;
  metric.node_usage = amounts(0, 0);
  if (spec.kind != ClusterKind::kEmpty) {
    // The pod uses what it asks for, and a little more or less.
    const Pod pod = fill_pod(spec, index);
    const std::int64_t percent = Random{spec.seed, kForFill, index, 1}.between(70, 100);
    metric.node_usage = pod.containers.front().requests;
    for (auto& [name, quantity] : metric.node_usage) {
      quantity = Quantity::from_nanos(quantity.nanos() / 100 * percent);
    }
    metric.pods = {{.namespace_name = pod.namespace_name,
                    .name = pod.name,
                    .usage = metric.node_usage,
                    .priority = "koord-prod"}};
  }
  return metric;
}

constexpr const char* kExtraResources[] = {"ephemeral-storage", "example.com/a", "example.com/b",
                                           "example.com/c",     "example.com/d", kGpuResource};
constexpr std::int64_t kExtraCapacity = 1000;

}  // namespace

Profile bench_profile() {
  Profile profile = Profile::standard();
  // The plugins of columns and classes alone: applications have rows of their own. Balanced as the
  // scalar reference has it.
  profile.kubernetes_version = KubernetesVersion::k135;
  profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeName,
                     PluginId::kTaintToleration,   PluginId::kNodeAffinity,
                     PluginId::kNodePorts,         PluginId::kNodeResourcesFit,
                     PluginId::kLimitAware,        PluginId::kLoadAwareScheduling};
  profile.scores = {{PluginId::kLimitAware},
                    {PluginId::kLoadAwareScheduling},
                    {PluginId::kNodeResourcesFit},
                    {PluginId::kNodeResourcesBalancedAllocation}};
  profile.limit_aware.default_limit_to_allocatable_ratio = {{"cpu", kCpuRatio},
                                                            {"memory", kMemoryRatio}};
  return profile;
}

Profile profile_of_8() {
  Profile profile = bench_profile();
  for (const char* name : kExtraResources) {
    profile.fit.resources.push_back({name});
    profile.balanced.resources.push_back({name});
    profile.limit_aware.resources.push_back({name});
    (*profile.limit_aware.default_limit_to_allocatable_ratio)[name] = kCpuRatio;
  }
  return profile;
}

void add_8_resources(Node& node) {
  for (const char* name : kExtraResources) {
    std::erase_if(node.allocatable, [&](const auto& item) { return item.first == name; });
    node.allocatable.emplace_back(name, Quantity::from_value(kExtraCapacity));
  }
  std::sort(node.allocatable.begin(), node.allocatable.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

void add_8_resources(Pod& pod) {
  for (ResourceList* list : {&pod.containers.front().requests, &pod.containers.front().limits}) {
    std::int64_t amount = 3;
    for (const char* name : kExtraResources) {
      std::erase_if(*list, [&](const auto& item) { return item.first == name; });
      list->emplace_back(name, Quantity::from_value(amount++));
    }
    std::sort(list->begin(), list->end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
}

void for_each_object(const ClusterSpec& spec, const std::function<void(Object&)>& use) {
  const auto emit = [&](auto made) {
    Object object(std::move(made));
    use(object);
  };
  if (spec.kind == ClusterKind::kRandom) {
    const ClusterGenerator generator({.nodes = spec.nodes,
                                      .pods = spec.nodes * kPodsPerNode,
                                      .seed = spec.seed,
                                      .bound_permille = 1000});
    for (std::uint32_t n = 0; n < spec.nodes; ++n) {
      emit(generator.node(n));
    }
    for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
      if (generator.is_bound(p)) {
        emit(generator.pod(p));
      }
    }
    for (std::uint32_t n = 0; n < spec.nodes; ++n) {
      if (generator.has_node_metric(n)) {
        emit(generator.node_metric(n));
      }
    }
    return;
  }
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    emit(identical_node(n));
  }
  for (std::uint32_t n = 0; spec.kind != ClusterKind::kEmpty && n < spec.nodes; ++n) {
    emit(fill_pod(spec, n));
  }
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    emit(metric_of(spec, n));
  }
}

Engine make_engine(const ClusterSpec& spec, EngineOptions options, Profile profile) {
  Engine engine = value_of(Engine::create(std::move(profile), options));
  check_done(engine.advance(kTraceStartUs));
  for_each_object(spec, [&](Object& object) { check_done(engine.upsert(object)); });
  return engine;
}

Pod pending_pod(std::uint32_t index) {
  const std::int64_t cpu = 1000 + index, memory = 2000 + index % 1999;
  return simple_pod(fmt::format("pending-{}", index), amounts(cpu, memory),
                    amounts(2 * cpu, memory * 3 / 2));
}

Pod passing_pod(std::uint32_t index) {
  return simple_pod(fmt::format("passing-{}", index), amounts(1000, 2048), amounts(2000, 3072));
}

Pod extreme_pod(std::uint32_t step) {
  // On top of the 20 to 50 percent that are there: above 50 and within 100.
  const std::int64_t permille = 320 + 20 * step;
  return simple_pod(fmt::format("extreme-{}", step), amounts(100, 128),
                    amounts(kCpuMilli * permille / 1000 * kCpuRatio / 100,
                            kMemoryMib * permille / 1000 * kMemoryRatio / 100));
}

}  // namespace headroom
