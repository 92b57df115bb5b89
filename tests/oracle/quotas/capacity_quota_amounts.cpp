// See capacity_quota_amounts.h.
#include "oracle/quotas/capacity_quota_amounts.h"

#include <algorithm>
#include <string_view>

#include "oracle/label_selector.h"

namespace oracle {
namespace {

constexpr std::size_t kLimitsMax = 20;    // CRD: MaxProperties
constexpr std::size_t kLimitKeyMax = 63;  // CRD: the whole key

// Billionths in one of the resource's units.
Int128 unit_of(std::string_view resource) { return resource == "cpu" ? 1'000'000 : 1'000'000'000; }

// Of a number that is not negative.
Int128 divided_up(Int128 number, Int128 by) { return (number + by - 1) / by; }

}  // namespace

std::optional<std::map<std::string, std::int64_t>> node_amounts(const headroom::Node& node) {
  std::map<std::string, std::int64_t> amounts;
  for (const auto& [resource, quantity] : node.capacity) {
    if (resource == kNodesResource || quantity.nanos() <= 0) continue;
    // Quantities hold at most 2^63 units, 2^93 billionths.
    const Int128 amount = divided_up(quantity.nanos(), unit_of(resource));
    if (amount > INT64_MAX) return std::nullopt;
    amounts[resource] = static_cast<std::int64_t>(amount);
  }
  amounts[std::string(kNodesResource)] = 1;
  return amounts;
}

bool is_virtual(const headroom::Node& node) {
  return std::any_of(node.labels.begin(), node.labels.end(), [](const auto& label) {
    return label.first == "type" && label.second == "virtual-kubelet";
  });
}

bool is_marked_for_deletion(const headroom::Node& node) {
  return node.deleting ||
         std::any_of(node.taints.begin(), node.taints.end(), [](const headroom::Taint& taint) {
           return taint.key == "ToBeDeletedByClusterAutoscaler" ||
                  taint.key == "karpenter.sh/disrupted";
         });
}

std::optional<std::map<std::string, SpecLimit>> spec_limits(const headroom::CapacityQuota& quota,
                                                            const headroom::StringMap& aliases) {
  if (!selector_error(quota.selector).empty()) return std::nullopt;
  if (quota.limits.size() > kLimitsMax) return std::nullopt;
  std::map<std::string, SpecLimit> limits;
  for (const auto& [resource, text] : quota.limits) {
    const std::optional<Quantity> quantity = parse_quantity(text);
    if (resource.size() > kLimitKeyMax || !quantity || quantity->nano < 0) return std::nullopt;
    SpecLimit limit{resource, resource, 0};
    for (const auto& [name, counted] : aliases) {
      if (name == resource) limit.counted = counted;
    }
    limit.limit = quantity->nano / unit_of(limit.counted);
    // "A quantity beyond int64 in its unit is refused."
    if (limit.limit > INT64_MAX) return std::nullopt;
    limits[resource] = limit;
  }
  return limits;
}

}  // namespace oracle
