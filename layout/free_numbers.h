// FreeNumbers: which elements of an array nobody uses, by their numbers; what was given back last
// is taken first.
//
// Thread safety: one writer, or any number of readers. Invariant: there is room for every number,
// so that give() cannot fail. Cost: O(1), beside what makes an element.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/assert.h"

namespace headroom {

class FreeNumbers {
 public:
  // The number that take() takes; where none is free, grow() makes one more element and returns its
  // number. Between them whatever else may fail.
  template <typename Grow>
  std::uint32_t next(Grow grow) {
    if (free_.empty()) {
      if (free_.capacity() <= made_) {
        free_.reserve(2 * made_ + 1);
      }
      free_.push_back(grow());
      ++made_;
    }
    return free_.back();
  }
  void take() { free_.pop_back(); }
  // Both at once.
  template <typename Grow>
  std::uint32_t take(Grow grow) {
    const std::uint32_t number = next(grow);
    take();
    return number;
  }
  void give(std::uint32_t number) {
    HEADROOM_ASSERT(free_.size() < made_);
    free_.push_back(number);
  }

  bool empty() const { return free_.empty(); }
  std::uint32_t last() const { return free_.back(); }  // given back

 private:
  std::vector<std::uint32_t> free_;
  std::size_t made_ = 0;
};

}  // namespace headroom
