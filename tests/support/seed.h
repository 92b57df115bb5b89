// The seed of a property test: HEADROOM_SEED where it is set, else the time in a long run
// (HEADROOM_LONG), so that each looks elsewhere, and a fixed one in a short one; always printed, so
// that a failure can be run again.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace headroom {

inline std::uint64_t test_seed() {
  constexpr std::uint64_t kDefaultSeed = 20260101;
  const char* const text = std::getenv("HEADROOM_SEED");
  std::uint64_t seed = kDefaultSeed;
  if (text != nullptr) {
    seed = std::strtoull(text, nullptr, 10);
  } else if (std::getenv("HEADROOM_LONG") != nullptr) {
    seed = static_cast<std::uint64_t>(std::time(nullptr));
  }
  std::printf("HEADROOM_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace headroom
