#include "objects/hash.h"

#include <sodium.h>

#include <array>
#include <cstdlib>

namespace headroom {

namespace {

using Key = std::array<unsigned char, crypto_shorthash_KEYBYTES>;

Key draw_key() {
  // It fails only where the system has no randomness, and then nothing is safe.
  if (sodium_init() < 0) std::abort();
  Key key;
  randombytes_buf(key.data(), key.size());
  return key;
}

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
  static const Key key = draw_key();
  std::uint64_t hash = 0;
  static_assert(crypto_shorthash_BYTES == sizeof hash);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), key.data());
  return hash;
}

}  // namespace headroom
