#include "engine/quotas/priorities.h"

#include <fmt/format.h>

#include "engine/kept/digest.h"
#include "engine/limits.h"

namespace headroom {

// --- Classes ---

Result<void> Priorities::check(const PriorityClass& priority_class) const {
  if (priority_class.name.empty()) {
    return fail(ErrorCode::kInvalid, "PriorityClass: metadata.name is empty");
  }
  if (find(priority_class.name) == nullptr && classes_.size() >= kPriorityClassesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("PriorityClass {}: kPriorityClassesMax ({}) are known",
                            priority_class.name, kPriorityClassesMax));
  }
  return {};
}

void Priorities::upsert(const PriorityClass& priority_class) {
  classes_[priority_class.name] = priority_class;
}

void Priorities::remove(std::string_view name) {
  if (const auto found = classes_.find(name); found != classes_.end()) {
    classes_.erase(found);
  }
}

const PriorityClass* Priorities::find(std::string_view name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? nullptr : &found->second;
}

// A pod that names no class has the global default, of several the one of the lowest value; an
// unknown class is none.
const PriorityClass* Priorities::class_of(std::string_view name) const {
  if (!name.empty()) {
    return find(name);
  }
  const PriorityClass* lowest = nullptr;
  for (const auto& [its_name, priority_class] : classes_) {
    if (priority_class.global_default &&
        (lowest == nullptr || priority_class.value < lowest->value)) {
      lowest = &priority_class;
    }
  }
  return lowest;
}

std::uint64_t Priorities::digest() const {
  Digest digest;
  for (const auto& [name, priority_class] : classes_) {
    digest.add("class", name, std::int64_t{priority_class.value},
               std::int64_t{priority_class.global_default}, priority_class.preemption_policy);
  }
  return digest.total();
}

// --- Pods ---

PodPriority Priorities::of(const Pod& pod) const {
  const PriorityClass* its = pod.priority ? nullptr : class_of(pod.priority_class_name);
  const std::string& policy = pod.preemption_policy.empty() && its != nullptr
                                  ? its->preemption_policy
                                  : pod.preemption_policy;
  return {pod.priority.value_or(its == nullptr ? 0 : its->value), policy == "Never"};
}

void Priorities::set(PodRank& rank, const Pod& pod) {
  const std::uint32_t before = rank.priority_class;  // let go of last: mostly it stays
  rank.priority = pod.priority.value_or(0);
  rank.priority_class = 0;
  if (!pod.priority) {
    rank.priority_class = hold(pod.priority_class_name);
    rank.priority = now(rank);
  }
  release(before);
}

void Priorities::clear(PodRank& rank) {
  release(rank.priority_class);
  rank.priority_class = 0;
}

void Priorities::retain(const PodRank& rank) {
  if (rank.priority_class != 0) {
    ++names_[rank.priority_class - 1].pods;
  }
}

// Its number for PodRank, with one pod more.
std::uint32_t Priorities::hold(const std::string& name) {
  if (const auto known = ids_.find(name); known != ids_.end()) {
    ++names_[known->second - 1].pods;
    return known->second;
  }
  const std::uint32_t number = released_.take([this] {
    names_.emplace_back();
    return name_count();
  });
  names_[number - 1] = {name, 1};
  ids_.emplace(name, number);
  return number;
}

void Priorities::release(std::uint32_t priority_class) {
  if (priority_class == 0) {
    return;
  }
  if (Name& its = names_[priority_class - 1]; --its.pods == 0) {
    ids_.erase(its.name);
    its = {};
    released_.give(priority_class);
  }
}

std::int32_t Priorities::now(const PodRank& rank) const {
  if (rank.priority_class == 0) {
    return rank.priority;
  }
  const PriorityClass* its = class_of(class_name(rank));
  return its == nullptr ? 0 : its->value;
}

}  // namespace headroom
