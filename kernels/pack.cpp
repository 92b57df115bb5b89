// Packing: a block's scores into cached lines, with the least and the greatest of each, and how
// many rows have each code.
#include <algorithm>
#include <bit>

#include "kernels/exact.h"
#include "kernels/parts.h"
#include "objects/assert.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Blocks that share a line, or a vector, are written row by row.
constexpr bool kWholeVectors = kBlockNodes % std::max(kLanes, kLineNodes) == 0;

struct Packing {
  const BlockScores& scores;
  const LineLayout layout;
  const std::uint32_t plain;
  const std::uint32_t first_row;
  const std::span<CodeCount> codes;
  std::uint32_t* const lines;
};

// Packs rows [0, count), a whole number of vectors, unless some score does not fit a line: then
// returns false, and nothing counts.
bool pack_vectors(const Packing& to, std::uint32_t count, PackedRows& result) {
  const auto store = [&](Int values, std::size_t at) {
    auto* words = reinterpret_cast<std::int32_t*>(to.lines) + at;
    store_lines(values, words, words + to.layout.stride());
  };
  const std::uint32_t normalized = to.layout.normalized;
  Int lo[kNormalizedMax], hi[kNormalizedMax], rows_of_code[kPackCodesMax];
  std::fill_n(lo, kNormalizedMax, Int(INT32_MAX));
  std::fill_n(hi, kNormalizedMax, Int(INT32_MIN));
  std::fill_n(rows_of_code, to.codes.size(), Int(0));
  Int least_plain(0), most_plain(0);
  std::uint32_t feasible = 0;
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    const auto code =
        Int::load_unaligned(reinterpret_cast<const std::int32_t*>(to.scores.code) + i);
    const IntMask accepted = code == Int(0);
    const std::uint32_t row = to.first_row + i;
    for (std::uint32_t n = 0; n < normalized; ++n) {
      const Int raw = Int::load_unaligned(to.scores.score[n] + i);
      lo[n] = xsimd::min(lo[n], xsimd::select(accepted, raw, Int(INT32_MAX)));
      hi[n] = xsimd::max(hi[n], xsimd::select(accepted, raw, Int(INT32_MIN)));
      store(raw, to.layout.raw(row, n));
    }
    Int packed(0);
    for (std::uint32_t s = 0; s < to.plain; ++s) {
      const Int any = Int::load_unaligned(to.scores.score[normalized + s] + i);
      const Int score = xsimd::select(accepted, any, Int(0));
      least_plain = xsimd::min(least_plain, score);
      most_plain = xsimd::max(most_plain, score);
      packed = packed | (score << static_cast<std::int32_t>(8 * s));
    }
    const std::uint32_t accepted_bits = bits(accepted);
    feasible += static_cast<std::uint32_t>(std::popcount(accepted_bits));
    if (accepted_bits != kAllLanes) {
      Int id(static_cast<std::int32_t>(kInfeasible | kNoCode));
      for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
        const IntMask its = code == Int(static_cast<std::int32_t>(to.codes[c].code));
        id = xsimd::select(its, Int(static_cast<std::int32_t>(kInfeasible | c)), id);
        rows_of_code[c] = rows_of_code[c] + xsimd::select(its, Int(1), Int(0));
      }
      packed = xsimd::select(accepted, packed, id);
    }
    store(packed, to.layout.packed(row));
  }
  if (least(least_plain) < 0 || most(most_plain) > kPlainScoreMax) {
    return false;
  }
  for (std::uint32_t n = 0; n < normalized; ++n) {
    result.lo[n] = least(lo[n]);
    result.hi[n] = most(hi[n]);
    if (result.lo[n] < kRawMin || result.hi[n] > kPlainScoreMax) {
      return false;
    }
  }
  result.feasible = feasible;
  result.no_code = count - feasible;
  for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
    const std::uint32_t rows = sum(rows_of_code[c]);
    to.codes[c].rows += rows;
    result.no_code -= rows;
  }
  return true;
}

void pack_one(const Packing& to, std::uint32_t i, PackedRows& result) {
  const std::uint32_t row = to.first_row + i;
  std::uint32_t& packed = to.lines[to.layout.packed(row)];
  const std::uint32_t code = to.scores.code[i];
  if (code != 0) {
    const auto its = std::find_if(to.codes.begin(), to.codes.end(),
                                  [code](const CodeCount& known) { return known.code == code; });
    if (its == to.codes.end()) {
      packed = kInfeasible | kNoCode;
      ++result.no_code;
    } else {
      packed = kInfeasible | static_cast<std::uint32_t>(its - to.codes.begin());
      ++its->rows;
    }
    return;
  }
  packed = pack_row(to.scores, to.layout, to.plain, i);
  ++result.feasible;
  result.wide += packed == kWideRow;
  for (std::uint32_t n = 0; n < to.layout.normalized; ++n) {
    const std::int32_t raw = to.scores.score[n][i];
    to.lines[to.layout.raw(row, n)] = static_cast<std::uint32_t>(raw);
    result.lo[n] = std::min(result.lo[n], raw);
    result.hi[n] = std::max(result.hi[n], raw);
  }
}

}  // namespace

PackedRows pack(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                std::uint32_t first_row, std::uint32_t count, std::span<CodeCount> codes,
                std::uint32_t* lines) {
  HEADROOM_ASSERT(count <= kBlockNodes && first_row % kBlockNodes == 0);
  HEADROOM_ASSERT(layout.normalized <= kNormalizedMax && plain <= kPlainMax);
  const Packing to{scores,
                   layout,
                   plain,
                   first_row,
                   codes.first(std::min<std::size_t>(codes.size(), kPackCodesMax)),
                   lines};
  PackedRows empty{};
  std::fill_n(empty.lo, kNormalizedMax, INT32_MAX);
  std::fill_n(empty.hi, kNormalizedMax, INT32_MIN);
  PackedRows result = empty;
  std::uint32_t done = kWholeVectors ? count / kLanes * kLanes : 0;
  if (!pack_vectors(to, done, result)) {
    result = empty;
    done = 0;
  }
  for (std::uint32_t i = done; i < count; ++i) {
    pack_one(to, i, result);
  }
  return result;
}

}  // namespace headroom::HEADROOM_ISA
