#include "kernels/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headroom {

namespace {

__int128 used(std::int64_t headroom, std::int64_t need, std::int64_t capacity) {
  return static_cast<__int128>(capacity) - headroom + need;
}

std::int64_t saturate(__int128 value) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  constexpr __int128 kMin = std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::clamp(value, kMin, kMax));
}

// kube-scheduler balanced_allocation.go, balancedResourceScorer: doubles, in this order.
std::int64_t balance(const Score& score, const std::int64_t* truth, bool with_pod) {
  double fractions[kScoreTermsMax];
  std::uint32_t count = 0;
  double total = 0;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth[term.capacity];
    if (capacity == 0) {
      continue;
    }
    const std::int64_t requested =
        saturate(used(truth[term.headroom], with_pod ? term.need : 0, capacity));
    const double fraction =
        std::min(static_cast<double>(requested) / static_cast<double>(capacity), 1.0);
    total += fraction;
    fractions[count++] = fraction;
  }
  double deviation = 0;
  if (count == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (count > 2) {
    const double mean = total / count;
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      sum = sum + (fractions[i] - mean) * (fractions[i] - mean);
    }
    deviation = std::sqrt(sum / count);
  }
  // Sums that wrapped (mode Upstream) deviate by more than int64 holds.
  return static_cast<std::int64_t>(std::max((1 - deviation) * 100.0, -0x1p62));
}

// RequestedToCapacityRatio: only scores above 0 enter, rounded half away from zero.
std::int64_t ratio_score(const Score& score, const std::int64_t* truth) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth[term.capacity];
    if (capacity == 0) {
      continue;
    }
    const std::int64_t value = exact_term(score, truth[term.headroom], term.need, capacity);
    if (value > 0) {
      sum += value * term.weight;
      weights += term.weight;
    }
  }
  return weights == 0 ? 0 : std::llround(static_cast<double>(sum) / static_cast<double>(weights));
}

}  // namespace

std::int64_t exact_quotient(std::int64_t headroom, std::int64_t need, std::int64_t capacity) {
  constexpr std::int64_t kSmall = std::numeric_limits<std::int64_t>::max() / 100;
  std::int64_t free = 0;
  if (!__builtin_sub_overflow(headroom, need, &free) && free <= kSmall && free >= -kSmall) {
    return free * 100 / capacity;  // several times as fast
  }
  return saturate((static_cast<__int128>(headroom) - need) * 100 / capacity);
}

std::int64_t exact_term(const Score& score, std::int64_t headroom, std::int64_t need,
                        std::int64_t capacity) {
  switch (score.kind) {
    case ScoreKind::kLeast: {
      const std::int64_t value =
          std::max<std::int64_t>(exact_quotient(headroom, need, capacity), 0);
      return score.at_most_100 ? std::min<std::int64_t>(value, 100) : value;
    }
    case ScoreKind::kMost:
    case ScoreKind::kRatio: {
      const __int128 requested = std::min<__int128>(used(headroom, need, capacity), capacity);
      const std::int64_t utilization = saturate(requested * 100 / capacity);
      return score.kind == ScoreKind::kMost
                 ? utilization
                 : score.ratio_table[std::max<std::int64_t>(utilization, 0)];
    }
    default:
      return exact_quotient(headroom, need, capacity);
  }
}

std::int64_t exact_score(const Score& score, const std::int64_t* truth) {
  switch (score.kind) {
    case ScoreKind::kBalanced:
      return balance(score, truth, true);
    case ScoreKind::kBalancedChange:
      return 50 + (50 + balance(score, truth, true) - balance(score, truth, false)) / 2;
    case ScoreKind::kRatio:
      return ratio_score(score, truth);
    default:
      break;
  }
  __int128 sum = 0;
  std::int64_t weights = 0;
  std::int64_t dominant = 100;
  bool any = false;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth[term.capacity];
    if (capacity == 0 && !score.zero_capacity_counts) {
      continue;
    }
    const std::int64_t value =
        capacity == 0 ? 0 : exact_term(score, truth[term.headroom], term.need, capacity);
    sum += static_cast<__int128>(value) * term.weight;
    weights += term.weight;
    dominant = std::min(dominant, value);
    any = true;
  }
  if (score.dominant_weight != 0 && any) {
    sum += static_cast<__int128>(dominant) * score.dominant_weight;
    weights += score.dominant_weight;
  }
  return weights == 0 ? 0 : saturate(sum / weights);
}

std::uint32_t exact_code(const Program& program, const std::int64_t* truth) {
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
    return static_cast<std::int64_t>(100.0 * (above / range));
  }
  if (lo > -kSmall && hi < kSmall) {
    return (raw - lo) * 100 / (hi - lo);
  }
  return static_cast<std::int64_t>((static_cast<__int128>(raw) - lo) * 100 /
                                   (static_cast<__int128>(hi) - lo));
}

std::uint32_t pack_row(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                       std::uint32_t i) {
  std::uint32_t packed = 0;
  bool fits = true;
  for (std::uint32_t n = 0; n < layout.normalized; ++n) {
    fits = fits && scores.score[n][i] >= kRawMin && scores.score[n][i] <= kPlainScoreMax;
  }
  for (std::uint32_t s = 0; s < plain; ++s) {
    const auto score = static_cast<std::uint32_t>(scores.score[layout.normalized + s][i]);
    fits = fits && score <= static_cast<std::uint32_t>(kPlainScoreMax);
    packed |= (score & 0xFF) << (8 * s);
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
