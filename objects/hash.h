// Two hashes of bytes, for two uses:
//
// * keyed_hash, of BytesHash and BytesMap: for tables of names and keys that somebody else chooses.
//   SipHash-2-4 of libsodium under a key that the process draws once, so that nobody can choose
//   names that collide. It differs from run to run, and with it the order in which a table is
//   walked: no answer, digest, file or log may depend on that order.
// * hash_bytes: the same on every machine, for digests, checksums and the seeded order of ties. It
//   can be inverted: never for a table.
//
// Cost of a name of 30 bytes: some 25 ns, and 10 ns.
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

// For tables by numbers of two halves: the tables take the low bits, of which the lower half alone
// would be looked at.
struct MixedHash {
  std::size_t operator()(std::uint64_t value) const { return mix(value); }
};

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

// From any thread.
std::uint64_t keyed_hash(std::string_view bytes);

struct BytesHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const { return keyed_hash(bytes); }
};

// Keeps the hash beside the key, so that a look-up reads no key that is not the one it looks for.
template <typename Key, typename Value>
using BytesMap = tsl::robin_map<Key, Value, BytesHash, std::equal_to<>,
                                std::allocator<std::pair<Key, Value>>, true>;

}  // namespace headroom
