// WaitingPods: with an autoscaler, the pods of a simulation that found no place, in the order of
// their last tries, and the last decision about each.
//
// Of those that are tried again and that no decision can tell apart one is asked about: the others
// wait on with its answer, until room may have come. Thread safety: one thread at a time. Cost: a
// pod is a look-up of a key, and once of its shape.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "objects/hash.h"
#include "simulation/pod_queue.h"

namespace headroom {

class WaitingPods {
 public:
  struct Waiting {
    PendingPod pending;
    std::shared_ptr<const Decision> decision;  // the last one
  };

  // Not nullptr: one like it has failed since forget_failures(), as this says. So would this one:
  // it waits on, and `pending` is moved from. Errors: what Engine::shape_of() refuses.
  Result<const Decision*> keep(Engine& engine, PendingPod& pending);
  // It waits, as this was decided. Errors: the same, and both are what they were.
  Result<void> add(Engine& engine, PendingPod&& pending, Decision&& decision);
  // Room may have come.
  void forget_failures() { failed_.clear(); }
  // All of them go back to the queue, in their order.
  void try_again(PodQueue& queue);

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  const std::vector<Waiting>& all() const { return waiting_; }

 private:
  std::vector<Waiting> waiting_;
  // By what no decision can tell apart.
  std::unordered_map<std::string, std::shared_ptr<const Decision>, BytesHash, std::equal_to<>>
      failed_;
};

}  // namespace headroom
