// Scores by doubles: the rows of a block that float32 leaves in doubt, a vector of them at a time.
#include "kernels/block.h"
#include "kernels/formula.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Rows for which every |value| stays below this are exact in doubles: 100 * (headroom - need) stays
// below 2^53. The others are left to exact_score().
constexpr std::int64_t kDoubleMax = std::int64_t{1} << 45;
// Weighted sums below this are.
constexpr double kDoubleSumMax = 1 << 30;

// The rows of a vector: the truth of each, and its number in the block.
struct Lanes {
  Truth truth[kDoubleLanes];
  std::uint32_t rows[kDoubleLanes];
};

// Not through memory: a vector load would wait for the scalar stores before it.
Long gather(const Lanes& lanes, std::uint32_t column) {
  const auto at = [&](std::uint32_t lane) { return lanes.truth[lane][column]; };
  if constexpr (kDoubleLanes == 2) {
    return Long{at(0), at(1)};
  } else if constexpr (kDoubleLanes == 4) {
    return Long{at(0), at(1), at(2), at(3)};
  } else {
    return Long{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
  }
}

// A term at the rows of a vector.
struct DoubleTerm {
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

  Doubles(const Lanes& lanes, const Score& score) : lanes_(lanes), score_(score) {}

  std::uint32_t count() const { return score_.count; }
  DoubleTerm term(std::uint32_t t) {
    const ScoreTerm& term = score_.terms[t];
    const Long headroom = gather(lanes_, term.headroom);
    const Long capacity = gather(lanes_, term.capacity);
    // Out of range the conversion gives some other number: compare whole numbers, not that.
    const Long max(kDoubleMax), min(-kDoubleMax);
    in_range_ = in_range_ && xsimd::bool_cast((headroom < max) && (headroom > min) &&
                                              (capacity < max) && (capacity >= 0));
    const DoubleTerm its{to_double(headroom), to_double(capacity),
                         Double(static_cast<double>(term.need)), weight(term.weight)};
    all_have_capacity_ = all_have_capacity_ && has_capacity(its);
    return its;
  }
  DoubleMask has_capacity(const DoubleTerm& term) const { return term.capacity > Double(0.0); }
  bool all_have_capacity() const { return xsimd::all(all_have_capacity_); }

  Double free(const DoubleTerm& term) const { return term.headroom - term.need; }
  Double capacity(const DoubleTerm& term) const { return term.capacity; }
  Double percent(Double amount, const DoubleTerm& term) const {
    return xsimd::select(has_capacity(term), amount * Double(100.0) / term.capacity, Double(0.0));
  }
  Double truncated(Double percent, const DoubleTerm& /*term*/) const {
    return xsimd::trunc(percent);
  }

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

  Double divided(Double a, Double b) const { return a / b; }
  Double root(Double a) const { return xsimd::sqrt(a); }
  template <bool with_pod>
  Double used(const DoubleTerm& term) const {
    const Double requested = term.capacity - term.headroom + (with_pod ? term.need : Double(0.0));
    const Double one(1.0);
    return xsimd::min(requested / xsimd::select(has_capacity(term), term.capacity, one), one);
  }
  Double balanced(Double deviation, DoubleMask /*several*/ = DoubleMask(true)) const {
    return xsimd::trunc((Double(1.0) - deviation) * Double(100.0));
  }

  // Stores the lanes that are in range; marks the others.
  void store(Double values, std::int32_t* out, RowBits& left) const {
    std::int32_t numbers[kDoubleLanes];
    store_truncated(values, numbers);
    const std::uint32_t good = bits(in_range_);
    for (std::uint32_t lane = 0; lane < kDoubleLanes; ++lane) {
      if ((good >> lane & 1) != 0) {
        out[lanes_.rows[lane]] = numbers[lane];
      } else {
        left.set_row(lanes_.rows[lane]);
      }
    }
  }

 private:
  const Lanes& lanes_;
  const Score& score_;
  DoubleMask in_range_ = DoubleMask(true), all_have_capacity_ = DoubleMask(true);
};

bool needs_in_range(const Score& score) {
  return std::all_of(score.terms, score.terms + score.count, [](const ScoreTerm& term) {
    return term.need < kDoubleMax && term.need > -kDoubleMax;
  });
}

}  // namespace

RowBits in_doubles(const Block& block, const Score& score, const RowBits& rows, std::int32_t* out) {
  if (!needs_in_range(score)) {
    return rows;
  }
  return with_formula(score, [&](auto formula) {
    RowBits left;
    Lanes lanes;
    std::uint32_t filled = 0;
    const auto compute = [&] {
      Doubles with(lanes, score);
      const Double value = formula(with, score);
      with.store(value, out, left);
    };
    rows.for_each([&](std::uint32_t i) {
      lanes.truth[filled] = block.truth(i);
      lanes.rows[filled] = i;
      if (++filled == kDoubleLanes) {
        compute();
        filled = 0;
      }
    });
    if (filled != 0) {
      // The last row once more where there are no others.
      std::fill(lanes.truth + filled, std::end(lanes.truth), lanes.truth[filled - 1]);
      std::fill(lanes.rows + filled, std::end(lanes.rows), lanes.rows[filled - 1]);
      compute();
    }
    return left;
  });
}

}  // namespace headroom::HEADROOM_ISA
