#include "tools/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "objects/hash.h"
#include "tools/table.h"

namespace headroom {

namespace {

template <typename T, typename Name>
void keep_latest(std::vector<T>& objects, std::vector<T>&& more, Name name,
                 std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>>& places) {
  for (T& object : more) {
    const auto [place, is_new] = places.emplace(name(object), objects.size());
    if (is_new) {
      objects.push_back(std::move(object));
    } else {
      objects[place->second] = std::move(object);
    }
  }
}

}  // namespace

std::string full_name(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

Dump make_dump(std::vector<ObjectFile> files) {
  Dump dump;
  std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>> nodes, metrics, pods,
      quotas, budgets, classes, capacity_quotas;
  const auto plain_name = [](const auto& object) { return object.name; };
  const auto key = [](const auto& object) { return pod_key(object.namespace_name, object.name); };
  for (ObjectFile& file : files) {
    keep_latest(dump.nodes, std::move(file.nodes), plain_name, nodes);
    keep_latest(dump.node_metrics, std::move(file.node_metrics), plain_name, metrics);
    keep_latest(dump.pods, std::move(file.pods), key, pods);
    keep_latest(dump.elastic_quotas, std::move(file.elastic_quotas), key, quotas);
    keep_latest(dump.pod_disruption_budgets, std::move(file.pod_disruption_budgets), key, budgets);
    keep_latest(dump.priority_classes, std::move(file.priority_classes), plain_name, classes);
    keep_latest(dump.capacity_quotas, std::move(file.capacity_quotas), plain_name, capacity_quotas);
    for (const auto& [kind, count] : file.other_kinds) dump.other_kinds[kind] += count;
  }
  return dump;
}

Result<Dump> read_dump(const std::vector<std::string>& paths) {
  std::vector<ObjectFile> files;
  for (const std::string& path : paths) {
    Result<ObjectFile> file = read_object_file(path);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return make_dump(std::move(files));
}

std::int64_t newest_time_us(const Dump& dump, std::int64_t otherwise) {
  // An absent time is less than any.
  std::optional<std::int64_t> metric_us, pod_us;
  for (const NodeMetric& metric : dump.node_metrics) {
    metric_us = std::max(metric_us, metric.update_time_us);
  }
  for (const Pod& pod : dump.pods) pod_us = std::max(pod_us, pod.creation_us);
  return metric_us ? *metric_us : pod_us.value_or(otherwise);
}

void report_other_kinds(const Dump& dump, const char* command) {
  for (const auto& [kind, count] : dump.other_kinds) {
    fmt::print(stderr, "headroom {}: {} {} not read\n", command,
               grouped(static_cast<std::int64_t>(count)), kind);
  }
}

}  // namespace headroom
