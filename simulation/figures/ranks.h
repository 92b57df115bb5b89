// Ranks: what most figures do not exceed, and which of many stand highest.
//
// Thread safety: plain functions. Cost: a sort for highest().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace headroom {

// The place, from 1 on, of the one of `count` sorted figures that `permille` of them do not exceed.
constexpr std::size_t rank_of(std::size_t count, std::uint32_t permille) {
  return std::max<std::size_t>((count * permille + 999) / 1000, 1);
}

// That figure; 0 of none.
inline std::int64_t at_permille(const std::vector<std::int64_t>& sorted, std::uint32_t permille) {
  return sorted.empty() ? 0 : sorted[rank_of(sorted.size(), permille) - 1];
}

// Of `count` things the `most` for which `figure` is highest, by their places and in their order.
template <typename F>
std::vector<std::size_t> highest(std::size_t count, std::size_t most, F figure) {
  std::vector<std::size_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::size_t a, std::size_t b) { return figure(a) > figure(b); });
  chosen.resize(std::min(count, most));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace headroom
