// Any sequence of events on an engine, forks among them; see
// tests/engine/random/cached_and_plain.h. Bytes are the draws of what happens.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include "tests/engine/random/cached_and_plain.h"
#include "tests/fuzz/check.h"

namespace {

constexpr int kEventsMax = 100;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::Draws draws(std::span<const std::uint8_t>(data, size));
  const auto wrong = headroom::disagreement(draws, kEventsMax);
  if (wrong) std::fprintf(stderr, "%s\n", wrong->c_str());
  HEADROOM_FUZZ_CHECK(!wrong);
  return 0;
}
