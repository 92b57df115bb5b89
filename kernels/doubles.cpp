// Scores by doubles: whole blocks of contiguous rows of which float32 leaves many in doubt.
#include "kernels/block.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Rows for which every |value| stays below this are exact in doubles after times 100; the others
// are left to exact_score().
constexpr std::int64_t kDoubleMax = std::int64_t{1} << 46;

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

struct Truth {
  Double headroom, capacity;
  DoubleMask in_range;
};

Truth load_truth(const Block& block, const ScoreTerm& term, std::uint32_t i) {
  const Long headroom = gather(block.truth(i) + term.headroom, block.columns.truth_stride);
  const Long capacity = gather(block.truth(i) + term.capacity, block.columns.truth_stride);
  const Double h = to_double(headroom), c = to_double(capacity);
  const Double limit(static_cast<double>(kDoubleMax));
  // Out of range the conversion gives some other number: compare whole numbers, not that.
  const Long max(kDoubleMax), min(-kDoubleMax);
  const auto in_range = (headroom < max) && (headroom > min) && (capacity < max) && (capacity >= 0);
  return {h, c, xsimd::bool_cast(in_range)};
}

bool need_in_range(const Score& score) {
  return std::all_of(score.terms, score.terms + score.count, [](const ScoreTerm& term) {
    return term.need < kDoubleMax && term.need > -kDoubleMax;
  });
}

// Stores `values` of the lanes that are in range; marks the others.
void store_in_range(Double values, DoubleMask in_range, std::uint32_t i, std::int32_t* out,
                    RowBits& left) {
  std::int32_t lanes[kDoubleLanes];
  store_truncated(values, lanes);
  const std::uint32_t good = bits(in_range);
  for (std::uint32_t lane = 0; lane < kDoubleLanes; ++lane) {
    if ((good >> lane & 1) != 0) {
      out[i + lane] = lanes[lane];
    } else {
      left.set_row(i + lane);
    }
  }
}

// Overwrites out[] of every row but those returned.
RowBits mean_in_doubles(const Block& block, const Score& score, std::int32_t* out) {
  RowBits left;
  const Double zero(0.0);
  for (std::uint32_t i = 0; i < block.count; i += kDoubleLanes) {
    Double sum(0.0), weights(0.0), least(100.0);
    DoubleMask in_range(true), any(false);
    for (std::uint32_t t = 0; t < score.count; ++t) {
      const ScoreTerm& term = score.terms[t];
      const Truth truth = load_truth(block, term, i);
      in_range = in_range && truth.in_range;
      const DoubleMask has = truth.capacity > zero;
      const DoubleMask counts = has || DoubleMask(score.zero_capacity_counts);
      const Double free = truth.headroom - Double(static_cast<double>(term.need));
      Double value;
      if (score.kind == ScoreKind::kMost) {
        const Double used = xsimd::min(truth.capacity - free, truth.capacity);
        value = xsimd::trunc(used * Double(100.0) / truth.capacity);
      } else {
        value = xsimd::trunc(free * Double(100.0) / truth.capacity);
      }
      if (score.kind == ScoreKind::kLeast) {
        value = xsimd::max(value, zero);
        value = score.at_most_100 ? xsimd::min(value, Double(100.0)) : value;
      }
      value = xsimd::select(has, value, zero);
      const Double weight(static_cast<double>(term.weight));
      sum = sum + value * weight;
      weights = weights + xsimd::select(counts, weight, zero);
      least = xsimd::select(counts, xsimd::min(least, value), least);
      any = any || counts;
    }
    const Double dominant(static_cast<double>(score.dominant_weight));
    sum = sum + xsimd::select(any, least * dominant, zero);
    weights = weights + xsimd::select(any, dominant, zero);
    const DoubleMask weighs = weights > zero;
    const Double mean = xsimd::select(
        weighs, xsimd::trunc(sum / xsimd::select(weighs, weights, Double(1.0))), zero);
    in_range = in_range && (xsimd::abs(sum) < Double(1 << 30));
    store_in_range(mean, in_range, i, out, left);
  }
  return left;
}

// kube-scheduler's doubles, in its order. Resources without capacity drop out.
RowBits balance_in_doubles(const Block& block, const Score& score, bool with_pod,
                           std::int32_t* out) {
  RowBits left;
  const std::uint32_t count = score.count;
  const Double zero(0.0), one(1.0);
  for (std::uint32_t i = 0; i < block.count; i += kDoubleLanes) {
    Double fraction[kScoreTermsMax];
    DoubleMask has[kScoreTermsMax];
    Double total(0.0), resources(0.0), least(1.0), most(-1e300);
    DoubleMask in_range(true);
    for (std::uint32_t t = 0; t < count; ++t) {
      const ScoreTerm& term = score.terms[t];
      const Truth truth = load_truth(block, term, i);
      in_range = in_range && truth.in_range;
      has[t] = truth.capacity > zero;
      const Double need(with_pod ? static_cast<double>(term.need) : 0.0);
      const Double used = truth.capacity - truth.headroom + need;
      fraction[t] = xsimd::min(used / xsimd::select(has[t], truth.capacity, one), one);
      total = total + xsimd::select(has[t], fraction[t], zero);
      resources = resources + xsimd::select(has[t], one, zero);
      least = xsimd::select(has[t], xsimd::min(least, fraction[t]), least);
      most = xsimd::select(has[t], xsimd::max(most, fraction[t]), most);
    }
    const Double divisor = xsimd::max(resources, one);
    const Double mean = total / divisor;
    Double sum(0.0);
    for (std::uint32_t t = 0; t < count; ++t) {
      const Double off = fraction[t] - mean;
      sum = sum + xsimd::select(has[t], off * off, zero);
    }
    // Of two fractions the distance is halved, be they first and second or not.
    Double deviation = xsimd::sqrt(sum / divisor);
    deviation = xsimd::select(resources == Double(2.0), (most - least) / Double(2.0), deviation);
    deviation = xsimd::select(resources > one, deviation, zero);
    store_in_range((one - deviation) * Double(100.0), in_range, i, out, left);
  }
  return left;
}

}  // namespace

RowBits in_doubles(const Block& block, const Score& score, std::int32_t* out) {
  if (!need_in_range(score) || score.kind == ScoreKind::kRatio) {
    return everything(block.count);
  }
  if (score.kind == ScoreKind::kBalanced) {
    return balance_in_doubles(block, score, true, out);
  }
  if (score.kind == ScoreKind::kBalancedChange) {
    std::int32_t without[kBlockNodes + kPadNodes] = {};
    RowBits left = balance_in_doubles(block, score, true, out);
    balance_in_doubles(block, score, false, without);
    for (std::uint32_t i = 0; i < block.count; ++i) {
      out[i] = change_of_balance(out[i], without[i]);
    }
    return left;
  }
  return mean_in_doubles(block, score, out);
}

}  // namespace headroom::HEADROOM_ISA
