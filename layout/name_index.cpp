#include "layout/name_index.h"

#include <bit>
#include <utility>

#include "objects/assert.h"

namespace headroom {

void NameIndex::put(Slot slot) {
  std::size_t at = home(slot.hash);
  while (slots_[at].taken()) {
    at = after(at);
  }
  slots_[at] = slot;
}

void NameIndex::insert(Hash hash, std::uint32_t number) {
  HEADROOM_ASSERT(number != kNone);
  if (slots_for(std::size_t{size_} + 1) > slots_.size()) {
    grow(2 * slots_.size());
  }
  put({hash, number + 1});
  ++size_;
}

void NameIndex::reserve(std::uint32_t names) {
  if (const std::size_t slots = std::bit_ceil(slots_for(names)); slots > slots_.size()) {
    grow(slots);
  }
}

void NameIndex::grow(std::size_t slots) {
  Zeroed<Slot> old = std::exchange(slots_, Zeroed<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.taken()) {
      put(slot);
    }
  }
}

void NameIndex::erase(Hash hash, std::uint32_t number) {
  std::size_t hole = home(hash);
  while (!slots_[hole].taken() || slots_[hole].number() != number) {
    HEADROOM_ASSERT(slots_[hole].taken());
    hole = after(hole);
  }
  // What lies behind it, and began no later than it, moves there.
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = after(hole); slots_[at].taken(); at = after(at)) {
    if (((at - home(slots_[at].hash)) & mask) >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole] = Slot();
  --size_;
}

}  // namespace headroom
