// RowChange: what would be on a row: pods that are gone from it, others that have come, and what
// that changes in an application's counters. A preemption's dry run takes victims away with it.
// Thread safety: a plain value. Cost: O(feeds) a pod.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/applications/peers.h"

namespace headroom {

struct RowChange {
  std::vector<PodId> gone, come;
  std::vector<std::int64_t> deltas;  // by counter

  bool is_gone(PodId id) const;
  // The pod's peers' feeds of the application, or nullptr.
  void take(PodId id, const std::vector<Feed>* feeds);
  void put_back(PodId id, const std::vector<Feed>* feeds);
  void add(PodId id, const std::vector<Feed>* feeds);
  void clear();

 private:
  void shift(const std::vector<Feed>* feeds, int sign);
};

}  // namespace headroom
