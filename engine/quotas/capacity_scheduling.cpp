#include "engine/quotas/capacity_scheduling.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kept/check_resources.h"
#include "engine/limits.h"
#include "objects/pod_resources.h"

namespace headroom {

namespace {

// Room for more of a node's pods comes in such steps: twice as many would be half empty on most,
// and to put one in its place takes as long as moving them.
constexpr std::size_t kRankedStep = 8;

// By priority and start alone.
bool ranks_below(const RankedPod& a, const RankedPod& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.start_us > b.start_us;
}

}  // namespace

CapacityScheduling::CapacityScheduling(const Profile& profile, const Facts& facts,
                                       const Priorities& priorities)
    : mode_(profile.mode),
      cross_node_(profile.capacity_scheduling_args.cross_node_preemption),
      facts_(facts),
      priorities_(priorities),
      quotas_(profile.mode),
      budgets_(profile.mode) {}

// --- What can be kept ---

Result<void> CapacityScheduling::check(const ElasticQuota& quota) const {
  const std::string object = "ElasticQuota " + pod_key(quota.namespace_name, quota.name);
  if (quota.name.empty()) {
    return fail(ErrorCode::kInvalid, "ElasticQuota: metadata.name is empty");
  }
  for (const auto& [list, field] : {std::pair(&quota.min, "spec.min"), {&quota.max, "spec.max"}}) {
    if (auto checked = check_resources(list->value_or(ResourceList()), object, field); !checked) {
      return checked;
    }
  }
  if (quotas_.find(quota.namespace_name, quota.name) == nullptr &&
      quotas_.object_count() >= kElasticQuotasMax) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("{}: kElasticQuotasMax ({}) quotas are known", object, kElasticQuotasMax));
  }
  if (!quotas_.has_room_for(quota)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: with what it names quotas would name more than kResourcesMax ({}) "
                            "resources",
                            object, kResourcesMax));
  }
  return {};
}

Result<void> CapacityScheduling::check(const PodDisruptionBudget& budget) const {
  const std::string key = pod_key(budget.namespace_name, budget.name);
  if (budget.name.empty()) {
    return fail(ErrorCode::kInvalid, "PodDisruptionBudget: metadata.name is empty");
  }
  for (const NodeSelectorRequirement& requirement : budget.selector) {
    const bool lists = requirement.op == "In" || requirement.op == "NotIn";
    const bool known = lists || requirement.op == "Exists" || requirement.op == "DoesNotExist";
    if (requirement.key.empty() || !known || lists == requirement.values.empty()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("PodDisruptionBudget {}: spec.selector: key \"{}\", operator \"{}\" "
                              "and {} values are no requirement",
                              key, requirement.key, requirement.op, requirement.values.size()));
    }
  }
  if (budget.disruptions_allowed < INT32_MIN || budget.disruptions_allowed > INT32_MAX) {
    return fail(ErrorCode::kInvalid,
                fmt::format("PodDisruptionBudget {}: status.disruptionsAllowed: {} is beyond int32",
                            key, budget.disruptions_allowed));
  }
  if (budgets_.find(key) == nullptr && budgets_.count() >= kPodDisruptionBudgetsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("PodDisruptionBudget {}: kPodDisruptionBudgetsMax ({}) are known", key,
                            kPodDisruptionBudgetsMax));
  }
  return {};
}

// --- Budgets ---

void CapacityScheduling::upsert(const PodDisruptionBudget& budget) {
  const bool known = budgets_.find(pod_key(budget.namespace_name, budget.name)) != nullptr;
  const NamespaceId id =
      known ? quotas_.find(budget.namespace_name) : quotas_.hold_namespace(budget.namespace_name);
  budgets_.upsert(budget, id);
}

void CapacityScheduling::remove_budget(std::string_view key) {
  if (const PodDisruptionBudget* budget = budgets_.find(key); budget != nullptr) {
    const NamespaceId id = quotas_.find(budget->namespace_name);
    budgets_.remove(key);
    quotas_.release_namespace(id);
  }
}

// --- Pods ---

