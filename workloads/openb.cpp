// Reads the compact tables back and makes Kubernetes objects of their rows.
#include "workloads/openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "objects/labels.h"
#include "objects/text/time_text.h"
#include "workloads/openb_tables.h"
#include "workloads/random.h"

namespace headroom {
namespace {

// Cuts `text` at the first `separator` and returns what stood before it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

// One line of a table. What cannot be used leaves it no good.
class Row {
 public:
  explicit Row(std::string_view text) : text_(text) {}

  // At least 0, and small enough that sums of a table stay within int64.
  std::int64_t number() {
    const std::string_view field = take(text_, ',');
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || end != field.data() + field.size()) good_ = false;
    if (number < 0 || number > kOpenbNumberMax) good_ = false;
    return good_ ? number : 0;
  }
  std::string text() { return std::string(take(text_, ',')); }
  bool ended() const { return text_.empty(); }
  void refuse() { good_ = false; }
  bool good() const { return good_; }

 private:
  std::string_view text_;
  bool good_ = true;
};

template <typename ReadRow>
Result<void> read_table(const char* name, std::string_view table, ReadRow read_row) {
  take(table, '\n');  // the column names
  for (std::size_t line = 2; !table.empty(); ++line) {
    const std::string_view text = take(table, '\n');
    Row row(text);
    if (line > kOpenbRowsMax) {
      return fail(ErrorCode::kLimitExceeded, fmt::format("{}: more than {} lines", name, line - 1));
    }
    read_row(row);
    if (!row.good() || !row.ended()) {
      return fail(ErrorCode::kInvalid, fmt::format("{}:{}: \"{}\" is no row of this table", name,
                                                   line, text.substr(0, 100)));
    }
  }
  return {};
}

}  // namespace

Result<OpenbTrace> read_openb_trace(std::string_view nodes, std::string_view shapes,
                                    std::string_view pods) {
  OpenbTrace trace;
  Result<void> read = read_table("nodes", nodes, [&](Row& row) {
    const auto count = static_cast<std::size_t>(row.number());
    OpenbNode node;
    node.cpu_milli = row.number();
    node.memory_mib = row.number();
    node.gpu = row.number();
    node.model = row.text();
    if (count > kOpenbRowsMax - trace.nodes.size()) return row.refuse();
    trace.nodes.insert(trace.nodes.end(), count, node);
  });
  if (!read) return tl::unexpected(read.error());
  read = read_table("pod shapes", shapes, [&](Row& row) {
    OpenbShape& shape = trace.shapes.emplace_back();
    shape.cpu_milli = row.number();
    shape.memory_mib = row.number();
    shape.num_gpu = row.number();
    shape.gpu_milli = row.number();
    shape.gpu_spec = row.text();
    shape.qos = row.text();
  });
  if (!read) return tl::unexpected(read.error());
  std::int64_t creation = 0;
  read = read_table("pods", pods, [&](Row& row) {
    const std::int64_t shape = row.number();
    if (shape >= static_cast<std::int64_t>(trace.shapes.size())) return row.refuse();
    OpenbPod& pod = trace.pods.emplace_back();
    pod.shape = static_cast<std::uint32_t>(shape);
    pod.phase = row.text();
    pod.creation = creation += row.number();
    pod.deletion = creation + row.number();
    if (!row.ended()) pod.scheduled = creation + row.number();
  });
  if (!read) return tl::unexpected(read.error());
  return trace;
}

const OpenbTrace& openb_trace() {
  // The tables are ours and a test compares them with their origin, so a bad one is our own
  // mistake.
  static const OpenbTrace trace =
      read_openb_trace(kOpenbNodesTable, kOpenbPodShapesTable, kOpenbPodsTable).value();
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
  node.labels = {{kHostnameLabel, node.name}};
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
