// RawHistogram: how many feasible rows have each raw score of a normalised plugin, so that the
// lowest and the highest are known exactly after every change.
//
// Scores of [kLeastBin, kGreatestBin] have a bin each, found by two cursors; the rare ones below
// (limits of more than ten times the capacity) lie in an ordered map.
// Cost: add() and remove() are O(1) for binned scores; lo() and hi() move their cursor over the
// bins that emptied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/table/heap_bytes.h"

namespace headroom {

class RawHistogram {
 public:
  static constexpr std::int32_t kLeastBin = -1024, kGreatestBin = 100;

  void clear() {
    bins_.assign(kGreatestBin - kLeastBin + 1, 0);
    below_.clear();
    binned_ = 0;
    lo_ = kGreatestBin;
    hi_ = kLeastBin;
  }
  // raw <= kGreatestBin.
  void add(std::int32_t raw) {
    if (raw < kLeastBin) {
      ++below_[raw];
      return;
    }
    ++bins_[index(raw)];
    ++binned_;
    lo_ = std::min(lo_, raw);
    hi_ = std::max(hi_, raw);
  }
  // `raw` was added.
  void remove(std::int32_t raw) {
    if (raw >= kLeastBin) {
      --bins_[index(raw)];
      --binned_;
    } else if (const auto found = below_.find(raw); --found->second == 0) {
      below_.erase(found);
    }
  }
  // Of at least one score.
  std::int32_t lo() {
    if (!below_.empty()) {
      return below_.begin()->first;
    }
    while (bins_[index(lo_)] == 0) {
      ++lo_;
    }
    return lo_;
  }
  std::int32_t hi() {
    if (binned_ == 0) {
      return below_.rbegin()->first;
    }
    while (bins_[index(hi_)] == 0) {
      --hi_;
    }
    return hi_;
  }
  // What it takes of the heap.
  std::size_t bytes() const {
    // A node of the map: its head, and what it holds.
    return heap_bytes(bins_) +
           below_.size() * allocated_bytes(4 * sizeof(void*) + sizeof(*below_.begin()));
  }

 private:
  static std::size_t index(std::int32_t raw) { return static_cast<std::size_t>(raw - kLeastBin); }

  std::vector<std::uint32_t> bins_;
  std::map<std::int32_t, std::uint32_t> below_;
  std::uint32_t binned_ = 0;
  // No binned score is below lo_ or above hi_.
  std::int32_t lo_ = kGreatestBin, hi_ = kLeastBin;
};

}  // namespace headroom
