// The formula of each kind of score, written once, over an arithmetic:
//
//   Estimates    estimate.cpp   vectors of float32 ranges; what a range leaves open is in doubt
//   Remainders   estimate.cpp   vectors of whole numbers of 24 bits: settle most of those doubts
//   Doubles      doubles.cpp    vectors of float64, exact below 2^53: settle the others
//   Exact        exact.cpp      int64 and __int128, a row at a time: what the others must equal
//
// They differ in how a number is held and how it is known to be right; no formula stands in any of
// them. An arithmetic stands at one row, or at a vector of rows. Formulas ask of it:
//
//   Number, Sum, Fraction    results, weighted sums of results, doubles; or vectors of each
//   Term                     a term at these rows; its `weight` is a Sum
//   count(), kTermsMax       how many terms the score has, and how many it may have
//   term(t)                  reads a term's headroom and capacity
//   has_capacity(term)       a mask; all_have_capacity(): of all terms read, at all these rows
//   free(term)               headroom - need, and capacity(term), both in a unit of its choice
//   percent(amount, term)    100 * amount / capacity; 0 without capacity
//   truncated(percent, term) as a Number; Remainders and Exact truncate where they divide
//   weight(w)                a weight as a Sum
//   add(sum, value, weight)  sum + value * weight
//   mean(sum)                trunc(sum / weight_sum) of the score
//   quotient(sum, weights)   trunc(sum / weights); 0 where weights are 0
//   halved(number)           trunc(number / 2)
//   look_up(table, percent)  table[percent]
//   divided(a, b), root(a)   of Fractions: a / b and the square root
//   used<with_pod>(term)     the fraction that is used, at most 1; may count from another zero
//   balanced(deviation)      trunc(100 * (1 - deviation)); a second argument is a mask that is not
//                            set where the deviation is 0 for certain
//
// Remainders know one percentage only. What stands twice all the same, for vectors and in exact.h
// for a row, has no arithmetic to share: filters (a comparison with a rounded need that rules rows
// out) and packing (the words of a line). Totals estimate the normalised score by a raised
// reciprocal. Pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"

namespace headroom {

// What xsimd has for vectors, for one row.
inline bool any(bool mask) { return mask; }
template <typename Number>
Number select(bool mask, const Number& then, const Number& otherwise) {
  return mask ? then : otherwise;
}

// How many percent of a resource are free, or used.
template <ScoreKind kind, bool at_most_100, typename Arithmetic, typename Term>
typename Arithmetic::Number percentage(Arithmetic& with, const Term& term) {
  using std::max, std::min;
  auto amount = with.free(term);
  if constexpr (kind == ScoreKind::kMost || kind == ScoreKind::kRatio) {
    const auto capacity = with.capacity(term);
    amount = min(capacity - amount, capacity);
  }
  auto percent = with.percent(amount, term);
  using Percent = decltype(percent);
  if constexpr (kind == ScoreKind::kLeast || kind == ScoreKind::kRatio) {
    percent = max(percent, Percent(0));
  }
  if constexpr (at_most_100) {
    percent = min(percent, Percent(100));
  }
  return with.truncated(percent, term);
}

// The weighted mean of what counts, and of the least of it (the dominant resource).
template <ScoreKind kind, bool at_most_100, bool dominant>
struct Mean {
  static constexpr ScoreKind kKind = kind;
  static constexpr bool kAtMost100 = at_most_100, kDominant = dominant;

  template <typename Arithmetic, typename Term>
  static auto of_term(Arithmetic& with, const Term& term, const Score& /*score*/) {
    return percentage<kind, at_most_100>(with, term);
  }

  template <typename Arithmetic>
  auto operator()(Arithmetic& with, const Score& score) const {
    using std::min;
    using Number = typename Arithmetic::Number;
    using Sum = typename Arithmetic::Sum;
    Sum sum(0);
    Number least(100);
    for (std::uint32_t t = 0; t < with.count(); ++t) {
      const auto term = with.term(t);
      const Number value = of_term(with, term, score);
      sum = with.add(sum, value, term.weight);
      if constexpr (dominant) {
        const Number lower = min(least, value);
        least = score.zero_capacity_counts ? lower : select(with.has_capacity(term), lower, least);
      }
    }
    const Sum dominant_weight = with.weight(with.count() == 0 ? 0 : score.dominant_weight);
    if constexpr (dominant) {
      sum = with.add(sum, least, dominant_weight);
    }
    if (score.zero_capacity_counts || with.all_have_capacity()) [[likely]] {
      return with.mean(sum);
    }
    // The weights of resources without capacity drop out, row by row.
    Sum weights(0);
    auto some = with.has_capacity(with.term(0));
    for (std::uint32_t t = 0; t < with.count(); ++t) {
      const auto term = with.term(t);
      some = some | with.has_capacity(term);
      weights = weights + select(with.has_capacity(term), term.weight, Sum(0));
    }
    if constexpr (dominant) {
      weights = weights + select(some, dominant_weight, Sum(0));
    }
    return with.quotient(sum, weights);
  }
};

// RequestedToCapacityRatio: what is used goes through the table; only scores above 0 enter the
// mean, which is rounded half up.
struct RatioMean {
  static constexpr ScoreKind kKind = ScoreKind::kRatio;
  static constexpr bool kAtMost100 = false, kDominant = false;

