// Scores by float32, with a bound of the error: what is certain is the answer, what is not is in
// doubt.
//
// With H = 100 * headroom / capacity and N = 100 * need / capacity the answer is trunc(H - N). The
// roundings of headroom (2^-23, downwards), scale, need, product and difference (2^-24 each) leave
// an error below 2^-23 * (2 * |H| + 2 * |N|) + 2^-24 * |H - N| < kError * (|H| + |N|).
// Where only answers above 0 matter, either N <= 2 * H, and the error is below 2 * kError * H, or
// H - N is below 0 by more than the error.
#include "kernels/block.h"

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

struct Term {
  const float* headroom;
  const float* scale;
  Float need, weight;
  bool small_need;
};

Term resolve(const Block& block, const ScoreTerm& term) {
  return {block.narrow(term.headroom), block.narrow(term.capacity), Float(term.need_nearest),
          Float(static_cast<float>(term.weight)), term.need < kSmallMax};
}

// The answer before truncation lies in [low, high].
struct Range {
  Float low, high;
};

template <ScoreKind kind>
Range estimate(const Term& term, std::uint32_t i, Float scale) {
  const Float all = Float::load_unaligned(term.headroom + i) * scale;
  const Float free = fnma(term.need, scale, all);
  if constexpr (kind == ScoreKind::kSigned) {
    const Float magnitude = fma(term.need, scale, xsimd::abs(all));
    return {fnma(magnitude, Float(kError), free), fma(magnitude, Float(kError), free)};
  } else if constexpr (kind == ScoreKind::kMost || kind == ScoreKind::kRatio) {
    // used = capacity - free, at most the capacity
    const Float used = Float(100.0F) - free;
    const Float magnitude = fma(term.need, scale, xsimd::abs(all)) + Float(100.0F);
    return {xsimd::min(fnma(magnitude, Float(kError), used), Float(100.0F)),
            xsimd::min(fma(magnitude, Float(kError), used), Float(100.0F))};
  } else {
    return {xsimd::max(fnma(all, Float(2 * kError), free), Float(0.0F)),
            xsimd::max(fma(all, Float(2 * kError), free), Float(0.0F))};
  }
}

template <ScoreKind kind>
FloatMask truncates_apart(const Range& range, Float value) {
  // Not !=, which is false for NaN on some instruction sets.
  return kind == ScoreKind::kLeast ? range.low < value : !(xsimd::trunc(range.low) == value);
}

// Settles lanes in doubt whose numbers are small by the remainder, in whole numbers; what is left
// in doubt keeps its value.
template <ScoreKind kind>
void settle(const Term& term, std::uint32_t i, Float scale, const Range& range, Float& value,
            FloatMask& doubt) {
  const Float small(static_cast<float>(kSmallMax));
  const Float headroom = Float::load_unaligned(term.headroom + i);
  const Float capacity = xsimd::nearbyint(Float(100.0F) / scale);
  Float amount = headroom - term.need;
  if constexpr (kind == ScoreKind::kMost || kind == ScoreKind::kRatio) {
    amount = xsimd::min(capacity - amount, capacity);
  }
  const FloatMask settled = doubt && FloatMask(term.small_need) &&
                            capacity < Float(static_cast<float>(kSmallCapacityMax)) &&
                            xsimd::abs(headroom) < small && xsimd::abs(amount) < small &&
                            range.high - range.low < Float(0.5F);
  // The greatest whole number that is not above the quotient is this or the next below.
  const Int above = xsimd::to_int(xsimd::floor(range.high));
  const Int rest = xsimd::to_int(amount) * Int(100) - above * xsimd::to_int(capacity);
  Int whole = above - xsimd::select(rest < Int(0), Int(1), Int(0));
  if constexpr (kind == ScoreKind::kLeast) {
    whole = xsimd::max(whole, Int(0));
  } else {
    // Negative quotients are truncated upwards.
    const IntMask is_whole = rest == Int(0) || rest == Int(0) - xsimd::to_int(capacity);
    whole = whole + xsimd::select(whole < Int(0) && !is_whole, Int(1), Int(0));
  }
  value = xsimd::select(settled, xsimd::to_float(whole), value);
  doubt = doubt && !settled;
}

