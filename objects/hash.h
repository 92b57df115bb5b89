// Hashes that are the same on every machine: for digests, tables and the seeded order of ties.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

namespace headroom {

// A bijection of 64-bit numbers in which every bit of the result depends on every bit of the input
// (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// Not for hostile input: collisions can be made, and only cost time where keys are compared.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCD;
    hash ^= hash >> 32;
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash ^ rest);
}

struct BytesHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const { return hash_bytes(bytes); }
};

// Keeps the hash beside the key, so that a look-up reads no key that is not the one it looks for.
template <typename Key, typename Value>
using BytesMap = tsl::robin_map<Key, Value, BytesHash, std::equal_to<>,
                                std::allocator<std::pair<Key, Value>>, true>;

}  // namespace headroom
