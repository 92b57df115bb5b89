// make_room_for_one(): the next push_back() cannot fail. What may fail for want of memory comes
// before anything changes, where others look at what a failure leaves.
//
// Cost: as push_back().
#pragma once

#include <vector>

namespace headroom {

template <typename T>
void make_room_for_one(std::vector<T>& values) {
  if (values.size() == values.capacity()) {
    values.reserve(2 * values.size() + 1);
  }
}

}  // namespace headroom
