// Scores by float32, with a bound of the error: what is certain is the answer, what is not is in
// doubt.
//
// With H = 100 * headroom / capacity and N = 100 * need / capacity the answer is trunc(H - N). The
// roundings of headroom (2^-23, downwards), scale, need, product and difference (2^-24 each) leave
// an error below 2^-23 * (2 * |H| + 2 * |N|) + 2^-24 * |H - N| < kError * (|H| + |N|).
// Where only answers above 0 matter, either N <= 2 * H, and the error is below 2 * kError * H, or
// H - N is below 0 by more than the error.
#include "kernels/block.h"
#include "kernels/formula.h"

namespace headroom::HEADROOM_ISA {

namespace {

constexpr float kError = 1.0F / (1 << 21);
// kScoreTermsMax weighted scores of either sign below this add up exactly.
constexpr float kTermMax = 1 << 18;
static_assert(kTermMax * kScoreTermsMax <= 1 << 24);

// Below this a narrow headroom is the truth, and so are sums and differences of two.
constexpr std::int32_t kSmallMax = 1 << 24;
// Below this 100 / scale is the capacity once it is rounded: the error is below 2^-23 of it.
constexpr std::int32_t kSmallCapacityMax = 1 << 21;

// So much of the scale, less than a hundredth by more than roundings: see settle_few().
constexpr float kLeastDistance = 0.0099F;
// Of a capacity of few units, of which settle_few() leaves little to others.
constexpr float kFewScale = 100.0F / 4096;

// A term's columns of a block.
struct TermColumns {
  const float* headroom;
  const float* scale;
  Float need, weight;
  bool small_need;
  bool few;  // on the first row: then many percentages are whole, which a branch cannot foresee
};

// A term at the rows of a vector.
struct Term {
  const TermColumns& columns;
  Float scale, weight;
};

// A number that lies in [low, high].
struct Range {
  Range(Float its_low, Float its_high) : low(its_low), high(its_high) {}
  explicit Range(Float both) : low(both), high(both) {}

  Float low, high;

  friend Range operator-(const Range& a, const Range& b) {
    return {a.low - b.high, a.high - b.low};
  }
  friend Range min(const Range& a, const Range& b) {
    return {min(a.low, b.low), min(a.high, b.high)};
  }
  friend Range max(const Range& a, const Range& b) {
    return {max(a.low, b.low), max(a.high, b.high)};
  }
};

// The arithmetic of whole numbers that float32 holds: one percentage whose floor is known but for
// one. is_small() says of which lanes it holds.
template <ScoreKind kind>
class Remainders {
 public:
  using Number = Int;

  // `above`: the greatest whole number that is not above the percentage, or the next one.
  Remainders(const Term& term, Float headroom, Float above)
      : headroom_(headroom),
        capacity_(xsimd::nearbyint(divide(Float(100.0F), term.scale))),
        above_(xsimd::to_int(above)),
        small_(FloatMask(term.columns.small_need) &&
               capacity_ < Float(static_cast<float>(kSmallCapacityMax)) && is_small(headroom)) {}

  Float free(const Term& term) const { return headroom_ - term.columns.need; }
  Float capacity(const Term& /*term*/) const { return capacity_; }
  Int percent(Float amount, const Term& /*term*/) {
    small_ = small_ && is_small(amount);
    const Int capacity = xsimd::to_int(capacity_);
    const Int rest = xsimd::to_int(amount) * Int(100) - above_ * capacity;
    const Int whole = above_ - xsimd::select(rest < Int(0), Int(1), Int(0));
    if constexpr (kind == ScoreKind::kLeast || kind == ScoreKind::kRatio) {
      return whole;  // below 0 it does not matter by how much
    }
    // Negative quotients are truncated upwards.
    const IntMask is_whole = rest == Int(0) || rest == Int(0) - capacity;
    return whole + xsimd::select(whole < Int(0) && !is_whole, Int(1), Int(0));
  }
  Int truncated(Int percent, const Term& /*term*/) const { return percent; }

  FloatMask small() const { return small_; }

 private:
  static FloatMask is_small(Float value) {
    return xsimd::abs(value) < Float(static_cast<float>(kSmallMax));
  }

