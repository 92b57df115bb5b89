// NameIndex: from names to numbers. The names lie with what the numbers are of: the index keeps a
// number and 32 bits of its name's hash, so that a slot is 8 bytes, a look-up mostly one cache
// line, and growing reads no name.
//
// The hash is passed along: who has several names to find hashes and prefetches them all first.
// Open addressing, linear probing; what is erased moves its followers back. Growing looks at all
// that is there, in one piece: who knows how many will come reserves room. Thread safety: one
// writer, or any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layout/zeroed.h"
#include "objects/hash.h"

namespace headroom {

class NameIndex {
 public:
  using Hash = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  NameIndex() : slots_(kFirstSlots) {}

  // Names are chosen by others: see hash.h.
  static Hash hash(std::string_view name) { return static_cast<Hash>(keyed_hash(name)); }
  void prefetch(Hash hash) const { __builtin_prefetch(&slots_[home(hash)]); }

  std::uint32_t size() const { return size_; }
  // The name's number, or kNone. `is_name(number)`: whether the name is that number's.
  template <typename IsName>
  std::uint32_t find(Hash hash, IsName is_name) const {
    for (std::size_t at = home(hash); slots_[at].taken(); at = after(at)) {
      if (slots_[at].hash == hash && is_name(slots_[at].number())) {
        return slots_[at].number();
      }
    }
    return kNone;
  }
  // What find() would ask first: seldom another name's.
  std::uint32_t guess(Hash hash) const {
    return find(hash, [](std::uint32_t) { return true; });
  }
  void insert(Hash hash, std::uint32_t number);  // of a name that is not there
  void erase(Hash hash, std::uint32_t number);   // that is there
  // Room for so many names. What is not used of it takes no memory.
  void reserve(std::uint32_t names);
  std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr std::size_t kFirstSlots = 64;  // a power of two, as any number of them

  struct Slot {
    Hash hash;
    std::uint32_t number_and_one;  // 0: it is free
    bool taken() const { return number_and_one != 0; }
    std::uint32_t number() const { return number_and_one - 1; }
  };

  std::size_t home(Hash hash) const { return hash & (slots_.size() - 1); }
  std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(Slot slot);
  static std::size_t slots_for(std::size_t names) { return (4 * names + 2) / 3; }  // at least
  void grow(std::size_t slots);

  Zeroed<Slot> slots_;
  std::uint32_t size_ = 0;
};

}  // namespace headroom
