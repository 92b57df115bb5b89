// PodQueue: pods that wait for their turn, by priority and then in the order of their arrival.
//
// A pod that states no priority has that of its class, as priority admission gives it. One that
// comes back keeps its turn. Thread safety: one thread at a time. Cost: O(log pods).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/answers.h"
#include "objects/objects.h"

namespace headroom {

struct PendingPod {
  Pod pod;
  std::int64_t departure_us = 0;
  std::uint32_t origin = 0;                         // whatever the caller knows it by
  bool again = false;                               // had a place and lost it
  std::optional<std::int64_t> waits_since_us = {};  // found no place then
  std::optional<ShapeIndex> shape = {};             // the engine's, once it found none
  std::string alike = {};                           // WaitingPods': what its line is known by
  // PodQueue's: what it is sorted by.
  std::int32_t priority = 0;
  std::uint64_t turn = 0;  // among those of equal priority; 0: it has none yet
};

// The pod waits for a node as if it had never had one; what it is nominated to stays.
void make_pending(Pod& pod);

class PodQueue {
 public:
  explicit PodQueue(std::span<const PriorityClass> classes);

  bool empty() const { return heap_.empty(); }
  void push(PendingPod&& pod);
  PendingPod pop();  // not empty

 private:
  std::int32_t priority_of(const Pod& pod) const;

  std::map<std::string, std::int32_t> classes_;
  std::int32_t default_priority_ = 0;
  std::vector<std::unique_ptr<PendingPod>> heap_;  // large, and the heap moves them about
  std::uint64_t turns_ = 0;
};

}  // namespace headroom