  const Float headroom_, capacity_;
  const Int above_;
  FloatMask small_;
};

// The arithmetic of float32 and its error, at one vector of rows. Amounts are in percent of the
// capacity. `fixed_count`: the terms of the score where they are few, else 0.
template <typename Formula, std::uint32_t fixed_count>
class Estimates {
 public:
  using Number = Float;
  using Sum = Float;
  using Fraction = Float;  // in percent
  static constexpr std::uint32_t kTermsMax = fixed_count != 0 ? fixed_count : kScoreTermsMax;

  Estimates(const TermColumns* terms, std::uint32_t count, Float reciprocal, std::uint32_t first)
      : terms_(terms), count_(count), reciprocal_(reciprocal), first_(first) {}

  std::uint32_t count() const { return fixed_count != 0 ? fixed_count : count_; }
  Term term(std::uint32_t t) {
    const Float scale = Float::load_unaligned(terms_[t].scale + first_);
    least_scale_ = min(least_scale_, scale);
    return {terms_[t], scale, terms_[t].weight};
  }
  FloatMask has_capacity(const Term& term) const { return differ(term.scale, Float(0.0F)); }
  bool all_have_capacity() const { return bits(least_scale_ == Float(0.0F)) == 0; }

  Range free(const Term& term) const {
    const Float need = term.columns.need;
    const Float all = headroom(term) * term.scale;
    const Float value = fnma(need, term.scale, all);
    if constexpr (Formula::kKind == ScoreKind::kLeast) {
      return {fnma(all, Float(2 * kError), value), fma(all, Float(2 * kError), value)};
    } else {
      Float magnitude = fma(need, term.scale, xsimd::abs(all));
      if constexpr (Formula::kKind != ScoreKind::kSigned) {
        magnitude = magnitude + Float(100.0F);  // of what is used
      }
      return {fnma(magnitude, Float(kError), value), fma(magnitude, Float(kError), value)};
    }
  }
  Range capacity(const Term& term) const {
    return Range(xsimd::select(has_capacity(term), Float(100.0F), Float(0.0F)));
  }
  Range percent(const Range& amount, const Term& /*term*/) const { return amount; }
  Float truncated(const Range& percent, const Term& term) {
    Float value = xsimd::trunc(percent.high);
    FloatMask apart(false);
    if constexpr (Formula::kKind == ScoreKind::kLeast) {
      apart = percent.low < value;
    } else {
      apart = differ(xsimd::trunc(percent.low), value);
    }
    if (term.columns.few || bits(apart) != 0) {
      settle_few(percent, term, value, apart);
      if (bits(apart) != 0) [[unlikely]] {
        settle(percent, term, value, apart);
      }
    }
    doubt_ = doubt_ | apart;
    return value;
  }

  static Float weight(std::int32_t weight) { return Float(static_cast<float>(weight)); }
  Float add(Float sum, Float value, Float weight) {
    if constexpr (Formula::kKind == ScoreKind::kSigned) {
      doubt_ = doubt_ | (xsimd::abs(value) * weight >= Float(kTermMax));
    }
    return fma(value, weight, sum);
  }
  Float mean(Float sum) { return xsimd::trunc(checked(sum) * reciprocal_); }
  Float quotient(Float sum, Float weights) {
    const FloatMask none = weights == Float(0.0F);
    return xsimd::select(
        none, Float(0.0F),
        xsimd::trunc(divide(checked(sum), xsimd::select(none, Float(1.0F), weights))));
  }
  Float halved(Float number) const { return xsimd::trunc(number * Float(0.5F)); }
  Float look_up(const std::int8_t* table, Float percent) const {
    std::int32_t lanes[kLanes];
    xsimd::to_int(percent).store_unaligned(lanes);
    for (std::int32_t& lane : lanes) {
      lane = table[lane];
    }
    return xsimd::to_float(Int::load_unaligned(lanes));
  }

