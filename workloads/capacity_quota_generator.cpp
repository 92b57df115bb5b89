#include "workloads/capacity_quota_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "objects/labels.h"
#include "workloads/openb.h"
#include "workloads/random.h"

namespace headroom {
namespace {

// The first keys of every draw: what it is for.
enum CapacityQuotaPurpose : std::uint64_t { kForSelector = 301, kForLimits };

constexpr const char* kPoolLabel = "pool";
constexpr const char* kTypeLabel = "node.kubernetes.io/instance-type";

constexpr std::int64_t kMibPerGib = 1024;

NodeSelectorRequirement in(const char* key, std::vector<std::string> values) {
  return {.key = key, .op = "In", .values = std::move(values)};
}

// The first whole number of `unit` that is at least `percent` of the amount.
std::int64_t raised(std::int64_t amount, std::int64_t percent, std::int64_t unit) {
  return (amount * percent + 100 * unit - 1) / (100 * unit);
}

}  // namespace

void CapacityQuotaGenerator::add(const Kind& kind, const Amounts& capacity) {
  Amounts& sums = kinds_[kind];
  sums.nodes += capacity.nodes;
  sums.cpu_milli += capacity.cpu_milli;
  sums.memory_mib += capacity.memory_mib;
  sums.gpu += capacity.gpu;
}

CapacityQuota CapacityQuotaGenerator::capacity_quota(std::uint32_t index) const {
  std::set<std::string> zones, pools;
  for (const auto& [kind, sums] : kinds_) {
    zones.insert(kind.zone);
    pools.insert(kind.pool);
  }
  const auto at = [](const std::set<std::string>& values, std::size_t position) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(position % values.size()));
  };
  Random random{seed_, kForSelector, index};
  const Kind& drawn =
      std::next(kinds_.begin(), random.below(static_cast<std::uint32_t>(kinds_.size())))->first;
  CapacityQuota quota;
  quota.generation = 1;
  const char* what = "all";
  if (index == 0) {
    // No requirement: all nodes.
  } else if (index <= zones.size()) {
    what = "zone";
    quota.selector = {in(kZoneLabel, {at(zones, index - 1)})};
  } else if (index <= zones.size() + pools.size()) {
    what = "pool";
    quota.selector = {in(kPoolLabel, {at(pools, index - 1 - zones.size())})};
  } else {
    switch (random.below(4)) {
      case 0:
        what = "zone-pool";
        quota.selector = {in(kPoolLabel, {drawn.pool}), in(kZoneLabel, {drawn.zone})};
        break;
      case 1:
        what = "type";
        quota.selector = {in(kTypeLabel, {drawn.instance_type})};
        break;
      case 2: {
        what = "type-zones";
        std::vector<std::string> two = {drawn.zone};
        if (const std::string other = at(zones, random.below(16)); other != drawn.zone) {
          two.push_back(other);
          std::sort(two.begin(), two.end());
        }
        quota.selector = {in(kTypeLabel, {drawn.instance_type}), in(kZoneLabel, std::move(two))};
        break;
      }
      default:
        what = "not-pool";
        // Where all nodes are of one pool: none of another.
        quota.selector = {{.key = kPoolLabel,
                           .op = "NotIn",
                           .values = {pools.size() == 1              ? "other"
                                      : drawn.pool == *pools.begin() ? *pools.rbegin()
                                                                     : *pools.begin()}}};
        break;
    }
  }
  quota.name = fmt::format("{}-{:03}", what, index);

  Amounts sums;
  for (const auto& [kind, amounts] : kinds_) {
    const StringMap labels = {
        {kTypeLabel, kind.instance_type}, {kPoolLabel, kind.pool}, {kZoneLabel, kind.zone}};
    if (!matches(quota.selector, labels)) continue;
    sums.nodes += amounts.nodes;
    sums.cpu_milli += amounts.cpu_milli;
    sums.memory_mib += amounts.memory_mib;
    sums.gpu += amounts.gpu;
  }
  Random limits{seed_, kForLimits, index};
  const std::int64_t percent = limits.between(102, 125);
  const std::uint32_t names = limits.below(4);
  // At least two of the four, in the order of their names.
  if (names != 1)
    quota.limits.emplace_back("cpu", std::to_string(raised(sums.cpu_milli, percent, 1000)));
  if (names != 2) {
    quota.limits.emplace_back("memory",
                              fmt::format("{}Gi", raised(sums.memory_mib, percent, kMibPerGib)));
  }
  if (names != 3)
    quota.limits.emplace_back("nodes", std::to_string(raised(sums.nodes, percent, 1)));
  if (sums.gpu > 0) {
    quota.limits.emplace_back(kGpuResource, std::to_string(raised(sums.gpu, percent, 1)));
  }
  return quota;
}

}  // namespace headroom
