// Totals over cached lines: normalised and weighted scores added up, line by line.
#include <algorithm>
#include <bit>

#include "kernels/block.h"
#include "kernels/formula.h"
#include "kernels/parts.h"
#include "objects/assert.h"

namespace headroom::HEADROOM_ISA {

namespace {

// (raw - lo) * 100 / range by float32: exact below this range, as kSumMax is above 100 * range.
constexpr std::int32_t kFloatRangeMax = 10'000;
constexpr std::uint32_t kLineVectors = kLineNodes / kLanes;
static_assert(kPlainMax == 3 && kPlainScoreMax <= INT16_MAX);

// The totals of a line, vector by vector; infeasible rows get -1. All that is the same for every
// line is in registers. `apart`: how many of the normalised scores stand apart.
template <std::uint32_t normalized_count, std::uint32_t apart, bool in_float>
class LineTotals {
 public:
  static constexpr std::uint32_t kStride = (apart + 1) * kLineNodes;

  explicit LineTotals(const Totals& totals)
      : in_double_(totals.normalize_in_double),
        low_weights_(totals.plain_weight[0] | totals.plain_weight[1] << 16),
        last_weight_(totals.plain_weight[2]) {
    for (std::uint32_t n = 0; n < normalized_count; ++n) {
      const std::int32_t range = totals.hi[n] - totals.lo[n];
      lo_[n] = Int(apart == 0 ? totals.lo[n] - kNarrowRawMin : totals.lo[n]);
      range_[n] = Int(range);
      weight_[n] = Int(totals.normalized_weight[n]);
      factor_[n] = Float(range == 0 ? 0.0F : 100.0F * (kRaise / static_cast<float>(range)));
    }
  }

  Int total(const std::uint32_t* line, std::uint32_t vector) const {
    const auto load = [&](std::uint32_t at) {
      return Int::load_unaligned(reinterpret_cast<const std::int32_t*>(line) + at +
                                 vector * kLanes);
    };
    const Int packed = load(apart * kLineNodes);
    // The first two scores as a pair of 16-bit numbers, and the last.
    const Int pair =
        (packed & Int(kPlainMask)) | ((packed << (16 - kPlainBits)) & Int(kPlainMask << 16));
    Int sum = multiply_pairs(pair, low_weights_) +
              multiply_pairs((packed >> (2 * kPlainBits)) & Int(kPlainMask), last_weight_);
    for (std::uint32_t n = 0; n < normalized_count; ++n) {
      const Int raw = apart == 0 ? (packed >> kRawShift) & Int(kRawMask) : load(n * kLineNodes);
      const Int held = xsimd::min(xsimd::max(raw - lo_[n], Int(0)), range_[n]);
      sum = sum + multiply_pairs(normalized(held, n), weight_[n]);
    }
    return xsimd::select(packed < Int(0), Int(-1), sum);
  }

 private:
  // `off` in [0, range].
  Int normalized(Int off, std::uint32_t n) const {
    if constexpr (in_float) {
      return xsimd::to_int(xsimd::to_float(off) * factor_[n]);
    } else {
      std::int32_t values[kLanes];
      off.store_unaligned(values);
      const double range = range_[n].get(0);
      for (std::int32_t& value : values) {
        const double score = range == 0   ? 0
                             : in_double_ ? percent_of_range_in_double(value, range)
                                          : percent_of_range<double>(value, range);
        value = static_cast<std::int32_t>(score);
      }
      return Int::load_unaligned(values);
    }
  }

  static constexpr std::uint32_t kCount = normalized_count == 0 ? 1 : normalized_count;

  const bool in_double_;
  const Int low_weights_, last_weight_;
  Int lo_[kCount], range_[kCount], weight_[kCount];
  Float factor_[kCount];
};

template <std::uint32_t normalized_count, std::uint32_t apart, typename Visit>
auto with_line_totals(const Totals& totals, Visit visit) {
  bool in_float = !totals.normalize_in_double;
  for (std::uint32_t n = 0; n < normalized_count; ++n) {
    in_float = in_float && totals.hi[n] - totals.lo[n] <= kFloatRangeMax;
  }
  return in_float ? visit(LineTotals<normalized_count, apart, true>(totals))
                  : visit(LineTotals<normalized_count, apart, false>(totals));
}

template <typename Visit>
auto with_line_totals(const Totals& totals, Visit visit) {
  static_assert(kNormalizedMax == 2);
  switch (totals.layout.normalized) {
    case 0:
      return visit(LineTotals<0, 0, true>(totals));
    case 1:
      return totals.layout.apart == 0 ? with_line_totals<1, 0>(totals, visit)
                                      : with_line_totals<1, 1>(totals, visit);
    default:
      return with_line_totals<2, 2>(totals, visit);
  }
}

}  // namespace

void line_maxima(const std::uint32_t* lines, const std::uint32_t* rows, std::uint32_t count,
                 const Totals& totals, std::int32_t* out) {
  HEADROOM_ASSERT(totals.layout.normalized <= kNormalizedMax);
  with_line_totals(totals, [&](const auto line_totals) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t* line =
          lines + std::size_t{rows != nullptr ? rows[i] / kLineNodes : i} * line_totals.kStride;
      Int greatest = line_totals.total(line, 0);
      for (std::uint32_t v = 1; v < kLineVectors; ++v) {
        greatest = xsimd::max(greatest, line_totals.total(line, v));
      }
      out[i] = most(greatest);
    }
  });
}

std::uint32_t rows_at_least(const std::uint32_t* line, const Totals& totals, std::int32_t at_least,
                            RowTotal (&out)[kLineNodes]) {
  return with_line_totals(totals, [&](const auto line_totals) {
    std::uint32_t found = 0;
    for (std::uint32_t v = 0; v < kLineVectors; ++v) {
      const Int totals_of_rows = line_totals.total(line, v);
      std::int32_t values[kLanes];
      totals_of_rows.store_unaligned(values);
      for (std::uint32_t left = bits(totals_of_rows >= Int(at_least)); left != 0;
           left &= left - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
        out[found++] = {v * kLanes + lane, values[lane]};
      }
    }
    return found;
  });
}

std::uint32_t index_of_max(const std::int32_t* values, std::uint32_t count) {
  std::int32_t greatest = values[0];
  std::uint32_t i = 0;
  if (count >= kLanes) {
    Int most = Int::load_unaligned(values);
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      most = xsimd::max(most, Int::load_unaligned(values + i));
    }
    std::int32_t lanes[kLanes];
    most.store_unaligned(lanes);
    greatest = *std::max_element(lanes, lanes + kLanes);
  }
  for (; i < count; ++i) {
    greatest = std::max(greatest, values[i]);
  }
  for (i = 0; i + kLanes <= count; i += kLanes) {
    const std::uint32_t equal = bits(Int::load_unaligned(values + i) == Int(greatest));
    if (equal != 0) {
      return i + static_cast<std::uint32_t>(std::countr_zero(equal));
    }
  }
  while (values[i] != greatest) {
    ++i;
  }
  return i;
}

}  // namespace headroom::HEADROOM_ISA
