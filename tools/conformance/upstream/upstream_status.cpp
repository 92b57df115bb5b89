// Validation and usage of one quota; see upstream_status.h.
#include "tools/conformance/upstream/upstream_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "autoscaling/capacity_quota_spec.h"
#include "tools/conformance/upstream/upstream_quantity.h"

namespace headroom {

namespace {

constexpr std::string_view kValidCondition = "cluster-autoscaler.kubernetes.io/valid";
constexpr std::string_view kReconciledCondition = "Reconciled";

// In place, or behind the others.
void set_condition(std::vector<UpstreamCapacityQuotaCondition>& conditions,
                   UpstreamCapacityQuotaCondition condition) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const UpstreamCapacityQuotaCondition& existing) {
                                    return existing.type == condition.type;
                                  });
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
  } else {
    *found = std::move(condition);
  }
}

Result<UpstreamQuantity> usage(std::string_view resource,
                               std::span<const UpstreamNode* const> nodes) {
  UpstreamQuantity sum;
  for (const UpstreamNode* node : nodes) {
    std::string_view text = "1";
    if (resource != kNodesResource) {
      const std::string* capacity = find(node->capacity, resource);
      if (capacity == nullptr) continue;
      text = *capacity;
    }
    Result<UpstreamQuantity> amount = UpstreamQuantity::parse(text);
    // A node comes from the API server, which keeps quantities in their canonical form.
    if (amount) amount = UpstreamQuantity::parse(amount->canonical());
    if (!amount) {
      return fail(amount.error().code, "Node " + node->name + ": status.capacity." +
                                           std::string(resource) + ": " + amount.error().message);
    }
    sum += *amount;
  }
  return sum;
}

bool same_amounts(const StringMap& a, const StringMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const Result<UpstreamQuantity> left = UpstreamQuantity::parse(x.second);
    const Result<UpstreamQuantity> right = UpstreamQuantity::parse(y.second);
    return x.first == y.first && left && right && *left == *right;
  });
}

}  // namespace

bool is_virtual_node(const UpstreamNode& node) {
  const std::string* type = find(node.labels, "type");
  return type != nullptr && *type == "virtual-kubelet";
}

bool is_marked_valid(const UpstreamCapacityQuotaStatus& status) {
  const auto found = std::find_if(status.conditions.begin(), status.conditions.end(),
                                  [](const UpstreamCapacityQuotaCondition& condition) {
                                    return condition.type == kValidCondition;
                                  });
  return found != status.conditions.end() && found->status == "True";
}

Result<UpstreamCapacityQuotaStatus> reconciled(const UpstreamCapacityQuota& quota,
                                               std::span<const UpstreamNode> nodes) {
  UpstreamCapacityQuotaStatus status = quota.status;
  status.observed_generation = quota.spec.generation;
  const auto set = [&](std::string_view type, bool holds, std::string reason, std::string message) {
    set_condition(status.conditions,
                  {std::string(type), holds ? "True" : "False", std::move(reason),
                   std::move(message), quota.spec.generation});
  };
  if (const Result<void> valid = check_selector(quota.spec.selector); !valid) {
    set(kValidCondition, false, "ValidationFailed", valid.error().message);
    set(kReconciledCondition, false, "ReconciliationFailed", "Validation failed");
    return status;
  }
  set(kValidCondition, true, "ValidationSucceeded", "CapacityQuota is valid");
  set(kReconciledCondition, true, "ReconciliationSucceeded",
      "CapacityQuota successfully reconciled");
  std::vector<const UpstreamNode*> matching;
  for (const UpstreamNode& node : nodes) {
    if (!is_virtual_node(node) && matches(quota.spec.selector, node.labels)) {
      matching.push_back(&node);
    }
  }
  StringMap used;
  for (const auto& [resource, limit] : quota.spec.limits) {
    const Result<UpstreamQuantity> sum = usage(resource, matching);
    if (!sum) return tl::unexpected<Error>(sum.error());
    used.emplace_back(resource, sum->canonical());
  }
  // Nothing is written where only the texts would change.
  const bool keeps_texts = quota.status.used && same_amounts(*quota.status.used, used) &&
                           status.conditions == quota.status.conditions &&
                           status.observed_generation == quota.status.observed_generation;
  if (!keeps_texts) status.used = std::move(used);
  return status;
}

}  // namespace headroom
