// ResourceLimitAware: proposal-rules.md, "ResourceLimitAware" (both modes: nobody implements it).
#include <stdexcept>

#include "oracle/pod_resources.h"
#include "oracle/policies/limit_score.h"

namespace oracle {
namespace {

// "`defaultLimit`: a map from R to a quantity or the word `Allocatable` (the node's); missing keys
// keep their defaults, cpu 100m, memory 200Mi, others 0."
Int128 default_limit(const Json& args, const Resources& allocatable, const std::string& resource) {
  const Json& configured = child(args, "defaultLimit", resource);
  if (configured == "Allocatable") {
    const auto found = allocatable.find(resource);
    return found == allocatable.end() ? 0 : found->second;
  }
  if (!configured.is_null()) return read_resources(Json{{resource, configured}}).at(resource);
  if (resource == "cpu") return kDefaultCpu;
  if (resource == "memory") return kDefaultMemoryNano;
  return 0;
}

// "Container limit for R: limit, else request, else `defaultLimit`".
std::int64_t pod_limit(const Json& pod, const std::string& resource, Int128 missing) {
  const ContainerLimit first_set = [&](const Resources& requests,
                                       const Resources& limits) -> std::optional<Int128> {
    if (const auto limit = limits.find(resource); limit != limits.end()) return limit->second;
    if (const auto request = requests.find(resource); request != requests.end()) {
      return request->second;
    }
    return std::nullopt;
  };
  return to_unit(resource, shaped_limit(pod, resource, first_set, missing));
}

}  // namespace

// "As LimitAware's score with capacity = allocatable"; the default applies to pods on the node too.
Score score_resource_limit_aware(const Cycle& cycle, const NodeView& view) {
  const Resources allocatable = read_resources(child(*view.node, "status", "allocatable"));
  std::vector<WeightedResource> resources = read_weighted(child(*cycle.args, "resources"));
  if (resources.empty()) resources = default_weighted();

  std::vector<Share> shares;
  for (const WeightedResource& resource : resources) {
    const Int128 missing = default_limit(*cycle.args, allocatable, resource.name);
    const std::int64_t need = pod_limit(*cycle.pod, resource.name, missing);
    if (!is_basic_resource(resource.name) && need == 0) continue;
    Int128 used = 0;
    for (const PlacedPod& placed : view.pods) {
      used += pod_limit(*placed.pod, resource.name, missing);
    }
    shares.push_back({amount(to_units(allocatable), resource.name),
                      Int128{need} + sum_in_int64(cycle.mode, used), resource.weight});
  }
  return {Code::kSuccess, mean_headroom(shares)};
}

}  // namespace oracle
