#include "kernels/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/formula.h"
#include "objects/assert.h"

namespace headroom {

namespace {

std::int64_t saturate(__int128 value) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  constexpr __int128 kMin = std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::clamp(value, kMin, kMax));
}

// A term at a row.
struct Term {
  std::int64_t headroom, need, capacity;
  __int128 weight;
};

// The arithmetic of whole numbers, at one row.
class Exact {
 public:
  using Number = std::int64_t;
  using Sum = __int128;
  using Fraction = double;
  static constexpr std::uint32_t kTermsMax = kScoreTermsMax;

  Exact(const Score& score, const Truth& truth) : score_(score), truth_(truth) {}

  std::uint32_t count() const { return score_.count; }
  Term term(std::uint32_t t) {
    const ScoreTerm& term = score_.terms[t];
    const std::int64_t capacity = truth_[term.capacity];
    all_have_capacity_ = all_have_capacity_ && capacity != 0;
    return {truth_[term.headroom], term.need, capacity, term.weight};
  }
  static bool has_capacity(const Term& term) { return term.capacity != 0; }
  bool all_have_capacity() const { return all_have_capacity_; }

  static __int128 free(const Term& term) {
    return static_cast<__int128>(term.headroom) - term.need;
  }
  static __int128 capacity(const Term& term) { return term.capacity; }
  static std::int64_t percent(__int128 amount, const Term& term) {
    constexpr std::int64_t kSmall = std::numeric_limits<std::int64_t>::max() / 100;
    if (term.capacity == 0) {
      return 0;
    }
    if (amount <= kSmall && amount >= -kSmall) {
      return static_cast<std::int64_t>(amount) * 100 / term.capacity;  // several times as fast
    }
    return saturate(amount * 100 / term.capacity);
  }
  static std::int64_t truncated(std::int64_t percent, const Term& /*term*/) { return percent; }

  static __int128 weight(std::int32_t weight) { return weight; }
  static __int128 add(__int128 sum, std::int64_t value, __int128 weight) {
    return sum + value * weight;
  }
  std::int64_t mean(__int128 sum) const { return quotient(sum, score_.weight_sum); }
  static std::int64_t quotient(__int128 sum, __int128 weights) {
    return weights == 0 ? 0 : saturate(sum / weights);
  }
  static std::int64_t halved(std::int64_t number) { return number / 2; }
  static std::int64_t look_up(const std::int8_t* table, std::int64_t percent) {
    return table[percent];
  }

  static double divided(double a, double b) { return a / b; }
  static double root(double a) { return std::sqrt(a); }
  template <bool with_pod>
  static double used(const Term& term) {
    const __int128 requested = capacity(term) - term.headroom + (with_pod ? term.need : 0);
    return term.capacity == 0 ? 0
                              : std::min(static_cast<double>(saturate(requested)) /
                                             static_cast<double>(term.capacity),
                                         1.0);
  }
  static std::int64_t balanced(double deviation, bool /*several*/ = true) {
    // Sums that wrapped (mode Upstream) deviate by more than int64 holds.
    return static_cast<std::int64_t>(std::max((1 - deviation) * 100.0, -0x1p62));
  }

 private:
  const Score& score_;
  const Truth truth_;
  bool all_have_capacity_ = true;
};

}  // namespace

std::int64_t exact_term(const Score& score, std::int64_t headroom, std::int64_t need,
                        std::int64_t capacity) {
  HEADROOM_ASSERT(capacity != 0);
  return with_formula(score, [&](auto formula) {
    Exact with(score, Truth{});
    return formula.of_term(with, Term{headroom, need, capacity, 0}, score);
  });
}

std::int64_t exact_score(const Score& score, const Truth& truth) {
  HEADROOM_ASSERT(score.count <= kScoreTermsMax);
  return with_formula(score, [&](auto formula) {
    Exact with(score, truth);
    return formula(with, score);
  });
}

std::uint32_t exact_code(const Program& program, const Truth& truth) {
  std::uint32_t code = 0;
  for (const FilterTerm& term : program.filter_terms) {
    code |= static_cast<std::uint32_t>(term.need > truth[term.column]) << term.bit;
  }
  return first_rejection(program, code);
}

std::uint32_t first_rejection(const Program& program, std::uint32_t code) {
  for (const FilterPlugin& plugin : program.filter_plugins) {
    const std::uint32_t mine = code & plugin.mask;
    if (mine != 0) {
      return plugin.first_only ? mine & (~mine + 1) : mine;
    }
  }
  return 0;
}

std::int64_t normalize(std::int64_t raw, std::int64_t lo, std::int64_t hi, bool in_double) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 55;
  if (lo == hi) {
    return 0;
  }
  if (in_double) {
    const double range = static_cast<double>(static_cast<__int128>(hi) - lo);
    const double above = static_cast<double>(static_cast<__int128>(raw) - lo);
    return static_cast<std::int64_t>(percent_of_range_in_double(above, range));
  }
  if (lo > -kSmall && hi < kSmall) {
    return percent_of_range(raw - lo, hi - lo);
  }
  return static_cast<std::int64_t>(
      percent_of_range(static_cast<__int128>(raw) - lo, static_cast<__int128>(hi) - lo));
}

std::uint32_t pack_row(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                       std::uint32_t i) {
  std::uint32_t packed = 0;
  bool fits = true;
  for (std::uint32_t n = 0; n < layout.normalized; ++n) {
    const std::int32_t raw = scores.score[n][i];
    fits = fits && raw >= layout.raw_min() && raw <= kPlainScoreMax;
    if (layout.apart == 0) {
      // Modulo 2^32: a raw score that does not fit is never read back.
      const std::uint32_t above =
          static_cast<std::uint32_t>(raw) - static_cast<std::uint32_t>(kNarrowRawMin);
      packed |= (above & kRawMask) << kRawShift;
    }
  }
  for (std::uint32_t s = 0; s < plain; ++s) {
    const auto score = static_cast<std::uint32_t>(scores.score[layout.normalized + s][i]);
    fits = fits && score <= static_cast<std::uint32_t>(kPlainScoreMax);
    packed |= (score & kPlainMask) << (s * kPlainBits);
  }
  return fits ? packed : kWideRow;
}

float round_down(std::int64_t value) {
  if (value == kUnlimited) {
    return std::numeric_limits<float>::infinity();
  }
  const float nearest = static_cast<float>(value);
  // The conversion back saturates nowhere: 2^63 is nearest only to values that it exceeds.
  const bool above = nearest >= 0x1p63F || static_cast<std::int64_t>(nearest) > value;
  if (!above) {
    return nearest;
  }
  // One step towards -infinity; nearest is not 0, as 0 converts exactly.
  const std::int32_t bits = std::bit_cast<std::int32_t>(nearest);
  return std::bit_cast<float>(nearest > 0 ? bits - 1 : bits + 1);
}

float round_up(std::int64_t value) {
  const float nearest = static_cast<float>(value);
  if (nearest >= 0x1p63F || static_cast<std::int64_t>(nearest) >= value) {
    return nearest;
  }
  const std::int32_t bits = std::bit_cast<std::int32_t>(nearest);
  return std::bit_cast<float>(nearest > 0 ? bits + 1 : bits - 1);
}

float percent_scale(std::int64_t capacity) {
  if (capacity < 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return capacity == 0 ? 0.0F : static_cast<float>(100.0 / static_cast<double>(capacity));
}

}  // namespace headroom
