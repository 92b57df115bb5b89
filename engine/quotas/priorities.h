// Priorities: the PriorityClasses, and how important pods are by them.
//
// A pod has its own priority (spec.priority), failing that its class's, failing that the global
// default's, failing that 0: Kubernetes' priority admission. Names of classes that pods rely on are
// kept by number while some pod, or a copy of its rank, does.
// Thread safety: one thread at a time; const members from any number. Cost: O(1) for a pod that has
// a priority of its own; of any other the class's name is looked up, or, where it names none, all
// classes are looked at.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/facts.h"
#include "layout/free_numbers.h"
#include "objects/error.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

struct PodPriority {
  std::int32_t value;
  bool never_preempts;
};

class Priorities {
 public:
  // --- Classes ---
  // kInvalid or kLimitExceeded if the object cannot be kept; it says which field, and why.
  Result<void> check(const PriorityClass& priority_class) const;
  void upsert(const PriorityClass& priority_class);
  void remove(std::string_view name);
  const PriorityClass* find(std::string_view name) const;  // nullptr: not known
  const std::map<std::string, PriorityClass, std::less<>>& classes() const { return classes_; }
  std::uint64_t digest() const;  // of the classes; the same for the same facts

  // --- Pods ---
  PodPriority of(const Pod& pod) const;
  // The rank's priority and class, and nothing else of it.
  void set(PodRank& rank, const Pod& pod);
  void clear(PodRank& rank);
  // For a copy of the rank, which is cleared like any.
  void retain(const PodRank& rank);
  // As its class says now, where it has none of its own.
  std::int32_t now(const PodRank& rank) const;
  // What the pod names; it has no priority of its own.
  const std::string& class_name(const PodRank& rank) const {
    return names_[rank.priority_class - 1].name;
  }
  // Names of classes that pods state, and how many state this one.
  std::uint32_t name_count() const { return static_cast<std::uint32_t>(names_.size()); }
  std::uint32_t pods_of_name(std::uint32_t id) const { return names_[id].pods; }

 private:
  // The class that a pod which names this one has; "" is a name that no pod states.
  const PriorityClass* class_of(std::string_view name) const;
  std::uint32_t hold(const std::string& name);
  void release(std::uint32_t priority_class);

  std::map<std::string, PriorityClass, std::less<>> classes_;
  // A class that pods name, whether or not it exists; free where no pod does.
  struct Name {
    std::string name;
    std::uint32_t pods = 0;
  };
  std::vector<Name> names_;  // by PodRank::priority_class - 1
  FreeNumbers released_;
  BytesMap<std::string, std::uint32_t> ids_;
};

}  // namespace headroom
