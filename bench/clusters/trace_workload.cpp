#include "bench/clusters/trace_workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/openb.h"
#include "workloads/random.h"

namespace headroom {

namespace {

enum TracePurpose : std::uint64_t { kForUsage = 701 };

}  // namespace

TraceWorkload make_trace_workload(std::uint32_t count, bool departures, std::uint64_t seed) {
  const OpenbTrace& trace = openb_trace();
  const auto size = static_cast<std::uint32_t>(trace.pods.size());
  std::vector<Pod> templates;
  for (std::uint32_t p = 0; p < size; ++p) {
    templates.push_back(openb_pod(p, seed));
  }
  const std::int64_t length = trace.pods.back().creation + 1;
  TraceWorkload workload;
  for (std::uint32_t i = 0; i < count; ++i) {
    Pod pod = templates[i % size];
    pod.name += fmt::format("-{}", i / size);
    pod.uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", seed & 0xFFFFFFFF, i);
    workload.pods.push_back(std::move(pod));
    const OpenbPod& row = trace.pods[i % size];
    const std::int64_t arrival = row.creation + i / size * length;
    workload.steps.push_back({arrival, true, i});
    if (departures && row.deletion > row.creation) {
      workload.steps.push_back({arrival + row.deletion - row.creation, false, i});
    }
  }
  std::stable_sort(workload.steps.begin(), workload.steps.end(),
                   [](const TraceWorkload::Step& a, const TraceWorkload::Step& b) {
                     return a.second != b.second ? a.second < b.second : a.arrival < b.arrival;
                   });
  return workload;
}

void for_each_trace_node(std::uint32_t nodes, std::uint64_t seed,
                         const std::function<void(const Node&, const NodeMetric&)>& use) {
  const std::size_t size = openb_trace().nodes.size();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    Node node = openb_node(n % size);
    node.name += fmt::format("-{}", n / size);
    NodeMetric metric;
    metric.name = node.name;
    metric.update_time_us = kTraceStartUs;
    metric.has_node_metric = true;
    const std::int64_t percent = Random{seed, kForUsage, n}.between(5, 30);
    for (const auto& [name, quantity] : node.allocatable) {
      if (name == "cpu" || name == "memory") {
        metric.node_usage.emplace_back(name,
                                       Quantity::from_nanos(quantity.nanos() / 100 * percent));
      }
    }
    use(node, metric);
  }
}

}  // namespace headroom
