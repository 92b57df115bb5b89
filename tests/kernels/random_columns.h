// Columns of random amounts, from tame ones to nothing but hard values, and scores that read them.
//
// Thread safety: one thread at a time for each Random. Cost: that of the rows they fill.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/kernels/kernels_rig.h"

namespace headroom::kernels_test {

// Around every power of two where float32 or double stop holding whole numbers.
inline constexpr std::array<std::int64_t, 36> kCapacities = {0,
                                                             1,
                                                             2,
                                                             3,
                                                             7,
                                                             64,
                                                             99,
                                                             100,
                                                             101,
                                                             1000,
                                                             4000,
                                                             96'000,
                                                             (1 << 21) - 1,
                                                             1 << 21,
                                                             (1 << 21) + 1,
                                                             (1 << 24) - 1,
                                                             1 << 24,
                                                             (1 << 24) + 1,
                                                             std::int64_t{1} << 31,
                                                             (std::int64_t{1} << 31) - 1,
                                                             std::int64_t{256} << 30,
                                                             (std::int64_t{1} << 44) + 1,
                                                             (std::int64_t{1} << 46) - 1,
                                                             std::int64_t{1} << 46,
                                                             (std::int64_t{1} << 46) + 1,
                                                             (std::int64_t{1} << 51) - 1,
                                                             std::int64_t{1} << 51,
                                                             (std::int64_t{1} << 53) - 1,
                                                             std::int64_t{1} << 53,
                                                             (std::int64_t{1} << 53) + 1,
                                                             92'233'720'368'547'758,
                                                             92'233'720'368'547'759,
                                                             (std::int64_t{1} << 60) + 7,
                                                             (std::int64_t{1} << 62) - 1,
                                                             std::int64_t{1} << 62,
                                                             0};

struct Style {
  int hard_percent;      // of rows that are made to be hard
  int zero_percent;      // of capacities that are 0
  bool beyond_capacity;  // headroom may exceed the capacity (usage below zero)
};

inline std::int64_t some_capacity(Random& random, const Style& style) {
  if (random.percent(style.zero_percent)) {
    return 0;
  }
  return random.percent(style.hard_percent) ? random.one_of(kCapacities)
                                            : 1 + random.of_any_length(45);
}

inline std::int64_t some_need(Random& random, const Style& style) {
  if (random.percent(style.hard_percent)) {
    constexpr std::array<std::int64_t, 10> kNeeds = {0,
                                                     1,
                                                     2,
                                                     1000,
                                                     (1 << 24) + 1,
                                                     (std::int64_t{1} << 31) + 1,
                                                     (std::int64_t{1} << 46) + 1,
                                                     (std::int64_t{1} << 53) + 1,
                                                     (std::int64_t{1} << 61) + 3,
                                                     std::int64_t{1} << 62};
    return random.one_of(kNeeds);
  }
  return random.of_any_length(40);
}

// Hard: quotients that are whole or one unit off, nothing left, over-committed a thousand times.
inline std::int64_t some_headroom(Random& random, const Style& style, std::int64_t capacity,
                                  std::int64_t need) {
  constexpr __int128 kMost = std::int64_t{1} << 62;
  __int128 value = random.between(0, capacity);
  if (random.percent(style.hard_percent)) {
    const std::int64_t off = random.between(-1, 1);
    switch (random.between(0, 7)) {
      case 0:
      case 1:
        value = static_cast<__int128>(capacity) * random.between(0, 100) / 100 + need + off;
        break;
      case 2:
        value = static_cast<__int128>(need) + off;
        break;
      case 3:
        value = -static_cast<__int128>(capacity) * random.between(0, 1'000'000) / 1000 + off;
        break;
      case 4:
        value = -static_cast<__int128>(capacity) * random.between(0, 100'000) / 100 + need + off;
        break;
      case 5:
        value = off;
        break;
      case 6:
        value = static_cast<__int128>(capacity) + off;
        break;
      default:
        value = static_cast<__int128>(capacity) + random.between(0, capacity);
    }
  }
  value = std::clamp<__int128>(value, -kMost, kMost);
  return style.beyond_capacity ? static_cast<std::int64_t>(value)
                               : std::min(static_cast<std::int64_t>(value), capacity);
}

inline constexpr std::uint32_t kRows = 600;

// Column t: headroom of term t; column `terms` + t: its capacity.
inline void fill(Table& table, const Scorer& scorer, Random& random, const Style& style) {
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    for (const ScoreTerm& term : scorer.terms) {
      const std::int64_t capacity = some_capacity(random, style);
      table.set(row, term.capacity, capacity);
      table.set(row, term.headroom, some_headroom(random, style, capacity, term.need));
    }
  }
}

inline Scorer scorer_of(ScoreKind kind, std::uint32_t terms, Random& random, const Style& style) {
  Scorer scorer;
  scorer.score.kind = kind;
  for (std::uint32_t t = 0; t < terms; ++t) {
    scorer.add(t, terms + t, some_need(random, style),
               static_cast<std::int32_t>(random.between(1, 100)));
  }
  return scorer;
}

struct Tables {
  std::int8_t ascending[101], descending[101], zigzag[101];
  Tables() {
    for (int u = 0; u <= 100; ++u) {
      ascending[u] = static_cast<std::int8_t>(u);
      descending[u] = static_cast<std::int8_t>(100 - u);
      zigzag[u] = static_cast<std::int8_t>(u % 10 == 0 ? 0 : u * 37 % 101);
    }
  }
};
inline const Tables kTables;

}  // namespace headroom::kernels_test
