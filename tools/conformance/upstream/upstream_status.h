// The status that cluster-autoscaler's controller writes for a CapacityQuota.
//
// Source: cluster-autoscaler 33c3f97b, Reconcile of pkg/resourcequotas/capacityquota. `used` adds
// up status.capacity of the registered nodes that the selector matches, virtual-kubelet nodes left
// out, by the limits' names: exactly, beyond int64 too. That is not what the tracker enforces
// (tools/conformance/upstream/upstream_tracker.h). A selector that Kubernetes refuses leaves `used`
// as it was. Messages name the cause in our words, not in those of Kubernetes. Thread safety: plain
// functions. Cost of a reconcile: O(nodes * limits).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"
#include "tools/conformance/upstream/upstream_node.h"

namespace headroom {

// A node or template labelled type=virtual-kubelet.
bool is_virtual_node(const UpstreamNode& node);

struct UpstreamCapacityQuotaCondition {
  std::string type, status, reason, message;
  std::int64_t observed_generation = 0;
  friend bool operator==(const UpstreamCapacityQuotaCondition&,
                         const UpstreamCapacityQuotaCondition&) = default;
};

struct UpstreamCapacityQuotaStatus {
  std::optional<StringMap> used;  // resource to quantity; nullopt: never reported
  std::vector<UpstreamCapacityQuotaCondition> conditions;  // each type once
  std::int64_t observed_generation = 0;
  friend bool operator==(const UpstreamCapacityQuotaStatus&,
                         const UpstreamCapacityQuotaStatus&) = default;
};

struct UpstreamCapacityQuota {
  CapacityQuota spec;
  UpstreamCapacityQuotaStatus status;
  friend bool operator==(const UpstreamCapacityQuota&, const UpstreamCapacityQuota&) = default;
};

// What the tracker asks: condition cluster-autoscaler.kubernetes.io/valid is True, whatever
// generation it was observed at.
bool is_marked_valid(const UpstreamCapacityQuotaStatus& status);

// The status that follows `quota.status`. Of quantities only the printed form depends on the order
// of nodes. kInvalid naming the node and the field: a capacity that is no quantity; kLimitExceeded:
// one too large (kUpstreamDigitsMax).
Result<UpstreamCapacityQuotaStatus> reconciled(const UpstreamCapacityQuota& quota,
                                               std::span<const UpstreamNode> nodes);

}  // namespace headroom
