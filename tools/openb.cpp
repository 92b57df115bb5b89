// Reads the compact tables back and makes Kubernetes objects of their rows.
#include "tools/openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tools/openb_tables.h"
#include "tools/random.h"

namespace headroom {
namespace {

// Cuts `text` at the first `separator` and returns what stood before it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

// The tables are ours and a test compares them with their origin, so a bad one is our own mistake.
std::int64_t take_number(std::string_view& row) {
  const std::string_view field = take(row, ',');
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end != field.data() + field.size()) std::abort();
  return number;
}

template <typename ReadRow>
void read_table(std::string_view table, ReadRow read_row) {
  take(table, '\n');  // the column names
  while (!table.empty()) read_row(take(table, '\n'));
}

OpenbTrace read_trace() {
  OpenbTrace trace;
  read_table(kOpenbNodesTable, [&](std::string_view row) {
    const auto count = static_cast<std::size_t>(take_number(row));
    OpenbNode node{.cpu_milli = take_number(row),
                   .memory_mib = take_number(row),
                   .gpu = take_number(row),
                   .model = std::string(row)};
    trace.nodes.insert(trace.nodes.end(), count, node);
  });
  read_table(kOpenbPodShapesTable, [&](std::string_view row) {
    trace.shapes.push_back({.cpu_milli = take_number(row),
                            .memory_mib = take_number(row),
                            .num_gpu = take_number(row),
                            .gpu_milli = take_number(row),
                            .gpu_spec = std::string(take(row, ',')),
                            .qos = std::string(row)});
  });
  std::int64_t creation = 0;
  read_table(kOpenbPodsTable, [&](std::string_view row) {
    OpenbPod pod{.shape = static_cast<std::uint32_t>(take_number(row)),
                 .phase = std::string(take(row, ',')),
                 .creation = creation += take_number(row),
                 .deletion = creation + take_number(row),
                 .scheduled = std::nullopt};
    if (!row.empty()) pod.scheduled = creation + take_number(row);
    trace.pods.push_back(std::move(pod));
  });
  return trace;
}

}  // namespace

const OpenbTrace& openb_trace() {
  static const OpenbTrace trace = read_trace();
  return trace;
}

Quantity memory_quantity(std::int64_t mib) {
  return Quantity::from_nanos(Quantity::from_value(mib << 20).nanos(), Quantity::Format::kBinarySI);
}

std::string openb_node_name(std::size_t index) { return fmt::format("openb-node-{:04}", index); }
std::string openb_pod_name(std::size_t index) { return fmt::format("openb-pod-{:04}", index); }

LimitRatios openb_limit_ratios(std::uint32_t shape, std::uint64_t seed) {
  Random random{seed, 1, shape};
  const std::string& qos = openb_trace().shapes[shape].qos;
  if (qos == "BE") return {};
  if (qos == "Guaranteed") return {.cpu_permille = 1000, .memory_permille = 1000};
  return {.cpu_permille = 250 * random.between(4, qos == "LS" ? 24 : 12),
          .memory_permille = 250 * random.between(4, 8)};
}

Container openb_container(const OpenbShape& shape, LimitRatios ratios) {
  Container container;
  container.name = "main";
  container.requests = {{"cpu", Quantity::from_milli(shape.cpu_milli)},
                        {"memory", memory_quantity(shape.memory_mib)}};
  if (ratios.cpu_permille > 0) {
    container.limits.emplace_back(
        "cpu", Quantity::from_milli(shape.cpu_milli * ratios.cpu_permille / 1000));
  }
  if (ratios.memory_permille > 0) {
    container.limits.emplace_back(
        "memory", memory_quantity(shape.memory_mib * ratios.memory_permille / 1000));
  }
  if (shape.num_gpu > 0) {
    const Quantity gpus = Quantity::from_value(shape.num_gpu);
    container.requests.emplace_back(kGpuResource, gpus);
    container.limits.emplace_back(kGpuResource, gpus);
  }
  return container;
}

std::int32_t openb_priority(const OpenbShape& shape) { return shape.qos == "BE" ? 5500 : 9500; }

Node openb_node(std::size_t index) {
  const OpenbNode& row = openb_trace().nodes[index];
  Node node;
  node.name = openb_node_name(index);
  node.labels = {{"kubernetes.io/hostname", node.name}};
  node.allocatable = {{"cpu", Quantity::from_milli(row.cpu_milli)},
                      {"memory", memory_quantity(row.memory_mib)}};
  if (row.gpu > 0) {
    node.labels.emplace_back(kGpuModelLabel, row.model);
    node.allocatable.emplace_back(kGpuResource, Quantity::from_value(row.gpu));
  }
  node.allocatable.emplace_back("pods", Quantity::from_value(kNodePods));
  node.capacity = node.allocatable;  // the trace keeps nothing back
  return node;
}

Pod openb_pod(std::size_t index, std::uint64_t seed) {
  const OpenbPod& row = openb_trace().pods[index];
  const OpenbShape& shape = openb_trace().shapes[row.shape];
  Pod pod;
  pod.namespace_name = "openb";
  pod.name = openb_pod_name(index);
  pod.uid = pod.name;
  if (shape.qos == "LS" || shape.qos == "BE") pod.labels = {{kQosLabel, shape.qos}};
  pod.creation_us = kTraceStartUs + row.creation * kMicrosPerSecond;
  pod.containers = {openb_container(shape, openb_limit_ratios(row.shape, seed))};
  pod.priority = openb_priority(shape);
  if (!shape.gpu_spec.empty()) {
    NodeSelectorRequirement models{.key = kGpuModelLabel, .op = "In", .values = {}};
    std::string_view spec = shape.gpu_spec;
    while (!spec.empty()) models.values.emplace_back(take(spec, '|'));
    pod.required_node_affinity = {{.match_expressions = {std::move(models)}, .match_fields = {}}};
  }
  if (row.deletion > row.creation) pod.active_deadline_seconds = row.deletion - row.creation;
  pod.phase = "Pending";
  return pod;
}

}  // namespace headroom
