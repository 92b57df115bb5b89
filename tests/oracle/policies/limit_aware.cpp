// LimitAware: proposal-rules.md, "LimitAware"; Upstream: koordinator #1486, reference 4.2.
#include <algorithm>

#include "oracle/pod_resources.h"
#include "oracle/policies/limit_ratio.h"
#include "oracle/policies/limit_score.h"

namespace oracle {
namespace {

// A pod's limit with a value for every resource that counts, in units.
struct PodLimits {
  Amounts plain;     // for the filter
  Amounts non_zero;  // for scores: cpu and memory with defaults
};

// quotav1.Max(limits, requests): the larger of both, a key of either.
Resources upstream_container_limit(const Json& container) {
  Resources limit = read_resources(child(container, "resources", "limits"));
  for (const auto& [name, nano] : read_resources(child(container, "resources", "requests"))) {
    const auto [at, fresh] = limit.emplace(name, nano);
    if (!fresh) at->second = std::max(at->second, nano);
  }
  return limit;
}

bool counts_upstream(const std::string& name) {
  return is_basic_resource(name) || is_scalar_resource(name);
}

// getPodResourceLimit: containers summed, raised to each init container, overhead added; each
// container is rounded, sidecars and pod-level resources are not looked at.
PodLimits upstream_limits(const Json& pod) {
  PodLimits limits;
  const auto visit = [&](const char* key, const auto& merge) {
    const Json& containers = child(pod, "spec", key);
    if (!containers.is_array()) return;
    for (const Json& container : containers) {
      const Amounts own = to_units(upstream_container_limit(container));
      for (const auto& [name, units] : own) {
        if (counts_upstream(name)) merge(limits.plain[name], units);
      }
      merge(limits.non_zero[kCpu], own.contains(kCpu) ? own.at(kCpu) : 100);
      merge(limits.non_zero[kMemory],
            own.contains(kMemory) ? own.at(kMemory) : static_cast<std::int64_t>(kDefaultMemory));
    }
  };
  visit("containers", [](std::int64_t& sum, std::int64_t units) { sum += units; });
  visit("initContainers",
        [](std::int64_t& sum, std::int64_t units) { sum = std::max(sum, units); });
  for (const auto& [name, units] : to_units(read_resources(child(pod, "spec", "overhead")))) {
    if (counts_upstream(name)) limits.plain[name] += units;
    if (name == kCpu || name == kMemory) limits.non_zero[name] += units;
  }
  for (const auto& [name, units] : limits.plain) limits.non_zero.emplace(name, units);
  return limits;
}

// "the larger of its limit and request for R; a key that is present is set, even to 0".
Int128 proposal_limit(const Json& pod, const std::string& resource, bool for_score) {
  const ContainerLimit larger = [&](const Resources& requests,
                                    const Resources& limits) -> std::optional<Int128> {
    const auto request = requests.find(resource);
    const auto limit = limits.find(resource);
    if (request == requests.end() && limit == limits.end()) return std::nullopt;
    if (request == requests.end()) return limit->second;
    if (limit == limits.end()) return request->second;
    return std::max(request->second, limit->second);
  };
  // "For scores only: where neither is set, cpu 100m and memory 200Mi".
  Int128 missing = 0;
  if (for_score && resource == kCpu) missing = kDefaultCpu;
  if (for_score && resource == kMemory) missing = kDefaultMemoryNano;
  return shaped_limit(pod, resource, larger, missing);
}

std::int64_t pod_limit(Mode mode, const Json& pod, const std::string& resource, bool for_score) {
  if (mode == Mode::kProposal) return to_unit(resource, proposal_limit(pod, resource, for_score));
  const PodLimits limits = upstream_limits(pod);
  return amount(for_score ? limits.non_zero : limits.plain, resource);
}

std::int64_t allocated_limit(const Cycle& cycle, const NodeView& view, const std::string& resource,
                             bool for_score) {
  Int128 sum = 0;
  for (const PlacedPod& placed : view.pods) {
    sum += pod_limit(cycle.mode, *placed.pod, resource, for_score);
  }
  return sum_in_int64(cycle.mode, sum);
}

// allocatable * percent / 100; allocatable as it is where R has no ratio.
std::int64_t limit_capacity(const Amounts& allocatable, const Ratio& ratio,
                            const std::string& resource) {
  const auto percent = ratio.find(resource);
  const std::int64_t units = amount(allocatable, resource);
  if (percent == ratio.end()) return units;
  return static_cast<std::int64_t>(Int128{units} * percent->second.value_or(0) / 100);
}

// NodeInfo.Allocatable: other names than cpu, memory, ephemeral-storage must be scalar resources.
Amounts node_allocatable(Mode mode, const Json& node) {
  Amounts allocatable = to_units(read_resources(child(node, "status", "allocatable")));
  if (mode == Mode::kUpstream) {
    std::erase_if(allocatable, [](const auto& entry) { return !counts_upstream(entry.first); });
  }
  return allocatable;
}

// Upstream: a bad percentage is an error for the basic resources and for scalars of the node.
bool has_bad_percent(const Ratio& ratio, const Amounts& allocatable) {
  for (const auto& [name, percent] : ratio) {
    const bool has =
        is_basic_resource(name) || (is_scalar_resource(name) && allocatable.contains(name));
    if (!percent && has) return true;
  }
  return false;
}

// Resources whose limits the filter compares: those with a ratio; Upstream adds that scalars must
// occur in the pod.
std::vector<std::string> checked_resources(const Cycle& cycle, const Ratio& ratio) {
  const Amounts own = cycle.mode == Mode::kUpstream ? upstream_limits(*cycle.pod).plain : Amounts();
  std::vector<std::string> names;
  for (const auto& [name, percent] : ratio) {
    if (cycle.mode == Mode::kProposal || is_basic_resource(name) || own.contains(name)) {
      names.push_back(name);
    }
  }
  return reason_order(names);
}

// Upstream: a pod with all-zero limits and no scalar key passes, though not a bad ratio.
bool has_no_limit(const Json& pod) {
  for (const auto& [name, units] : upstream_limits(pod).plain) {
    if (units != 0 || is_scalar_resource(name)) return false;
  }
  return true;
}

std::vector<WeightedResource> score_resources(const Cycle& cycle) {
  if (cycle.mode == Mode::kProposal) {
    // "`scoringResourceWeights` is accepted too, `resources` wins".
    std::vector<WeightedResource> resources = read_weighted(child(*cycle.args, "resources"));
    if (!resources.empty()) return resources;
  }
  std::vector<WeightedResource> resources;
  const Json& weights = child(*cycle.args, "scoringResourceWeights");
  if (weights.is_object()) {
    for (const auto& [name, weight] : weights.items()) {
      const std::int64_t value = weight.get<std::int64_t>();
      resources.push_back({name, value == 0 ? 1 : value});
    }
  }
  return resources.empty() ? default_weighted() : resources;
}

}  // namespace

Status filter_limit_aware(const Cycle& cycle, const NodeView& view) {
  if (is_daemon_set_pod(*cycle.pod)) return {};
  const bool upstream = cycle.mode == Mode::kUpstream;
  const std::optional<Ratio> ratio = node_ratio(cycle, *view.node);
  const Amounts allocatable = node_allocatable(cycle.mode, *view.node);
  if (!ratio || (upstream && has_bad_percent(*ratio, allocatable))) return {Code::kError, {}};
  if (upstream && has_no_limit(*cycle.pod)) return {};

  Status status;
  for (const std::string& name : checked_resources(cycle, *ratio)) {
    const std::int64_t need = pod_limit(cycle.mode, *cycle.pod, name, false);
    const std::int64_t allocated = allocated_limit(cycle, view, name, false);
    const std::int64_t capacity = limit_capacity(allocatable, *ratio, name);
    // "reject when need > 0 and need + allocated limit > allocatable limit"; Upstream has no guard.
    if ((upstream || need > 0) && Int128{need} + allocated > capacity) {
      status.code = Code::kUnschedulable;
      status.reasons.push_back("Insufficient " + name + " limit");
    }
  }
  return status;
}

Score score_limit_aware(const Cycle& cycle, const NodeView& view) {
  const bool upstream = cycle.mode == Mode::kUpstream;
  const std::optional<Ratio> ratio = node_ratio(cycle, *view.node);
  const Amounts allocatable = node_allocatable(cycle.mode, *view.node);
  if (!ratio || (upstream && has_bad_percent(*ratio, allocatable))) return {Code::kError, 0};

  std::vector<Share> shares;
  for (const WeightedResource& resource : score_resources(cycle)) {
    // Upstream scores only resources that have a ratio.
    if (upstream && !ratio->contains(resource.name)) continue;
    const std::int64_t need = pod_limit(cycle.mode, *cycle.pod, resource.name, true);
    // "An R other than cpu, memory, ephemeral-storage of which the pod needs 0 drops out."
    if (!upstream && !is_basic_resource(resource.name) && need == 0) continue;
    const Int128 used = Int128{need} + allocated_limit(cycle, view, resource.name, true);
    shares.push_back({limit_capacity(allocatable, *ratio, resource.name), used, resource.weight});
  }
  return {Code::kSuccess, mean_headroom(shares)};
}

}  // namespace oracle