  template <typename Arithmetic, typename Term>
  static auto of_term(Arithmetic& with, const Term& term, const Score& score) {
    using Number = typename Arithmetic::Number;
    const Number used = percentage<kKind, kAtMost100>(with, term);
    return select(with.has_capacity(term), with.look_up(score.ratio_table, used), Number(0));
  }

  template <typename Arithmetic>
  auto operator()(Arithmetic& with, const Score& score) const {
    using Number = typename Arithmetic::Number;
    using Sum = typename Arithmetic::Sum;
    Sum sum(0), weights(0);
    for (std::uint32_t t = 0; t < with.count(); ++t) {
      const auto term = with.term(t);
      const Number value = of_term(with, term, score);
      sum = with.add(sum, value, term.weight);
      weights = weights + select(value > Number(0), term.weight, Sum(0));
    }
    return with.quotient(sum + sum + weights, weights + weights);
  }
};

// kube-scheduler balanced_allocation.go, balancedResourceScorer: doubles, in this order. 100 less
// the standard deviation of what is used; resources without capacity drop out.
template <bool with_pod, typename Arithmetic>
auto balance(Arithmetic& with) {
  using std::abs, std::max, std::min;
  using Fraction = typename Arithmetic::Fraction;
  Fraction used[Arithmetic::kTermsMax];
  using Mask = decltype(with.has_capacity(with.term(0)));
  Mask has[Arithmetic::kTermsMax];
  for (std::uint32_t t = 0; t < with.count(); ++t) {
    const auto term = with.term(t);
    has[t] = with.has_capacity(term);
    used[t] = with.template used<with_pod>(term);
  }
  const Fraction zero(0), one(1);
  if constexpr (Arithmetic::kTermsMax > 1) {
    if (with.count() == 2 && with.all_have_capacity()) [[likely]] {
      return with.balanced(abs(used[0] - used[1]) * Fraction(0.5F));
    }
  }
  Fraction total(0), resources(0), squares(0);
  const bool all = with.all_have_capacity();
  const auto add = [&](Fraction& sum, std::uint32_t t, const Fraction& value) {
    sum = sum + (all ? value : select(has[t], value, zero));
  };
  for (std::uint32_t t = 0; t < with.count(); ++t) {
    add(total, t, used[t]);
    add(resources, t, one);
  }
  const Fraction divisor = max(resources, one);
  const Fraction mean = with.divided(total, divisor);
  for (std::uint32_t t = 0; t < with.count(); ++t) {
    const Fraction off = used[t] - mean;
    add(squares, t, off * off);
  }
  Fraction deviation = with.root(with.divided(squares, divisor));
  const auto two = resources == Fraction(2);
  if (any(two)) [[unlikely]] {
    // Of two the distance is halved, be they first and second or not.
    Fraction low(HUGE_VALF), high(-HUGE_VALF);
    for (std::uint32_t t = 0; t < with.count(); ++t) {
      low = select(has[t], min(low, used[t]), low);
      high = select(has[t], max(high, used[t]), high);
    }
    deviation = select(two, (high - low) * Fraction(0.5F), deviation);
  }
  return with.balanced(deviation, resources > one);
}

struct Balance {
  static constexpr ScoreKind kKind = ScoreKind::kBalanced;
  static constexpr bool kAtMost100 = false, kDominant = false;

  template <typename Arithmetic, typename Term>
  static auto of_term(Arithmetic& with, const Term& term, const Score& /*score*/) {
    return percentage<ScoreKind::kMost, false>(with, term);
  }

  template <typename Arithmetic>
  auto operator()(Arithmetic& with, const Score& /*score*/) const {
    return balance<true>(with);
  }
};

// Kubernetes 1.36 and later: what a pod changes of the balance.
struct ChangeOfBalance : Balance {
  static constexpr ScoreKind kKind = ScoreKind::kBalancedChange;

  template <typename Arithmetic>
  auto operator()(Arithmetic& with, const Score& /*score*/) const {
    using Number = typename Arithmetic::Number;
    const Number with_pod = balance<true>(with), without = balance<false>(with);
    return Number(50) + with.halved(Number(50) + with_pod - without);
  }
};

// A score normalised to [0, 100], before truncation: raw - lo of hi - lo > 0.
template <typename Number>
Number percent_of_range(Number above, Number range) {
  return above * 100 / range;
}
// As koordinator's LimitAware has it.
inline double percent_of_range_in_double(double above, double range) {
  return 100.0 * (above / range);
}

// Calls visit(formula) with the formula of such a score: formula(with, score) computes it, and
// formula.of_term(with, term, score) what explain() shows of one resource.
template <typename Visit>
auto with_formula(const Score& score, Visit visit) {
  const auto mean = [&]<ScoreKind kind, bool at_most_100>() {
    return score.dominant_weight != 0 ? visit(Mean<kind, at_most_100, true>())
                                      : visit(Mean<kind, at_most_100, false>());
  };
  switch (score.kind) {
    case ScoreKind::kSigned:
      return mean.template operator()<ScoreKind::kSigned, false>();
    case ScoreKind::kLeast:
      return score.at_most_100 ? mean.template operator()<ScoreKind::kLeast, true>()
                               : mean.template operator()<ScoreKind::kLeast, false>();
    case ScoreKind::kMost:
      return mean.template operator()<ScoreKind::kMost, false>();
    case ScoreKind::kRatio:
      return visit(RatioMean());
    case ScoreKind::kBalanced:
      return visit(Balance());
    case ScoreKind::kBalancedChange:
      break;
  }
  return visit(ChangeOfBalance());
}

}  // namespace headroom
