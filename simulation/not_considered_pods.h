// NotConsideredPods: how many pods ask for something that no decision looks at, by what it is.
//
// Thread safety: one thread at a time. Cost: O(what a pod asks for).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "objects/not_considered.h"

namespace headroom {

// Pods that ask for something that no decision looked at.
struct NotConsideredReport {
  NotConsidered what{};
  std::uint64_t pods = 0;  // that a place was looked for
  // That were on nodes before; only of affinity between pods, which the others would have met.
  std::uint64_t pods_there = 0;
};

class NotConsideredPods {
 public:
  // A pod that asked for a place for the first time.
  void add(NotConsideredSet set);
  // A pod that is there: other pods would meet its affinity, and they do not.
  void add_there(NotConsideredSet set);
  std::vector<NotConsideredReport> reports() const;  // in the order of the enum

 private:
  std::map<NotConsidered, NotConsideredReport> reports_;
};

}  // namespace headroom
