#include "engine/capacity_scheduling.h"

#include <algorithm>
#include <tuple>

#include "engine/digest.h"
#include "objects/pod_resources.h"

namespace headroom {

CapacityScheduling::CapacityScheduling(const Profile& profile, const Chunked<PodFacts>& pods)
    : mode_(profile.mode),
      cross_node_(profile.capacity.cross_node_preemption),
      pods_(pods),
      quotas_(profile.mode),
      budgets_(profile.mode) {}

// --- Priority classes ---

void CapacityScheduling::upsert(const PriorityClass& priority_class) {
  priority_classes_[priority_class.name] = priority_class;
}

void CapacityScheduling::remove_priority_class(std::string_view name) {
  if (const auto found = priority_classes_.find(name); found != priority_classes_.end()) {
    priority_classes_.erase(found);
  }
}

const PriorityClass* CapacityScheduling::find_priority_class(std::string_view name) const {
  const auto found = priority_classes_.find(name);
  return found == priority_classes_.end() ? nullptr : &found->second;
}

// Kubernetes' priority admission: a pod that names no class has the global default, of several the
// one of the lowest value; an unknown class is none.
const PriorityClass* CapacityScheduling::class_of(std::string_view name) const {
  if (!name.empty()) {
    return find_priority_class(name);
  }
  const PriorityClass* lowest = nullptr;
  for (const auto& [its_name, priority_class] : priority_classes_) {
    if (priority_class.global_default &&
        (lowest == nullptr || priority_class.value < lowest->value)) {
      lowest = &priority_class;
    }
  }
  return lowest;
}

// --- Pods ---

// Proposal: what the pod asks of its node. Upstream: scheduler-plugins' own sum, less the names
// that framework.Resource drops.
Amounts CapacityScheduling::quota_request(const Pod& pod) {
  return quotas_.request_of(mode_ == Mode::kUpstream ? elastic_quota_requests(pod)
                                                     : pod_requests(pod));
}

void CapacityScheduling::set_rank(PodFacts& facts, const Pod& pod) {
  PodRank& rank = facts.rank;
  clear_rank(facts);
  rank.namespace_id = quotas_.namespace_of(pod.namespace_name);
  rank.group = budgets_.acquire(rank.namespace_id, pod.labels);
  rank.start_us = pod.start_us.value_or(INT64_MAX);
  rank.deleting = pod.deleting;
  rank.priority = pod.priority.value_or(0);
  rank.priority_class = 0;
  if (!pod.priority) {
    const auto [found, is_new] = class_ids_.emplace(
        pod.priority_class_name, static_cast<std::uint32_t>(class_names_.size() + 1));
    if (is_new) {
      class_names_.push_back(pod.priority_class_name);
    }
    rank.priority_class = found->second;
    rank.priority = priority_now(rank);
  }
}

void CapacityScheduling::clear_rank(PodFacts& facts) {
  if (facts.rank.group != kNoGroup) {
    budgets_.release(facts.rank.group);
    facts.rank.group = kNoGroup;
  }
}

std::int32_t CapacityScheduling::priority_now(const PodRank& rank) const {
  if (rank.priority_class == 0) {
    return rank.priority;
  }
  const PriorityClass* its = class_of(class_names_[rank.priority_class - 1]);
  return its == nullptr ? 0 : its->value;
}

bool CapacityScheduling::less_important(const RankedPod& a, const RankedPod& b) const {
  if (a.priority != b.priority) {
    return a.priority < b.priority;
  }
  if (a.start_us != b.start_us) {
    return a.start_us > b.start_us;
  }
  return pods_[a.pod].key > pods_[b.pod].key;
}

void CapacityScheduling::add(std::uint32_t row, PodId id, const PodFacts& facts,
                             const PodShape& shape) {
  if (row >= ranked_.size()) {
    ranked_.resize(row + 1);
  }
  const PodRank& rank = facts.rank;
  const RankedPod pod{rank.priority, rank.namespace_id, rank.start_us, id, shape.id, rank.group};
  std::vector<RankedPod>& pods = ranked_[row];
  const auto at = std::lower_bound(
      pods.begin(), pods.end(), pod,
      [this](const RankedPod& a, const RankedPod& b) { return less_important(a, b); });
  pods.insert(at, pod);
  quotas_.add_used(rank.namespace_id, shape.quota_request, 1);
}

void CapacityScheduling::remove(std::uint32_t row, PodId id, const PodFacts& facts,
                                const PodShape& shape) {
  std::vector<RankedPod>& pods = ranked_[row];
  pods.erase(
      std::find_if(pods.begin(), pods.end(), [id](const RankedPod& pod) { return pod.pod == id; }));
  if (pods.empty()) {
    pods.shrink_to_fit();
  }
  quotas_.add_used(facts.rank.namespace_id, shape.quota_request, -1);
}

PodClaim CapacityScheduling::claim(const Pod& pod) const {
  const PriorityClass* its = pod.priority ? nullptr : class_of(pod.priority_class_name);
  const std::string& policy = pod.preemption_policy.empty() && its != nullptr
                                  ? its->preemption_policy
                                  : pod.preemption_policy;
  return {quotas_.find(pod.namespace_name), pod.priority.value_or(its == nullptr ? 0 : its->value),
          policy == "Never"};
}

std::uint64_t CapacityScheduling::digest() const {
  Digest digest;
  for (const auto& [name, priority_class] : priority_classes_) {
    digest.add("class", name, std::int64_t{priority_class.value},
               std::int64_t{priority_class.global_default}, priority_class.preemption_policy);
  }
  return digest.total() + quotas_.digest() + budgets_.digest();
}

}  // namespace headroom
