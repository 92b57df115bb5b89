// NameIndex: from names to numbers. The names lie with what the numbers are of: the index keeps a
// number and 32 bits of its name's hash, so that a slot is 8 bytes, a look-up mostly one cache
// line, and growing reads no name.
//
// The hash is passed along: who has several names to find hashes and prefetches them all first.
// Open addressing, linear probing; what is erased moves its followers back. Thread safety: one
// writer, or any number of readers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "layout/huge_pages.h"
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
    for (std::size_t at = home(hash); slots_[at].number != kNone; at = after(at)) {
      if (slots_[at].hash == hash && is_name(slots_[at].number)) {
        return slots_[at].number;
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
  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr std::size_t kFirstSlots = 64;  // a power of two, as any number of them

  struct Slot {
    Hash hash = 0;
    std::uint32_t number = kNone;
  };

  std::size_t home(Hash hash) const { return hash & (slots_.size() - 1); }
  std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(Slot slot);
  void grow();

  std::vector<Slot, HugePages<Slot>> slots_;
  std::uint32_t size_ = 0;
};

}  // namespace headroom
