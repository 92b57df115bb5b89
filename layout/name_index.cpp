#include "layout/name_index.h"

#include <utility>

#include "objects/assert.h"

namespace headroom {

void NameIndex::put(Slot slot) {
  std::size_t at = home(slot.hash);
  while (slots_[at].number != kNone) {
    at = after(at);
  }
  slots_[at] = slot;
}

void NameIndex::insert(Hash hash, std::uint32_t number) {
  if (4 * (std::size_t{size_} + 1) > 3 * slots_.size()) {
    grow();
  }
  put({hash, number});
  ++size_;
}

void NameIndex::grow() {
  const auto old = std::exchange(slots_, decltype(slots_)(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.number != kNone) {
      put(slot);
    }
  }
}

void NameIndex::erase(Hash hash, std::uint32_t number) {
  std::size_t hole = home(hash);
  while (slots_[hole].number != number) {
    HEADROOM_ASSERT(slots_[hole].number != kNone);
    hole = after(hole);
  }
  // What lies behind it, and began no later than it, moves there.
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = after(hole); slots_[at].number != kNone; at = after(at)) {
    if (((at - home(slots_[at].hash)) & mask) >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole] = Slot();
  --size_;
}

}  // namespace headroom
