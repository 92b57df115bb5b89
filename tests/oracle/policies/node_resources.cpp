// kube-scheduler's NodeResourcesFit and NodeResourcesBalancedAllocation: reference 3.1 to 3.3.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "oracle/broken_line.h"
#include "oracle/pod_resources.h"
#include "oracle/policies/limit_score.h"

namespace oracle {
namespace {

// Upstream counts a resized pod by its status too; "From spec; status is not read" in Proposal.
std::optional<Version> resized_as_of(const Cycle& cycle) {
  return cycle.mode == Mode::kUpstream ? std::optional(cycle.version) : std::nullopt;
}

bool counts(const std::string& name) { return is_basic_resource(name) || is_scalar_resource(name); }

// framework.Resource keeps cpu, memory, ephemeral-storage and scalar resources.
Amounts only_counting(Amounts amounts) {
  std::erase_if(amounts, [](const auto& entry) { return !counts(entry.first); });
  return amounts;
}

Amounts placed_requests(const Cycle& cycle, const Json& pod) {
  RequestsOptions options;
  options.resized_as = resized_as_of(cycle);
  return only_counting(to_units(pod_requests(pod, options)));
}

// NodeInfo.Requested and, for cpu and memory, NodeInfo.NonZeroRequested.
std::int64_t requested(const Cycle& cycle, const NodeView& view, const std::string& name,
                       bool non_zero) {
  Int128 sum = 0;
  for (const PlacedPod& placed : view.pods) {
    sum += non_zero && (name == "cpu" || name == "memory")
               ? amount(to_units(non_zero_requests(*placed.pod, resized_as_of(cycle))), name)
               : amount(placed_requests(cycle, *placed.pod), name);
  }
  return sum_in_int64(cycle.mode, sum);
}

Amounts allocatable_of(const NodeView& view) {
  return to_units(read_resources(child(*view.node, "status", "allocatable")));
}

// ignoredResources and ignoredResourceGroups, for extended resources only.
bool is_ignored(const Json& args, const std::string& name) {
  if (!is_extended_resource(name)) return false;
  const std::string group = name.substr(0, name.find('/'));
  for (const Json& ignored : child(args, "ignoredResources")) {
    if (ignored == name) return true;
  }
  for (const Json& ignored : child(args, "ignoredResourceGroups")) {
    if (ignored == group) return true;
  }
  return false;
}

// calculatePodResourceRequest: what the incoming pod counts as in a score.
std::int64_t scored_request(const Cycle& cycle, const std::string& name, bool non_zero) {
  if (!non_zero) {
    RequestsOptions options;
    options.resized_as = resized_as_of(cycle);
    return amount(to_units(pod_requests(*cycle.pod, options)), name);
  }
  if (cycle.mode == Mode::kProposal) {
    // One function for the incoming pod and for pods on nodes; pod level counts.
    return name == "cpu" || name == "memory"
               ? amount(to_units(non_zero_requests(*cycle.pod, std::nullopt)), name)
               : amount(to_units(pod_requests(*cycle.pod)), name);
  }
  // Quirk of 1.35: the scorers of NodeResourcesFit do not see the pod's pod-level requests.
  RequestsOptions options;
  options.skip_pod_level = true;
  options.non_missing = {{"cpu", kDefaultCpu}, {"memory", kDefaultMemoryNano}};
  return amount(to_units(pod_requests(*cycle.pod, options)), name);
}

// One configured resource of a node; capacity 0 is skipped by every scorer.
struct Use {
  std::int64_t capacity = 0;
  Int128 before = 0;  // without the incoming pod
  Int128 after = 0;
  std::int64_t weight = 1;
};

// calculateResourceAllocatableRequest for each configured resource.
std::vector<Use> uses_of(const Cycle& cycle, const NodeView& view,
                         const std::vector<WeightedResource>& resources, bool non_zero) {
  const Amounts allocatable = allocatable_of(view);
  std::vector<Use> uses;
  for (const WeightedResource& resource : resources) {
    const std::int64_t need = scored_request(cycle, resource.name, non_zero);
    if (!counts(resource.name)) continue;
    if (need == 0 && is_scalar_resource(resource.name)) continue;
    Use use;
    use.capacity = amount(allocatable, resource.name);
    use.before = requested(cycle, view, resource.name, non_zero);
    use.after = use.before + need;
    use.weight = resource.weight;
    if (use.capacity != 0) uses.push_back(use);
  }
  return uses;
}

std::int64_t least_allocated(const Use& use) {
  if (use.after > use.capacity) return 0;
  return static_cast<std::int64_t>((use.capacity - use.after) * 100 / use.capacity);
}

std::int64_t most_allocated(const Use& use) {
  return static_cast<std::int64_t>(std::min<Int128>(use.after, use.capacity) * 100 / use.capacity);
}

std::int64_t weighted_mean(const std::vector<Use>& uses, std::int64_t (*score)(const Use&)) {
  std::int64_t sum = 0, weights = 0;
  for (const Use& use : uses) {
    sum += score(use) * use.weight;
    weights += use.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// Only scores above 0 enter the mean, which is rounded half away from zero.
std::int64_t requested_to_capacity_ratio(const std::vector<Use>& uses, const Json& shape) {
  std::int64_t sum = 0, weights = 0;
  for (const Use& use : uses) {
    const std::int64_t utilization =
        use.after > use.capacity ? 100 : static_cast<std::int64_t>(use.after * 100 / use.capacity);
    const std::int64_t score = broken_line(shape, utilization);
    if (score <= 0) continue;
    sum += score * use.weight;
    weights += use.weight;
  }
  if (weights == 0) return 0;
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

// balancedResourceScorer: 100 less the standard deviation of the fractions.
std::int64_t balance(const std::vector<Use>& uses, bool with_pod) {
  std::vector<double> fractions;
  double total = 0;
  for (const Use& use : uses) {
    const std::int64_t used = sum_in_int64(Mode::kProposal, with_pod ? use.after : use.before);
    const double fraction =
        std::min(1.0, static_cast<double>(used) / static_cast<double>(use.capacity));
    total += fraction;
    fractions.push_back(fraction);
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::fabs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    const auto count = static_cast<double>(fractions.size());
    const double mean = total / count;
    double sum = 0;
    for (const double fraction : fractions) sum = sum + (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(sum / count);
  }
  return static_cast<std::int64_t>((1 - deviation) * 100.0);
}

std::vector<WeightedResource> resources_or_default(const Json& list) {
  std::vector<WeightedResource> resources = read_weighted(list);
  return resources.empty() ? default_weighted() : resources;
}

}  // namespace

// fitsRequest: "Too many pods", the basic resources, then scalars by name.
Status filter_node_resources_fit(const Cycle& cycle, const NodeView& view) {
  const Amounts allocatable = allocatable_of(view);
  Status status;
  bool unresolvable = false;
  if (static_cast<std::int64_t>(view.pods.size()) + 1 > amount(allocatable, "pods")) {
    status.reasons.emplace_back("Too many pods");
  }
  const Amounts needs = only_counting(to_units(pod_requests(*cycle.pod)));
  std::vector<std::string> names;
  for (const auto& [name, units] : needs) names.push_back(name);
  for (const std::string& name : reason_order(names)) {
    const std::int64_t need = needs.at(name);
    if (need <= 0 || is_ignored(*cycle.args, name)) continue;
    // shouldDelegateResourceToDRA, from 1.36 on.
    if (cycle.version != Version::k135 && name.starts_with("deviceclass.resource.kubernetes.io/")) {
      continue;
    }
    const std::int64_t capacity = amount(allocatable, name);
    if (Int128{need} + requested(cycle, view, name, false) > capacity) {
      status.reasons.push_back("Insufficient " + name);
      unresolvable = unresolvable || need > capacity;
    }
  }
  if (!status.reasons.empty()) {
    status.code = unresolvable ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable;
  }
  return status;
}

Score score_node_resources_fit(const Cycle& cycle, const NodeView& view) {
  const Json& strategy = child(*cycle.args, "scoringStrategy");
  const std::vector<Use> uses =
      uses_of(cycle, view, resources_or_default(child(strategy, "resources")), true);
  const std::string type = text(strategy, "type");
  if (type.empty() || type == "LeastAllocated") {
    return {Code::kSuccess, weighted_mean(uses, least_allocated)};
  }
  if (type == "MostAllocated") return {Code::kSuccess, weighted_mean(uses, most_allocated)};
  if (type != "RequestedToCapacityRatio") throw std::invalid_argument("scoringStrategy: " + type);
  const Json& shape = child(strategy, "requestedToCapacityRatio", "shape");
  return {Code::kSuccess, requested_to_capacity_ratio(uses, shape)};
}

// PreScore skips a pod that asks for none of the configured resources.
Code pre_score_balanced_allocation(const Cycle& cycle) {
  for (const WeightedResource& resource : resources_or_default(child(*cycle.args, "resources"))) {
    if (scored_request(cycle, resource.name, false) != 0) return Code::kSuccess;
  }
  return Code::kSkip;
}

// Reference 3.2; from 1.36 on the change counts.
Score score_balanced_allocation(const Cycle& cycle, const NodeView& view) {
  const std::vector<Use> uses =
      uses_of(cycle, view, resources_or_default(child(*cycle.args, "resources")), false);
  const std::int64_t with_pod = balance(uses, true);
  if (cycle.version == Version::k135) return {Code::kSuccess, with_pod};
  return {Code::kSuccess, 50 + (50 + with_pod - balance(uses, false)) / 2};
}

}  // namespace oracle
