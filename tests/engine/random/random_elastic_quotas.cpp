// What CapacityScheduling reads, of a RandomCluster: quotas, budgets, priority classes, and what
// pods say about their importance. See random_cluster.h.
#include <algorithm>

#include "tests/engine/random/random_cluster.h"

namespace headroom {
namespace {

using nlohmann::json;

const std::array kNamespaces = {"team-a", "team-b", "default", "team-c"};
constexpr std::size_t kCalmNamespaces = 3;
const std::array kPriorityClasses = {"low", "middle", "high"};
constexpr std::uint64_t kStartTimes = 4;

json apply(json object) { return {{"op", "apply"}, {"object", std::move(object)}}; }

json remove(const json& object) {
  return {{"op", "delete"},
          {"object", {{"kind", object.at("kind")}, {"metadata", object.at("metadata")}}}};
}

}  // namespace

std::string RandomCluster::namespace_name() {
  return kNamespaces[draws_.below(calm_ ? kCalmNamespaces : kNamespaces.size())];
}

std::string RandomCluster::namespace_of(const std::string& pod_name) const {
  if (!has_capacity_) return "default";
  std::uint64_t sum = 0;
  for (const char c : pod_name) sum = sum * 10 + static_cast<unsigned char>(c);
  return kNamespaces[sum % (calm_ ? kCalmNamespaces : kNamespaces.size())];
}

// Of few values, so that pods are often equal.
void RandomCluster::add_priority(json& pod) {
  json& spec = pod["spec"];
  spec.erase("priority");
  if (!draws_.one_in(4)) {
    spec["priority"] = draws_.pick(std::array{0, 0, 5, 5, 10, -10, 3500, 5500, 9500});
  }
  if (draws_.one_in(4)) {
    spec["priorityClassName"] = draws_.one_in(8) ? "unknown" : draws_.pick(kPriorityClasses);
  }
  // Of a pod that is on a node it means nothing.
  if (draws_.one_in(spec.contains("nodeName") ? 10 : 2)) nominate(pod);
}

// Start, end and labels, of few values too.
void RandomCluster::add_rank(json& pod) {
  json& spec = pod["spec"];
  if (draws_.one_in(16)) spec["preemptionPolicy"] = "Never";
  if (draws_.one_in(16)) spec["preemptionPolicy"] = "PreemptLowerPriority";
  if (!draws_.one_in(4)) {
    pod["status"]["startTime"] =
        "2025-12-31T00:00:0" + std::to_string(draws_.below(kStartTimes)) + "Z";
  }
  json& metadata = pod["metadata"];
  if (draws_.one_in(8)) metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z";
  if (!draws_.one_in(3)) metadata["labels"]["app"] = draws_.pick(std::array{"x", "x", "y"});
  if (draws_.one_in(4)) metadata["labels"]["tier"] = draws_.pick(std::array{"web", "db"});
}

// Now and then to a node that never exists.
void RandomCluster::nominate(json& pod) {
  pod["status"]["nominatedNodeName"] = draws_.one_in(12) ? "nowhere" : node_name();
}

// Around what a few pods ask for: nothing, an exact fit and one too little are common.
json RandomCluster::elastic_quota_list(std::int64_t more) {
  json list = json::object();
  if (draws_.one_in(10)) return list;
  for (const char* name : {"cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"}) {
    const bool basic = name == std::string("cpu") || name == std::string("memory");
    if (basic ? one_in(4, 10) : !one_in(2, 4)) continue;
    const std::int64_t times = draws_.pick(std::array<std::int64_t, 8>{0, 1, 1, 2, 3, 4, 6, 10});
    const std::int64_t off = draws_.pick(std::array<std::int64_t, 6>{0, 0, 0, 0, 1, -1});
    const std::int64_t amount = capacity(name) * (times + more) + off;
    list[name] = quantity(name, std::max<std::int64_t>(0, amount), /*split=*/true);
  }
  return list;
}

json RandomCluster::elastic_quota() {
  // Of several in a namespace the first by name counts.
  const char* name = draws_.one_in(4) ? draws_.pick(std::array{"another", "spare"}) : "quota";
  json quota = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                {"kind", "ElasticQuota"},
                {"metadata", {{"name", name}, {"namespace", namespace_name()}}}};
  if (!draws_.one_in(8)) quota["spec"]["min"] = elastic_quota_list(0);
  if (!draws_.one_in(4)) quota["spec"]["max"] = elastic_quota_list(draws_.between(0, 6));
  return quota;
}

json RandomCluster::disruption_budget() {
  json budget = {
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata",
       {{"name", "budget" + std::to_string(draws_.below(2))}, {"namespace", namespace_name()}}}};
  const std::uint64_t kind = draws_.below(8);
  if (kind < 3) {
    budget["spec"]["selector"]["matchLabels"] = {{"app", draws_.pick(std::array{"x", "y"})}};
  }
  if (kind >= 2 && kind < 6) {
    const std::string key = draws_.pick(std::array{"app", "tier"});
    const std::string op =
        draws_.pick(std::array{"In", "NotIn", "NotIn", "Exists", "DoesNotExist"});
    json expression = {{"key", key}, {"operator", op}};
    if (op == "In" || op == "NotIn") {
      expression["values"] = {draws_.pick(std::array{"x", "web"})};
      if (draws_.one_in(2)) expression["values"].push_back("y");
    }
    budget["spec"]["selector"]["matchExpressions"].push_back(expression);
  }
  if (kind == 6) budget["spec"]["selector"] = json::object();
  if (!draws_.one_in(8)) budget["status"]["disruptionsAllowed"] = draws_.between(-1, 2);
  for (std::uint64_t p = draws_.one_in(3) ? draws_.below(4) : 0; p > 0; --p) {
    budget["status"]["disruptedPods"][pod_name()] = "2026-01-01T00:00:00Z";
  }
  return budget;
}

json RandomCluster::priority_class() {
  json priority_class = {{"apiVersion", "scheduling.k8s.io/v1"},
                         {"kind", "PriorityClass"},
                         {"metadata", {{"name", draws_.pick(kPriorityClasses)}}},
                         {"value", draws_.pick(std::array{0, 5, 10, 10, 5500, -10})}};
  if (draws_.one_in(3)) priority_class["globalDefault"] = draws_.one_in(2);
  if (draws_.one_in(5)) priority_class["preemptionPolicy"] = "Never";
  return priority_class;
}

json RandomCluster::capacity_event() {
  const std::uint64_t kind = draws_.below(10);
  json object = !has_capacity_ ? priority_class()
                : kind < 6     ? elastic_quota()
                : kind < 8     ? disruption_budget()
                               : priority_class();
  return draws_.one_in(5) ? remove(object) : apply(std::move(object));
}

}  // namespace headroom