  Float divided(Float a, Float b) const { return divide(a, b); }
  Float root(Float a) const { return square_root(a); }
  // From 100 downwards: a deviation does not see from where its numbers count.
  template <bool with_pod>
  Float used(const Term& term) {
    const Float all = headroom(term) * term.scale;
    const Float need = with_pod ? term.columns.need * term.scale : Float(0.0F);
    magnitude_ = max(xsimd::abs(all) + need, magnitude_);
    return min(need - all, Float(0.0F));
  }
  // With every fraction the deviation moves by no more than the greatest of their errors, of two by
  // half of both. The sums of more add a relative error below 2^-23 a term.
  Float balanced(Float deviation) {
    const float terms = fixed_count == 2 ? 1 : static_cast<float>(2 + count());
    // Of magnitude_ + 100, at most.
    const Float error(2 * kError * terms);
    const Float value = Float(100.0F) - deviation;
    const Float high = xsimd::trunc(fma(magnitude_, error, value));
    doubt_ = doubt_ | not_at_least(fnma(magnitude_, error, value), high);
    magnitude_ = Float(kLeastMagnitude);
    return high;
  }
  Float balanced(Float deviation, FloatMask several) {
    const FloatMask before = doubt_;
    const Float value = balanced(deviation);
    doubt_ = before | (doubt_ && several);
    return xsimd::select(several, value, Float(100.0F));
  }

  std::uint32_t doubtful() const { return bits(doubt_); }

 private:
  Float headroom(const Term& term) const {
    return Float::load_unaligned(term.columns.headroom + first_);
  }
  // A percentage that is not whole is at least 1 / capacity, a hundredth of the scale, from every
  // whole number: a range of less than that holds a whole number only if it is the answer.
  static void settle_few(const Range& percent, const Term& term, Float& value, FloatMask& apart) {
    const Float least = term.scale * Float(kLeastDistance), width = percent.high - percent.low;
    if constexpr (Formula::kKind != ScoreKind::kLeast) {
      // Negative quotients are truncated upwards.
      const FloatMask negative = least >= width && percent.low < Float(0.0F);
      value = xsimd::select(negative, xsimd::trunc(percent.low), value);
    }
    apart = apart && not_at_least(least, width);
  }
  // Settles lanes in doubt whose numbers are small; what is left in doubt keeps its value.
  void settle(const Range& percent, const Term& term, Float& value, FloatMask& apart) const {
    Remainders<Formula::kKind> remainders(term, headroom(term), xsimd::floor(percent.high));
    const Int whole = percentage<Formula::kKind, Formula::kAtMost100>(remainders, term);
    const FloatMask settled =
        apart && remainders.small() && percent.high - percent.low < Float(0.5F);
    value = xsimd::select(settled, xsimd::to_float(whole), value);
    apart = apart && !settled;
  }
  // A sum that float32 holds exactly, or doubt.
  Float checked(Float sum) {
    if constexpr (!Formula::kAtMost100) {
      doubt_ = doubt_ | (xsimd::abs(sum) >= Float(kSumMax));
    }
    return sum;
  }

  static constexpr float kLeastMagnitude = 100;

  const TermColumns* const terms_;
  const std::uint32_t count_;
  const Float reciprocal_;
  const std::uint32_t first_;
  Float least_scale_ = Float(1000.0F), magnitude_ = Float(kLeastMagnitude);
  FloatMask doubt_ = FloatMask(false);
};

template <std::uint32_t fixed_count, typename Formula>
RowBits estimate(const Block& block, const Score& score, Formula formula, std::int32_t* out) {
  using With = Estimates<Formula, fixed_count>;
  TermColumns terms[With::kTermsMax];
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const float* const scale = block.narrow(term.capacity);
    const bool few = *scale > kFewScale;
    terms[t] = {block.narrow(term.headroom), scale,
                Float(term.need_nearest),    With::weight(term.weight),
                term.need < kSmallMax,       few};
  }
  const Float reciprocal(kRaise / static_cast<float>(std::max(score.weight_sum, 1)));
  RowBits doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kLanes) {
    With with(terms, score.count, reciprocal, i);
    xsimd::to_int(formula(with, score)).store_unaligned(out + i);
    doubtful.set(i, with.doubtful());
  }
  return doubtful;
}

}  // namespace

RowBits estimate_scores(const Block& block, const Score& score, std::int32_t* out) {
  return with_formula(score, [&](auto formula) {
    if constexpr (!formula.kDominant) {
      if (score.count == 1) {
        return estimate<1>(block, score, formula, out);
      }
      if (score.count == 2) {
        return estimate<2>(block, score, formula, out);
      }
    }
    return estimate<0>(block, score, formula, out);
  });
}

}  // namespace headroom::HEADROOM_ISA
