// The seed of a property test: HEADROOM_SEED where it is set, else a fixed one; always printed, so
// that a failure can be run again.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace headroom {

inline std::uint64_t test_seed() {
  constexpr std::uint64_t kDefaultSeed = 20260101;
  const char* const text = std::getenv("HEADROOM_SEED");
  const std::uint64_t seed = text == nullptr ? kDefaultSeed : std::strtoull(text, nullptr, 10);
  std::printf("HEADROOM_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace headroom
