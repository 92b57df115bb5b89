// Reproducible draws: the same seed and the same numbers give the same draws on every machine.
//
// A draw is a function of what it is for (a seed, a purpose, an index), not of the draws before it,
// so that any object of a generated cluster can be made on its own.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace headroom {

// SplitMix64's mixing step: spreads every bit of the input over the output.
constexpr std::uint64_t mix_bits(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

class Random {
 public:
  // Independent for any two different keys.
  explicit constexpr Random(std::initializer_list<std::uint64_t> keys) {
    for (const std::uint64_t key : keys) state_ = mix_bits(state_ ^ key);
  }

  constexpr std::uint64_t next() { return state_ = mix_bits(state_); }

  // In [0, count); count > 0. The bias, below count / 2^32, is of no matter here.
  constexpr std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32) * count) >> 32);
  }
  // In [first, last].
  constexpr std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + below(static_cast<std::uint32_t>(last - first + 1));
  }
  // True for `share` draws in a thousand.
  constexpr bool permille(std::uint32_t share) { return below(1000) < share; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace headroom
