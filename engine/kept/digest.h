// Digest: a number for a set of facts, whatever their order: the sum of the facts' hashes.
#pragma once

#include <cstdint>
#include <string_view>

#include "objects/hash.h"

namespace headroom {

class Digest {
 public:
  // One fact; its parts in this order.
  template <typename... Parts>
  void add(const Parts&... parts) {
    std::uint64_t hash = 0;
    ((hash = mix(hash ^ number(parts))), ...);
    total_ += hash;
  }
  std::uint64_t total() const { return total_; }

 private:
  static std::uint64_t number(std::string_view text) { return hash_bytes(text); }
  static std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

  std::uint64_t total_ = 0;
};

}  // namespace headroom
