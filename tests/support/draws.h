// Where the draws of property tests and fuzzing come from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/random.h"

namespace headroom {

// From a seed, or from bytes (and zeros when they are used up).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  explicit Draws(std::span<const std::uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

  // In [0, count); count > 0.
  std::uint64_t below(std::uint64_t count) {
    if (!from_bytes_) {
      state_ = mix_bits(state_);
      return state_ % count;
    }
    std::uint64_t value = 0;
    for (std::uint64_t reach = 1; reach < count; reach <<= 8) {
      value = value << 8 | (at_ < bytes_.size() ? bytes_[at_++] : 0);
      if (reach > UINT64_MAX >> 8) break;
    }
    return value % count;
  }
  // In [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <typename T, std::size_t N>
  const T& pick(const std::array<T, N>& items) {
    return items[below(N)];
  }
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  bool used_up() const { return from_bytes_ && at_ == bytes_.size(); }

 private:
  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool from_bytes_ = false;
};

}  // namespace headroom
