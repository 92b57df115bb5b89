// Packing: a block's scores into words, and into cached lines, with the least and the greatest of
// each, and how many rows have each code.
#include <algorithm>
#include <bit>

#include "kernels/exact.h"
#include "kernels/parts.h"
#include "objects/assert.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Blocks that share a line, or a vector, are written row by row.
constexpr bool kWholeVectors = kBlockNodes % kLineNodes == 0;

// Codes are compared so many at a time: how many it takes to find those of a vector's rows is what
// a branch cannot foresee.
constexpr std::uint32_t kCodesAtOnce = 4;
static_assert(kPackCodesMax % kCodesAtOnce == 0);

struct Packing {
  const BlockScores& scores;
  const LineLayout layout;
  const std::uint32_t plain;
  const std::uint32_t first_row;
  const std::span<CodeCount> codes;
  std::uint32_t* const lines;
};

// The packed words of rows [i, i + kLanes), whose scores are taken to fit.
Int packed_lanes(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                 std::uint32_t i) {
  Int packed(0);
  for (std::uint32_t n = 0; layout.apart == 0 && n < layout.normalized; ++n) {
    const Int raw = Int::load_unaligned(scores.score[n] + i);
    packed = packed | ((raw - Int(kNarrowRawMin)) << static_cast<std::int32_t>(kRawShift));
  }
  for (std::uint32_t s = 0; s < plain; ++s) {
    const Int score = Int::load_unaligned(scores.score[layout.normalized + s] + i);
    packed = packed | (score << static_cast<std::int32_t>(s * kPlainBits));
  }
  return packed;
}

Int codes_of(const BlockScores& scores, std::uint32_t i) {
  return Int::load_unaligned(reinterpret_cast<const std::int32_t*>(scores.code) + i);
}

// Packs rows [0, count), a whole number of vectors, unless some score does not fit a line: then
// returns false, and nothing counts. fixed_plain 0: how many scores there are is what `to` says.
template <std::uint32_t fixed_normalized, std::uint32_t fixed_plain>
bool pack_vectors(const Packing& to, std::uint32_t count, PackedRows& result) {
  const auto store = [&](Int values, std::size_t at) {
    values.store_unaligned(reinterpret_cast<std::int32_t*>(to.lines) + at);
  };
  constexpr bool kFixed = fixed_plain != 0;
  const LineLayout layout = kFixed ? LineLayout{fixed_normalized, 0} : to.layout;
  const std::uint32_t normalized = layout.normalized, plain = kFixed ? fixed_plain : to.plain;
  Int lo[kNormalizedMax], hi[kNormalizedMax];
  // The others are 0, which no infeasible row has.
  Int known[kPackCodesMax];
  std::fill_n(known, kPackCodesMax, Int(0));
  for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
    known[c] = Int(static_cast<std::int32_t>(to.codes[c].code));
  }
  std::uint32_t rows_of_code[kPackCodesMax] = {};
  std::fill_n(lo, kNormalizedMax, Int(INT32_MAX));
  std::fill_n(hi, kNormalizedMax, Int(INT32_MIN));
  Int least_plain(0), most_plain(0);
  std::uint32_t feasible = 0;
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    const Int code = codes_of(to.scores, i);
    const IntMask accepted = code == Int(0);
    const std::uint32_t row = to.first_row + i;
    for (std::uint32_t n = 0; n < normalized; ++n) {
      const Int raw = Int::load_unaligned(to.scores.score[n] + i);
      lo[n] = xsimd::min(lo[n], xsimd::select(accepted, raw, Int(INT32_MAX)));
      hi[n] = xsimd::max(hi[n], xsimd::select(accepted, raw, Int(INT32_MIN)));
      if (layout.apart != 0) {
        store(raw, layout.raw_apart(row, n));
      }
    }
    for (std::uint32_t s = 0; s < plain; ++s) {
      const Int any = Int::load_unaligned(to.scores.score[normalized + s] + i);
      const Int score = xsimd::select(accepted, any, Int(0));
      least_plain = xsimd::min(least_plain, score);
      most_plain = xsimd::max(most_plain, score);
    }
    Int packed = packed_lanes(to.scores, layout, plain, i);
    const std::uint32_t accepted_bits = bits(accepted);
    feasible += static_cast<std::uint32_t>(std::popcount(accepted_bits));
    if (accepted_bits != kAllLanes) {
      Int id(static_cast<std::int32_t>(kInfeasible | kNoCode));
      std::uint32_t left = ~accepted_bits & kAllLanes;
      for (std::uint32_t first = 0; left != 0 && first < to.codes.size(); first += kCodesAtOnce) {
        for (std::uint32_t c = first; c < first + kCodesAtOnce; ++c) {
          const IntMask its = code == known[c];
          id = xsimd::select(its, Int(static_cast<std::int32_t>(kInfeasible | c)), id);
          const std::uint32_t its_bits = bits(its);
          rows_of_code[c] += static_cast<std::uint32_t>(std::popcount(its_bits));
          left &= ~its_bits;
        }
      }
      packed = xsimd::select(accepted, packed, id);
    }
    store(packed, layout.packed(row));
  }
  if (least(least_plain) < 0 || most(most_plain) > kPlainScoreMax) {
    return false;
  }
  for (std::uint32_t n = 0; n < normalized; ++n) {
    result.lo[n] = least(lo[n]);
    result.hi[n] = most(hi[n]);
    if (result.lo[n] < layout.raw_min() || result.hi[n] > kPlainScoreMax) {
      return false;
    }
  }
  result.feasible = feasible;
  result.no_code = count - feasible;
  for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
    to.codes[c].rows += rows_of_code[c];
    result.no_code -= rows_of_code[c];
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
    if (to.layout.apart != 0) {
      to.lines[to.layout.raw_apart(row, n)] = static_cast<std::uint32_t>(raw);
    }
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
  // Most profiles have as many scores as the standard one.
  const bool as_most = layout.normalized == 1 && layout.apart == 0 && plain == 3;
  if (!(as_most ? pack_vectors<1, 3>(to, done, result) : pack_vectors<0, 0>(to, done, result))) {
    result = empty;
    done = 0;
  }
  for (std::uint32_t i = done; i < count; ++i) {
    pack_one(to, i, result);
  }
  return result;
}

void pack_words(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                std::uint32_t count, std::uint32_t* words) {
  HEADROOM_ASSERT(count <= kBlockNodes);
  HEADROOM_ASSERT(layout.normalized <= kNormalizedMax && plain <= kPlainMax);
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    IntMask wide(false);
    for (std::uint32_t s = 0; s < layout.normalized + plain; ++s) {
      const Int score = Int::load_unaligned(scores.score[s] + i);
      const Int least(s < layout.normalized ? layout.raw_min() : 0);
      wide = wide || score < least || score > Int(kPlainScoreMax);
    }
    const Int word = xsimd::select(wide, Int(static_cast<std::int32_t>(kWideRow)),
                                   packed_lanes(scores, layout, plain, i));
    xsimd::select(codes_of(scores, i) == Int(0), word,
                  Int(static_cast<std::int32_t>(kInfeasible | kNoCode)))
        .store_unaligned(reinterpret_cast<std::int32_t*>(words) + i);
  }
}

}  // namespace headroom::HEADROOM_ISA
