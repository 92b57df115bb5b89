// CapacityQuotaSpec: what a CapacityQuota limits, read from its object; or why its spec cannot be
// used.
//
// Source: the CRD of autoscaling.x-k8s.io/v1beta1 and metav1's validation of label selectors. One
// departure, by proposal-rules: limits with fractions are valid and round down.
// Thread safety: plain functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

inline constexpr std::size_t kCapacityQuotaLimitsMax = 20;         // Limits of one quota.
inline constexpr std::size_t kCapacityQuotaResourceBytesMax = 63;  // A resource's name in a limit.
// The resource that counts 1 for each node. A capacity of that name is ignored.
inline constexpr std::string_view kNodesResource = "nodes";

struct CapacityQuotaLimit {
  std::string resource;  // as the quota names it
  std::string counted;   // the resource that it counts: the same but for aliases
  Int128 amount = 0;     // counted: cpu in thousandths, all else in whole units
  friend bool operator==(const CapacityQuotaLimit&, const CapacityQuotaLimit&) = default;
};

struct CapacityQuotaSpec {
  LabelSelector selector;
  std::vector<CapacityQuotaLimit> limits;  // by resource
  friend bool operator==(const CapacityQuotaSpec&, const CapacityQuotaSpec&) = default;
};

// kInvalid or kLimitExceeded: "spec.limits.resources.cpu: "4x" is not a quantity".
// `aliases`: as CapacityQuotasOptions has them.
Result<CapacityQuotaSpec> read_capacity_quota_spec(const CapacityQuota& quota,
                                                   const StringMap& aliases = {});
// Operators, values, label keys and label values that Kubernetes takes. kInvalid naming the
// requirement.
Result<void> check_selector(const LabelSelector& selector);

}  // namespace headroom