// Proposal: what the pod asks of its node. Upstream: scheduler-plugins' own sum, less the names
// that framework.Resource drops.
Amounts CapacityScheduling::elastic_quota_request(const Pod& pod) {
  return quotas_.request_of(mode_ == Mode::kUpstream ? elastic_quota_requests(pod)
                                                     : pod_requests(pod));
}

void CapacityScheduling::set_rank(PodFacts& facts, const Pod& pod) {
  PodRank& rank = facts.rank;
  const PodRank before = rank;  // let go of last: most of it stays
  rank.namespace_id = quotas_.hold_namespace(pod.namespace_name);
  rank.group = budgets_.acquire(rank.namespace_id, pod.labels);
  rank.start_us = pod.start_us.value_or(INT64_MAX);
  rank.deleting = pod.deleting;
  release(before);
}

void CapacityScheduling::clear_rank(PodFacts& facts) {
  release(facts.rank);
  facts.rank.group = kNoGroup;
  facts.rank.namespace_id = kNoNamespace;
}

void CapacityScheduling::retain_rank(const PodRank& rank) {
  if (rank.group != kNoGroup) {
    budgets_.retain(rank.group);
    quotas_.retain_namespace(rank.namespace_id);
  }
}

void CapacityScheduling::release(const PodRank& rank) {
  if (rank.group != kNoGroup) {
    budgets_.release(rank.group);
    quotas_.release_namespace(rank.namespace_id);
  }
}

bool CapacityScheduling::less_important(const RankedPod& a, const RankedPod& b) const {
  return ranks_below(a, b) ||
         (!ranks_below(b, a) && facts_.pods[a.pod].key > facts_.pods[b.pod].key);
}

bool CapacityScheduling::is_in_order(std::uint32_t row) const {
  const std::span<const RankedPod> pods = listed(row);
  return std::is_sorted(pods.begin(), pods.end(), ranks_below) &&
         (pods.empty() || ranked_[row].tied ||
          std::is_sorted(pods.begin(), pods.end(), [this](const RankedPod& a, const RankedPod& b) {
            return less_important(a, b);
          }));
}

void CapacityScheduling::order_ties(RankedRow& row) const {
  std::sort(row.pods.begin(), row.pods.end(),
            [this](const RankedPod& a, const RankedPod& b) { return less_important(a, b); });
  row.tied = false;
}

void CapacityScheduling::count(std::uint32_t row, PodId id) {
  if (row >= ranked_.size()) {
    ranked_.resize(row + 1);
  }
  const PodRank& rank = facts_.pods[id].rank;
  const PodShape& shape = facts_.shape_of(id);
  const RankedPod pod{rank.priority, rank.namespace_id, rank.start_us, id, shape.id, rank.group};
  std::vector<RankedPod>& pods = ranked_[row].pods;
  if (pods.size() == pods.capacity()) {
    pods.reserve(pods.size() + kRankedStep);
  }
  const auto at = std::upper_bound(pods.begin(), pods.end(), pod, ranks_below);
  ranked_[row].tied |= at != pods.begin() && !ranks_below(*(at - 1), pod);
  pods.insert(at, pod);
  quotas_.add_used(rank.namespace_id, shape.elastic_quota_request, 1);
}

// The memory stays: a pod that a supposition brings back must find it.
void CapacityScheduling::uncount(std::uint32_t row, PodId id) {
  std::vector<RankedPod>& pods = ranked_[row].pods;
  pods.erase(
      std::find_if(pods.begin(), pods.end(), [id](const RankedPod& pod) { return pod.pod == id; }));
  quotas_.add_used(facts_.pods[id].rank.namespace_id, facts_.shape_of(id).elastic_quota_request,
                   -1);
}

void CapacityScheduling::count_nominated(PodId id, int sign) {
  const PodRank& rank = facts_.pods[id].rank;
  quotas_.add_nominated(rank.namespace_id, rank.priority, facts_.shape_of(id).elastic_quota_request,
                        sign);
}

PodClaim CapacityScheduling::claim(const Pod& pod) const {
  const PodPriority priority = priorities_.of(pod);
  return {quotas_.find(pod.namespace_name), priority.value, priority.never_preempts};
}

std::uint64_t CapacityScheduling::digest() const { return quotas_.digest() + budgets_.digest(); }

}  // namespace headroom
