// Scores by doubles: whole blocks of contiguous rows of which float32 leaves many in doubt.
#include "kernels/block.h"
#include "kernels/formula.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Rows for which every |value| stays below this are exact in doubles: 100 * (headroom - need) stays
// below 2^53. The others are left to exact_score().
constexpr std::int64_t kDoubleMax = std::int64_t{1} << 45;
// Weighted sums below this are.
constexpr double kDoubleSumMax = 1 << 30;

Long gather(const std::int64_t* first, std::size_t stride) {
  // Not through memory: a vector load would wait for the scalar stores before it.
  if constexpr (kDoubleLanes == 2) {
    return Long{first[0], first[stride]};
  } else if constexpr (kDoubleLanes == 4) {
    return Long{first[0], first[stride], first[2 * stride], first[3 * stride]};
  } else {
    return Long{first[0],          first[stride],     first[2 * stride], first[3 * stride],
                first[4 * stride], first[5 * stride], first[6 * stride], first[7 * stride]};
  }
}

// A term at the rows of a vector.
struct Term {
  Double headroom, capacity, need, weight;
};

// The arithmetic of doubles, at one vector of rows. Of lanes that in_range() leaves out it says
// nothing.
class Doubles {
 public:
  using Number = Double;
  using Sum = Double;
  using Fraction = Double;
  static constexpr std::uint32_t kTermsMax = kScoreTermsMax;

  Doubles(const Block& block, const Score& score, std::uint32_t first)
      : block_(block), score_(score), first_(first) {}

  std::uint32_t count() const { return score_.count; }
  Term term(std::uint32_t t) {
    const ScoreTerm& term = score_.terms[t];
    const std::int64_t* truth = block_.truth(first_);
    const Long headroom = gather(truth + term.headroom, block_.columns.truth_stride);
    const Long capacity = gather(truth + term.capacity, block_.columns.truth_stride);
    // Out of range the conversion gives some other number: compare whole numbers, not that.
    const Long max(kDoubleMax), min(-kDoubleMax);
    in_range_ = in_range_ && xsimd::bool_cast((headroom < max) && (headroom > min) &&
                                              (capacity < max) && (capacity >= 0));
    const Term its{to_double(headroom), to_double(capacity), Double(static_cast<double>(term.need)),
                   weight(term.weight)};
    all_have_capacity_ = all_have_capacity_ && has_capacity(its);
    return its;
  }
  DoubleMask has_capacity(const Term& term) const { return term.capacity > Double(0.0); }
  bool all_have_capacity() const { return xsimd::all(all_have_capacity_); }

  Double free(const Term& term) const { return term.headroom - term.need; }
  Double capacity(const Term& term) const { return term.capacity; }
  Double percent(Double amount, const Term& term) const {
    return xsimd::select(has_capacity(term), amount * Double(100.0) / term.capacity, Double(0.0));
  }
  Double truncated(Double percent, const Term& /*term*/) const { return xsimd::trunc(percent); }

  static Double weight(std::int32_t weight) { return Double(static_cast<double>(weight)); }
  Double add(Double sum, Double value, Double weight) const { return sum + value * weight; }
  Double mean(Double sum) { return quotient(sum, weight(score_.weight_sum)); }
  Double quotient(Double sum, Double weights) {
    in_range_ = in_range_ && (xsimd::abs(sum) < Double(kDoubleSumMax));
    const DoubleMask none = weights == Double(0.0);
    return xsimd::select(none, Double(0.0),
                         xsimd::trunc(sum / xsimd::select(none, Double(1.0), weights)));
  }
  Double halved(Double number) const { return xsimd::trunc(number * Double(0.5)); }
  Double look_up(const std::int8_t* table, Double percent) const {
    // Lanes that are out of range may hold any number.
    const Double held = xsimd::min(xsimd::max(percent, Double(0.0)), Double(100.0));
    std::int32_t indices[kDoubleLanes];
    store_truncated(held, indices);
    double lanes[kDoubleLanes];
    for (std::uint32_t lane = 0; lane < kDoubleLanes; ++lane) {
      lanes[lane] = table[indices[lane]];
    }
    return Double::load_unaligned(lanes);
  }

  template <bool with_pod>
  Double used(const Term& term) const {
    const Double requested = term.capacity - term.headroom + (with_pod ? term.need : Double(0.0));
    const Double one(1.0);
    return xsimd::min(requested / xsimd::select(has_capacity(term), term.capacity, one), one);
  }
  Double balanced(Double deviation, DoubleMask /*several*/ = DoubleMask(true)) const {
    return xsimd::trunc((Double(1.0) - deviation) * Double(100.0));
  }

  // Stores the lanes that are in range; marks the others.
  void store(Double values, std::int32_t* out, RowBits& left) const {
    std::int32_t lanes[kDoubleLanes];
    store_truncated(values, lanes);
    const std::uint32_t good = bits(in_range_);
    for (std::uint32_t lane = 0; lane < kDoubleLanes; ++lane) {
      if ((good >> lane & 1) != 0) {
        out[first_ + lane] = lanes[lane];
      } else {
        left.set_row(first_ + lane);
      }
    }
  }

 private:
  const Block& block_;
  const Score& score_;
  const std::uint32_t first_;
  DoubleMask in_range_ = DoubleMask(true), all_have_capacity_ = DoubleMask(true);
};

bool needs_in_range(const Score& score) {
  return std::all_of(score.terms, score.terms + score.count, [](const ScoreTerm& term) {
    return term.need < kDoubleMax && term.need > -kDoubleMax;
  });
}

}  // namespace

RowBits in_doubles(const Block& block, const Score& score, std::int32_t* out) {
  if (!needs_in_range(score)) {
    return everything(block.count);
  }
  return with_formula(score, [&](auto formula) {
    RowBits left;
    for (std::uint32_t i = 0; i < block.count; i += kDoubleLanes) {
      Doubles with(block, score, i);
      const Double value = formula(with, score);
      with.store(value, out, left);
    }
    return left;
  });
}

}  // namespace headroom::HEADROOM_ISA
