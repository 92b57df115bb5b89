// RowChange: what would be on a row: pods that are gone from it, others that have come, pods that
// are gone from other rows, and what that changes in an application's counters. A preemption's dry
// run takes victims away with it.
//
// Thread safety: a plain value. Cost: O(feeds) a pod.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <vector>

#include "engine/applications/peers.h"
#include "objects/hash.h"

namespace headroom {

struct RowChange {
  std::vector<PodId> gone, come;     // gone: from other rows, too
  std::vector<std::int64_t> deltas;  // of the row, by counter
  // Of other rows, by counter and domain: see cell_key().
  tsl::robin_map<std::uint64_t, std::int64_t, MixedHash> elsewhere;

  static std::uint64_t cell_key(std::uint32_t counter, std::uint32_t domain) {
    return std::uint64_t{counter} << 32U | domain;
  }
  bool changes_counters() const { return !deltas.empty() || !elsewhere.empty(); }
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
