#include "simulation/input/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "objects/hash.h"
#include "simulation/text/printable.h"
#include "simulation/text/table.h"

namespace headroom {

namespace {

template <typename T, typename Name>
void keep_latest(const std::string& kind, InputWarning& twice, std::vector<T>& objects,
                 std::vector<T>&& more, Name name,
                 std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>>& places) {
  for (T& object : more) {
    const auto [place, is_new] = places.emplace(name(object), objects.size());
    if (is_new) {
      objects.push_back(std::move(object));
    } else {
      objects[place->second] = std::move(object);
      twice.add(kind + place->first);
    }
  }
}

// A kind that the pod's object leads to, and that decides where it can or should run, of which
// there is no object; empty: none.
std::string missing_kind(const Pod& pod, const std::set<std::string>& kinds) {
  constexpr std::array kSelecting = {ReferredKind::kReplicaSet, ReferredKind::kStatefulSet,
                                     ReferredKind::kReplicationController};
  for (const ReferredKind kind : kSelecting) {
    if (pod.controller && pod.controller->kind == to_string(kind) &&
        !kinds.contains(to_string(kind))) {
      return to_string(kind);
    }
  }
  const std::string claims = to_string(ReferredKind::kPersistentVolumeClaim);
  const bool has_claim = std::any_of(pod.volumes.begin(), pod.volumes.end(),
                                     [](const Volume& volume) { return volume.claim.has_value(); });
  return has_claim && !kinds.contains(claims) ? claims : "";
}

}  // namespace

void InputWarning::add(std::string name) {
  ++count;
  if (first.size() < kNearFieldsNamedMax) first.push_back(std::move(name));
}

std::string InputWarning::text() const {
  return fmt::format("{} {}: {}{}", grouped(count), what, fmt::join(first, ", "),
                     count > first.size() ? ", ..." : "");
}

Dump make_dump(std::vector<ObjectFile> files) {
  Dump dump;
  std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>> nodes, metrics, pods,
      quotas, budgets, classes, capacity_quotas, referred;
  InputWarning near{.what = "unknown fields that are nearly a known one", .first = {}};
  InputWarning twice{.what = "objects that come twice, of which the last counts", .first = {}};
  const auto plain_name = [](const auto& object) { return object.name; };
  const auto key = [](const auto& object) { return pod_key(object.namespace_name, object.name); };
  const auto kind_and_key = [](const ReferredObject& object) {
    return std::string(to_string(kind_of(object))) + ' ' + key_of(object);
  };
  for (ObjectFile& file : files) {
    keep_latest("Node ", twice, dump.nodes, std::move(file.nodes), plain_name, nodes);
    keep_latest("NodeMetric ", twice, dump.node_metrics, std::move(file.node_metrics), plain_name,
                metrics);
    keep_latest("Pod ", twice, dump.pods, std::move(file.pods), key, pods);
    keep_latest("ElasticQuota ", twice, dump.elastic_quotas, std::move(file.elastic_quotas), key,
                quotas);
    keep_latest("PodDisruptionBudget ", twice, dump.pod_disruption_budgets,
                std::move(file.pod_disruption_budgets), key, budgets);
    keep_latest("PriorityClass ", twice, dump.priority_classes, std::move(file.priority_classes),
                plain_name, classes);
    keep_latest("CapacityQuota ", twice, dump.capacity_quotas, std::move(file.capacity_quotas),
                plain_name, capacity_quotas);
    keep_latest("", twice, dump.referred_objects, std::move(file.referred_objects), kind_and_key,
                referred);
    for (const auto& [kind, count] : file.other_kinds) dump.other_kinds[kind] += count;
    for (std::string& field : file.near_fields) near.add(std::move(field));
    near.count += file.near_count - file.near_fields.size();
  }
  InputWarning lost{.what = "pods on nodes that are not there", .first = {}};
  for (const Pod& pod : dump.pods) {
    const bool there = dump.nodes.empty() || pod.node_name.empty() || pod.terminal() ||
                       nodes.contains(pod.node_name);
    if (!there) lost.add(pod_key(pod) + " on " + pod.node_name);
  }
  std::set<std::string> kinds;
  for (const ReferredObject& object : dump.referred_objects) {
    kinds.emplace(to_string(kind_of(object)));
  }
  InputWarning unknown{.what = "pods that refer to a kind of which there is no object",
                       .first = {}};
  for (const Pod& pod : dump.pods) {
    const std::string kind = dump.nodes.empty() ? "" : missing_kind(pod, kinds);
    if (!kind.empty()) unknown.add(fmt::format("{} to {}", pod_key(pod), kind));
  }
  InputWarning above{.what = "ElasticQuotas with min above max", .first = {}};
  for (const ElasticQuota& quota : dump.elastic_quotas) {
    for (const auto& [resource, min] : quota.min.value_or(ResourceList())) {
      const Quantity* max = quota.max ? find(*quota.max, resource) : nullptr;
      if (max == nullptr || !(*max < min)) continue;
      above.add(fmt::format("{} {} {} > {}", pod_key(quota.namespace_name, quota.name), resource,
                            min.canonical(), max->canonical()));
      break;
    }
  }
  for (InputWarning* warning : {&near, &twice, &lost, &unknown, &above}) {
    if (warning->count > 0) dump.warnings.push_back(std::move(*warning));
  }
  return dump;
}

nlohmann::ordered_json warnings_json(std::span<const InputWarning> warnings) {
  auto list = nlohmann::ordered_json::array();
  for (const InputWarning& warning : warnings) {
    list.push_back({{"what", warning.what}, {"count", warning.count}, {"first", warning.first}});
  }
  return list;
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

void report_oddities(const Dump& dump, const char* command) {
  for (const auto& [kind, count] : dump.other_kinds) {
    print_error(command, fmt::format("{} {} not read", grouped(count), kind));
  }
  report_warnings(dump.warnings, command);
}

void report_warnings(std::span<const InputWarning> warnings, const char* command) {
  for (const InputWarning& warning : warnings) print_error(command, warning.text());
}

}  // namespace headroom