// Weighted mean of the terms. `fixed_count` is score.count where that is small, else 0.
template <ScoreKind kind, std::uint32_t fixed_count, bool dominant, bool at_most_100>
RowBits mean_scores(const Block& block, const Score& score, std::int32_t* out) {
  const std::uint32_t count = fixed_count != 0 ? fixed_count : score.count;
  Term terms[fixed_count != 0 ? fixed_count : kScoreTermsMax];
  for (std::uint32_t t = 0; t < count; ++t) {
    terms[t] = resolve(block, score.terms[t]);
  }
  const Float reciprocal(kRaise / static_cast<float>(std::max(score.weight_sum, 1)));
  const Float dominant_weight(static_cast<float>(score.dominant_weight));
  RowBits doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kLanes) {
    Float sum(0.0F);
    Float least_scale(1000.0F);
    Float least_value(100.0F);
    FloatMask doubt(false);
    for (std::uint32_t t = 0; t < count; ++t) {
      const Float scale = Float::load_unaligned(terms[t].scale + i);
      Range range = estimate<kind>(terms[t], i, scale);
      if constexpr (at_most_100) {
        range = {xsimd::min(range.low, Float(100.0F)), xsimd::min(range.high, Float(100.0F))};
      }
      Float value = xsimd::trunc(range.high);
      FloatMask apart = truncates_apart<kind>(range, value);
      if (bits(apart) != 0) {
        settle<kind>(terms[t], i, scale, range, value, apart);
      }
      doubt = doubt | apart;
      if constexpr (kind == ScoreKind::kMost) {
        value = xsimd::select(scale == Float(0.0F), Float(0.0F), value);
      }
      least_scale = xsimd::min(least_scale, scale);
      if constexpr (kind == ScoreKind::kSigned) {
        doubt = doubt | (xsimd::abs(value) * terms[t].weight >= Float(kTermMax));
      }
      sum = fma(value, terms[t].weight, sum);
      if constexpr (dominant) {
        const FloatMask drops = scale == Float(0.0F) && FloatMask(!score.zero_capacity_counts);
        least_value = xsimd::select(drops, least_value, xsimd::min(least_value, value));
      }
    }
    if constexpr (dominant) {
      sum = fma(least_value, dominant_weight, sum);
    }
    Float mean = xsimd::trunc(sum * reciprocal);
    if (!score.zero_capacity_counts && bits(least_scale == Float(0.0F)) != 0) {
      // Weights of resources without capacity drop out, row by row.
      Float weights(0.0F);
      FloatMask any(false);
      for (std::uint32_t t = 0; t < count; ++t) {
        const FloatMask has = !(Float::load_unaligned(terms[t].scale + i) == Float(0.0F));
        any = any | has;
        weights = weights + xsimd::select(has, terms[t].weight, Float(0.0F));
      }
      if constexpr (dominant) {
        weights = weights + xsimd::select(any, dominant_weight, Float(0.0F));
        sum = xsimd::select(any, sum, Float(0.0F));
      }
      const FloatMask none = weights == Float(0.0F);
      mean = xsimd::select(none, Float(0.0F),
                           xsimd::trunc(sum / xsimd::select(none, Float(1.0F), weights)));
    }
    if constexpr (kind == ScoreKind::kSigned || !at_most_100) {
      doubt = doubt | (xsimd::abs(sum) >= Float(kSumMax));
    }
    xsimd::to_int(mean).store_unaligned(out + i);
    doubtful.set(i, bits(doubt));
  }
  return doubtful;
}

