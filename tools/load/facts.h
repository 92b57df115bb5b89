// LoadFacts: the cluster that a load test feeds, as it changes, and an engine and quotas in process
// that are given the same facts, to hold the server's answers against.
//
// Thread safety: one thread at a time. Same options and same calls, same facts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "client/feeder.h"
#include "engine/engine.h"
#include "objects/object_lists.h"

namespace headroom {

class LoadFacts {
 public:
  // Pods that are bound count, the others are what requests ask for.
  struct Objects : ObjectLists {
    std::int64_t now_us = 0;
  };
  // Errors: what the engine or the quotas refuse, or no node, or no pod to ask for.
  static Result<std::unique_ptr<LoadFacts>> create(Objects objects, const Profile& profile,
                                                   std::uint64_t seed);

  std::uint64_t object_count() const;
  std::int64_t now_us() const { return objects_.now_us; }
  void for_each(const Feeder::Emit& emit) const;
  // One more event: a pod of a request's shape is bound, the oldest of those is deleted, or a node
  // reports usage, in turn.
  Result<void> next_event(Feeder& feeder);

  // What requests ask for; names and uids are made for each request. Of the namespace "load", which
  // has no quota; where there are quotas, of their own.
  const std::vector<Pod>& request_pods() const { return request_pods_; }
  // Has all the facts; without what was reserved on the server.
  Engine& engine() { return engine_; }
  const CapacityQuotas& capacity_quotas() const { return quotas_; }

 private:
  LoadFacts(Objects objects, Engine engine, std::uint64_t seed);
  Result<void> load();

  Objects objects_;
  std::vector<Pod> request_pods_;
  std::deque<Pod> bound_by_events_;
  std::uint64_t events_ = 0;
  const std::uint64_t seed_;
  Engine engine_;
  CapacityQuotas quotas_;
};

}  // namespace headroom
