// RawHistogram: how many feasible rows have each raw score of a normalised plugin, so that the
// lowest and the highest are known exactly after every change.
//
// Scores of [kLeastBin, kGreatestBin] have a bin each, found by two cursors; the rare ones below
// (limits of more than ten times the capacity) lie in an ordered map.
// Cost: fill() is O(scores); add() and remove() are O(1) for binned ones; lo() and hi() move their
// cursor over the bins that emptied.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "layout/heap_bytes.h"

namespace headroom {

class RawHistogram {
 public:
  static constexpr std::int32_t kLeastBin = -1024, kGreatestBin = 100;
  static constexpr std::size_t kBins = kGreatestBin - kLeastBin + 1;

  // Anew, of raw(i) for each i below `count`: a score, or kNone. Before anything else.
  static constexpr std::int32_t kNone = INT32_MAX;
  template <typename Raw>
  void fill(std::uint32_t count, Raw raw) {
    below_.clear();
    // Into two by turns: an equal score would wait for the one before it. The first bin is of what
    // has none.
    std::array<std::uint32_t, kBins + 1> counts[2] = {};
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::int32_t score = raw(i);
      const bool has_bin = score >= kLeastBin && score <= kGreatestBin;
      ++counts[i % 2][has_bin ? index(score) + 1 : 0];
      if (score < kLeastBin) {
        ++below_[score];
      }
    }
    binned_ = count - counts[0][0] - counts[1][0];
    bins_.resize(kBins);
    for (std::size_t b = 0; b < kBins; ++b) {
      bins_[b] = counts[0][b + 1] + counts[1][b + 1];
    }
    lo_ = kLeastBin;
    hi_ = kGreatestBin;
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