template <ScoreKind kind, bool at_most_100>
RowBits mean_scores(const Block& block, const Score& score, std::int32_t* out) {
  if (score.count == 0) {
    std::fill_n(out, block.count, 0);
    return {};
  }
  if (score.dominant_weight != 0) {
    return mean_scores<kind, 0, true, at_most_100>(block, score, out);
  }
  switch (score.count) {
    case 1:
      return mean_scores<kind, 1, false, at_most_100>(block, score, out);
    case 2:
      return mean_scores<kind, 2, false, at_most_100>(block, score, out);
    default:
      return mean_scores<kind, 0, false, at_most_100>(block, score, out);
  }
}

// Utilizations go through the table one row at a time, between two vector passes.
RowBits ratio_scores(const Block& block, const Score& score, std::int32_t* out) {
  alignas(64) float sum[kBlockNodes + kPadNodes] = {};
  alignas(64) float weights[kBlockNodes + kPadNodes] = {};
  alignas(64) std::int32_t utilization[kBlockNodes + kPadNodes];
  RowBits doubtful;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const Term term = resolve(block, score.terms[t]);
    RowBits doubtful_here;
    for (std::uint32_t i = 0; i < block.count; i += kLanes) {
      const Float scale = Float::load_unaligned(term.scale + i);
      const Range range = estimate<ScoreKind::kRatio>(term, i, scale);
      const FloatMask has = !(scale == Float(0.0F));
      Float value = xsimd::max(xsimd::trunc(range.high), Float(0.0F));
      FloatMask doubt = truncates_apart<ScoreKind::kRatio>(range, value) && has;
      if (bits(doubt) != 0) {
        settle<ScoreKind::kRatio>(term, i, scale, range, value, doubt);
        value = xsimd::max(value, Float(0.0F));
      }
      xsimd::to_int(xsimd::select(has, value, Float(-1.0F))).store_unaligned(utilization + i);
      doubtful_here.set(i, bits(doubt));
    }
    doubtful.unite(doubtful_here);
    for (std::uint32_t i = 0; i < block.count; ++i) {
      const int value = utilization[i] < 0 ? 0 : score.ratio_table[utilization[i]];
      sum[i] += static_cast<float>(value * score.terms[t].weight);
      weights[i] += static_cast<float>(value > 0 ? score.terms[t].weight : 0);
    }
  }
  for (std::uint32_t i = 0; i < block.count; ++i) {
    // Rounds half up. Sums stay below 100 * 64 * 100, so every step is exact but the division,
    // which cannot round up to the next whole number.
    const float mean = weights[i] == 0 ? 0 : (2 * sum[i] + weights[i]) / (2 * weights[i]);
    out[i] = static_cast<std::int32_t>(mean);
  }
  return doubtful;
}

// 100 * (1 - |f0 - f1| / 2) of two resources: the fractions are 1 - free / capacity, at most 1.
template <bool with_pod>
RowBits balanced_pair(const Block& block, const Score& score, std::int32_t* out) {
  const Term first = resolve(block, score.terms[0]);
  const Term second = resolve(block, score.terms[1]);
  RowBits doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kLanes) {
    Float magnitude(200.0F);
    const auto free = [&](const Term& term, Float scale) {
      const Float all = Float::load_unaligned(term.headroom + i) * scale;
      magnitude = magnitude + xsimd::abs(all);
      if constexpr (with_pod) {
        const Float need = term.need * scale;
        magnitude = magnitude + need;
        return xsimd::max(all - need, Float(0.0F));
      } else {
        return xsimd::max(all, Float(0.0F));
      }
    };
    const Float scale0 = Float::load_unaligned(first.scale + i);
    const Float scale1 = Float::load_unaligned(second.scale + i);
    const Float free0 = free(first, scale0), free1 = free(second, scale1);
    const Float value = fnma(xsimd::abs(free0 - free1), Float(0.5F), Float(100.0F));
    const Float high = xsimd::trunc(fma(magnitude, Float(kError), value));
    const Float low = fnma(magnitude, Float(kError), value);
    xsimd::to_int(high).store_unaligned(out + i);
    doubtful.set(i, bits(low < high || xsimd::min(scale0, scale1) == Float(0.0F)));
  }
  return doubtful;
}

