// What the kernels share: rows of a block as bits, the columns of a block, and the parts that make
// up score_block(). Compiled once per instruction set (HEADROOM_ISA names the namespace); for
// kernels/*.cpp alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "objects/assert.h"

namespace headroom::HEADROOM_ISA {

static_assert(kPadNodes % kLanes == 0 && kLineNodes <= kPadNodes && kLineNodes % kLanes == 0);

inline constexpr std::uint32_t kWords = (kBlockNodes + 63) / 64;

// Weighted sums below this, times a reciprocal raised by kRaise, truncate exactly: a quotient that
// is not whole lies at least 1 / weights from one, the error stays below sum / weights * 2^-21.
inline constexpr float kSumMax = 1 << 20;
inline constexpr float kRaise = 1.0F + 1.0F / (1 << 22);

// A bit per row of a block. Vectors of the last word may reach beyond the block: keep() cuts them
// off.
struct RowBits {
  std::uint64_t words[kWords] = {};

  void set(std::uint32_t first, std::uint32_t lanes) {
    if constexpr (kLanes == 8) {
      const auto byte = static_cast<std::uint8_t>(lanes);
      std::memcpy(reinterpret_cast<char*>(words) + first / 8, &byte, sizeof(byte));
    } else if constexpr (kLanes == 16) {
      const auto half = static_cast<std::uint16_t>(lanes);
      std::memcpy(reinterpret_cast<char*>(words) + first / 8, &half, sizeof(half));
    } else {
      words[first / 64] |= std::uint64_t{lanes} << (first % 64);
    }
  }
  void set_row(std::uint32_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  void clear_row(std::uint32_t i) { words[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  // Drops bits at and beyond `count`.
  void keep(std::uint32_t count) {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      const std::uint32_t begin = w * 64;
      if (count < begin + 64) {
        words[w] &= count <= begin ? 0 : ~std::uint64_t{0} >> (64 - (count - begin));
      }
    }
  }
  void intersect(const RowBits& other) {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      words[w] &= other.words[w];
    }
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
        visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
  }
  int count() const {
    int total = 0;
    for (const std::uint64_t word : words) {
      total += std::popcount(word);
    }
    return total;
  }
};

struct Block {
  const Columns& columns;
  std::uint32_t first, count;

  const float* narrow(std::uint32_t column) const {
    HEADROOM_ASSERT(column < columns.count);
    return columns.narrow[column] + first;
  }
  Truth truth(std::uint32_t i) const {
    return columns.truth_of(columns.rows != nullptr ? columns.rows[first + i] : first + i);
  }
};

// All rows of a block.
inline RowBits everything(std::uint32_t count) {
  RowBits all;
  std::fill_n(all.words, kWords, ~std::uint64_t{0});
  all.keep(count);
  return all;
}

// The codes of a block's rows into `out`; which rows are feasible. filter.cpp.
RowBits filter(const Block& block, const Program& program, BlockScores& out);

// A plugin's raw scores of a block's rows by float32; the rows returned are in doubt, and hold any
// number. For needs of 0 and more. estimate.cpp.
RowBits estimate_scores(const Block& block, const Score& score, std::int32_t* out);

// The same by doubles, of these rows alone; those returned are beyond them. doubles.cpp.
RowBits in_doubles(const Block& block, const Score& score, const RowBits& rows, std::int32_t* out);

}  // namespace headroom::HEADROOM_ISA