// The same of more resources: 100 less the standard deviation of 100 * fraction. With every
// fraction it moves by no more than the greatest of their errors. The sums of its own add a
// relative error below 2^-23 a term. A resource without capacity drops out; one alone deviates by
// nothing.
template <bool with_pod>
RowBits balanced_many(const Block& block, const Score& score, std::int32_t* out) {
  Term terms[kScoreTermsMax];
  for (std::uint32_t t = 0; t < score.count; ++t) {
    terms[t] = resolve(block, score.terms[t]);
  }
  const Float relative_error(kError * static_cast<float>(2 + score.count));
  const Float zero(0.0F), one(1.0F), hundred(100.0F);
  RowBits doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kLanes) {
    Float used[kScoreTermsMax];
    Float total(0.0F), resources(0.0F), magnitude(0.0F);
    for (std::uint32_t t = 0; t < score.count; ++t) {
      const Float scale = Float::load_unaligned(terms[t].scale + i);
      const Float all = Float::load_unaligned(terms[t].headroom + i) * scale;
      const Float need = with_pod ? terms[t].need * scale : zero;
      const FloatMask has = !(scale == zero);
      used[t] = xsimd::min(hundred - (all - need), hundred);
      total = total + xsimd::select(has, used[t], zero);
      resources = resources + xsimd::select(has, one, zero);
      magnitude = xsimd::max(xsimd::abs(all) + need, magnitude);
    }
    const Float divisor = xsimd::max(resources, one);
    const Float mean = total / divisor;
    Float squares(0.0F);
    for (std::uint32_t t = 0; t < score.count; ++t) {
      const FloatMask has = !(Float::load_unaligned(terms[t].scale + i) == zero);
      const Float off = used[t] - mean;
      squares = squares + xsimd::select(has, off * off, zero);
    }
    const Float value = hundred - xsimd::sqrt(squares / divisor);
    const Float error = (magnitude + hundred) * relative_error;
    const FloatMask several = resources > one;
    const Float high = xsimd::trunc(xsimd::min(value + error, hundred));
    xsimd::to_int(xsimd::select(several, high, hundred)).store_unaligned(out + i);
    doubtful.set(i, bits(several && !(value - error >= high)));
  }
  return doubtful;
}

template <bool with_pod>
RowBits balanced_scores(const Block& block, const Score& score, std::int32_t* out) {
  return score.count == 2 ? balanced_pair<with_pod>(block, score, out)
                          : balanced_many<with_pod>(block, score, out);
}

}  // namespace

RowBits estimate_scores(const Block& block, const Score& score, std::int32_t* out) {
  switch (score.kind) {
    case ScoreKind::kSigned:
      return mean_scores<ScoreKind::kSigned, false>(block, score, out);
    case ScoreKind::kLeast:
      return score.at_most_100 ? mean_scores<ScoreKind::kLeast, true>(block, score, out)
                               : mean_scores<ScoreKind::kLeast, false>(block, score, out);
    case ScoreKind::kMost:
      return mean_scores<ScoreKind::kMost, false>(block, score, out);
    case ScoreKind::kRatio:
      return ratio_scores(block, score, out);
    case ScoreKind::kBalanced:
      return balanced_scores<true>(block, score, out);
    case ScoreKind::kBalancedChange: {
      std::int32_t without[kBlockNodes + kPadNodes] = {};
      RowBits doubtful = balanced_scores<true>(block, score, out);
      doubtful.unite(balanced_scores<false>(block, score, without));
      for (std::uint32_t i = 0; i < block.count; ++i) {
        out[i] = change_of_balance(out[i], without[i]);
      }
      return doubtful;
    }
  }
  return everything(block.count);
}

}  // namespace headroom::HEADROOM_ISA
