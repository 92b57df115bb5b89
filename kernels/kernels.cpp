// The kernels, compiled once per instruction set (HEADROOM_ISA names the namespace).
#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/exact.h"
#include "kernels/simd.h"

#define HEADROOM_STRING2(name) #name
#define HEADROOM_STRING(name) HEADROOM_STRING2(name)

namespace headroom::HEADROOM_ISA {

namespace {

static_assert(kPadNodes % kLanes == 0 && kLineNodes <= kPadNodes);

constexpr std::uint32_t kWords = (kBlockNodes + 63) / 64;
// Vectors that the filters take at once, to read each term's pointer and need less often.
constexpr std::uint32_t kFilterVectors = kPadNodes / kLanes;
// More doubtful rows than this in a block: compute the block in doubles rather than row by row.
constexpr int kDoubtfulRowsMax = 6;

// A bit per row of a block. Vectors of the last word may reach beyond the block: keep() cuts them
// off.
struct RowBits {
  std::uint64_t words[kWords] = {};

  void set(std::uint32_t first, std::uint32_t lanes) {
    if constexpr (kLanes == 8) {
      const auto byte = static_cast<std::uint8_t>(lanes);
      std::memcpy(reinterpret_cast<char*>(words) + first / 8, &byte, sizeof(byte));
    } else if constexpr (kLanes == 16) {
      const auto half = static_cast<std::uint16_t>(lanes);
      std::memcpy(reinterpret_cast<char*>(words) + first / 8, &half, sizeof(half));
    } else {
      words[first / 64] |= std::uint64_t{lanes} << (first % 64);
    }
  }
  void set_row(std::uint32_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  void clear_row(std::uint32_t i) { words[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  // Drops bits at and beyond `count`.
  void keep(std::uint32_t count) {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      const std::uint32_t begin = w * 64;
      if (count < begin + 64) {
        words[w] &= count <= begin ? 0 : ~std::uint64_t{0} >> (64 - (count - begin));
      }
    }
  }
  void intersect(const RowBits& other) {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      words[w] &= other.words[w];
    }
  }
  void unite(const RowBits& other) {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      words[w] |= other.words[w];
    }
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t w = 0; w < kWords; ++w) {
      for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
        visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
  }
  int count() const {
    int total = 0;
    for (const std::uint64_t word : words) {
      total += std::popcount(word);
    }
    return total;
  }
};

struct Block {
  const Columns& columns;
  std::uint32_t first, count;

  const float* narrow(std::uint32_t column) const { return columns.narrow[column] + first; }
  const std::int64_t* truth(std::uint32_t i) const {
    return columns.truth_of(columns.rows != nullptr ? columns.rows[first + i] : first + i);
  }
};

// --- Filters ---

// The codes of rows [i, i + kLanes) by class, 0 beyond the block.
Int class_codes(const Block& block, const Program& program, std::uint32_t i) {
  const std::uint32_t* classes = block.columns.node_class + block.first + i;
  if (i + kLanes <= block.count) {
    return look_up(program.class_code,
                   Int::load_unaligned(reinterpret_cast<const std::int32_t*>(classes)));
  }
  std::int32_t codes[kLanes] = {};
  for (std::uint32_t lane = 0; i + lane < block.count; ++lane) {
    codes[lane] = static_cast<std::int32_t>(program.class_code[classes[lane]]);
  }
  return Int::load_unaligned(codes);
}

struct Comparison {
  const float* headroom;
  Float need;
  Int bit;  // the term's, in every lane
};

RowBits filter(const Block& block, const Program& program, BlockScores& out) {
  Comparison surely_short[kFilterTermsMax];
  const FilterTerm* maybe_short[kFilterTermsMax];
  std::uint32_t terms = 0, maybe_terms = 0;
  for (const FilterTerm& term : program.filter_terms) {
    const float* headroom = block.narrow(term.column);
    surely_short[terms++] = {headroom, Float(term.need_low), Int(1 << term.bit)};
    if (term.need_low != term.need_high) {
      maybe_short[maybe_terms++] = &term;
    }
  }
  RowBits feasible, doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kFilterVectors * kLanes) {
    Int code[kFilterVectors];
    for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
      code[v] = class_codes(block, program, i + v * kLanes);
    }
    const Comparison* term = surely_short;
    for (const FilterPlugin& plugin : program.filter_plugins) {
      Int failed[kFilterVectors];
      std::fill_n(failed, kFilterVectors, Int(0));
      for (const Comparison* end = term + plugin.count; term != end; ++term) {
        for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
          const Float headroom = Float::load_unaligned(term->headroom + i + v * kLanes);
          failed[v] = xsimd::select(xsimd::bool_cast(headroom < term->need), failed[v] | term->bit,
                                    failed[v]);
        }
      }
      for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
        Int mine = failed[v];
        if (plugin.first_only) {
          mine = mine & (Int(0) - mine);
        }
        code[v] = code[v] | xsimd::select(code[v] == Int(0), mine, Int(0));
      }
    }
    for (std::uint32_t v = 0; v < kFilterVectors && i + v * kLanes < block.count; ++v) {
      code[v].store_unaligned(reinterpret_cast<std::int32_t*>(out.code + i) + v * kLanes);
      feasible.set(i + v * kLanes, bits(code[v] == Int(0)));
    }
  }
  for (std::uint32_t t = 0; t < maybe_terms; ++t) {
    const float* column = block.narrow(maybe_short[t]->column);
    const Float low(maybe_short[t]->need_low), high(maybe_short[t]->need_high);
    for (std::uint32_t i = 0; i < block.count; i += kLanes) {
      const Float headroom = Float::load_unaligned(column + i);
      const std::uint32_t between = bits(headroom >= low && headroom < high);
      if (between != 0) {
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
          if ((between >> lane & 1) != 0 && i + lane < block.count) {
            doubtful.set_row(i + lane);
          }
        }
      }
    }
  }
  doubtful.for_each([&](std::uint32_t i) {
    if ((out.code[i] & kClassRejection) == 0) {
      out.code[i] = exact_code(program, block.truth(i));
      out.code[i] == 0 ? feasible.set_row(i) : feasible.clear_row(i);
    }
  });
  feasible.keep(block.count);
  return feasible;
}

// --- Scores: the float32 estimate and its error bound ---
//
// With H = 100 * headroom / capacity and N = 100 * need / capacity the answer is trunc(H - N). The
// roundings of headroom (2^-23, downwards), scale, need, product and difference (2^-24 each) leave
// an error below 2^-23 * (2 * |H| + 2 * |N|) + 2^-24 * |H - N| < kError * (|H| + |N|).
// Where only answers above 0 matter, either N <= 2 * H, and the error is below 2 * kError * H, or
// H - N is below 0 by more than the error.
constexpr float kError = 1.0F / (1 << 21);
// Weighted sums below this, times a reciprocal raised by kRaise, truncate exactly: a quotient that
// is not whole lies at least 1 / weights from one, the error stays below sum / weights * 2^-21.
constexpr float kSumMax = 1 << 20;
constexpr float kRaise = 1.0F + 1.0F / (1 << 22);
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

// --- Scores: whole blocks in doubles, for contiguous rows ---

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

bool needs_at_least_zero(const Score& score) {
  return std::all_of(score.terms, score.terms + score.count,
                     [](const ScoreTerm& term) { return term.need >= 0; });
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

// Kubernetes 1.36 and later. Rows that are left to others hold any number.
std::int32_t change_of_balance(std::int64_t with_pod, std::int64_t without) {
  return static_cast<std::int32_t>(50 + (50 + with_pod - without) / 2);
}

RowBits everything(std::uint32_t count) {
  RowBits all;
  std::fill_n(all.words, kWords, ~std::uint64_t{0});
  all.keep(count);
  return all;
}

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

void score_rows(const Block& block, const Score& score, const RowBits& feasible,
                std::int32_t* out) {
  // The error bound holds for needs of 0 and more.
  RowBits doubtful =
      needs_at_least_zero(score) ? estimate_scores(block, score, out) : everything(block.count);
  doubtful.intersect(feasible);
  if (block.columns.rows == nullptr && doubtful.count() > kDoubtfulRowsMax) {
    doubtful = in_doubles(block, score, out);
    doubtful.intersect(feasible);
  }
  doubtful.for_each([&](std::uint32_t i) {
    const std::int64_t value = exact_score(score, block.truth(i));
    out[i] = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value, std::int64_t{kRawMin} - 1, INT32_MAX));
  });
}

void score_block(const Columns& columns, const Program& program, std::uint32_t first,
                 std::uint32_t count, BlockScores& out) {
  const Block block{columns, first, count};
  const RowBits feasible = filter(block, program, out);
  std::memcpy(out.feasible, feasible.words, sizeof(feasible.words));
  out.any_feasible = std::any_of(feasible.words, feasible.words + kWords,
                                 [](std::uint64_t word) { return word != 0; });
  if (!out.any_feasible) {
    return;
  }
  for (std::size_t s = 0; s < program.scores.size(); ++s) {
    score_rows(block, program.scores[s], feasible, out.score[s]);
  }
}

// --- Cached lines ---

// A line takes several vectors, or a vector several lines.
constexpr std::uint32_t kLineVectors = kLineNodes > kLanes ? kLineNodes / kLanes : 1;
constexpr std::uint32_t kLinesTogether = kLanes > kLineNodes ? kLanes / kLineNodes : 1;
// Blocks that share a line, or a vector, are written row by row.
constexpr bool kWholeVectors = kBlockNodes % std::max(kLanes, kLineNodes) == 0;

struct Packing {
  const BlockScores& scores;
  const LineLayout layout;
  const std::uint32_t plain;
  const std::uint32_t first_row;
  const std::span<CodeCount> codes;
  std::uint32_t* const lines;
};

// Packs rows [0, count), a whole number of vectors, unless some score does not fit a line: then
// returns false, and nothing counts.
bool pack_vectors(const Packing& to, std::uint32_t count, PackedRows& result) {
  const auto store = [&](Int values, std::size_t at) {
    auto* words = reinterpret_cast<std::int32_t*>(to.lines) + at;
    store_lines(values, words, words + to.layout.stride());
  };
  const std::uint32_t normalized = to.layout.normalized;
  Int lo[kNormalizedMax], hi[kNormalizedMax], rows_of_code[kPackCodesMax];
  std::fill_n(lo, kNormalizedMax, Int(INT32_MAX));
  std::fill_n(hi, kNormalizedMax, Int(INT32_MIN));
  std::fill_n(rows_of_code, to.codes.size(), Int(0));
  Int least_plain(0), most_plain(0);
  std::uint32_t feasible = 0;
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    const auto code =
        Int::load_unaligned(reinterpret_cast<const std::int32_t*>(to.scores.code) + i);
    const IntMask accepted = code == Int(0);
    const std::uint32_t row = to.first_row + i;
    for (std::uint32_t n = 0; n < normalized; ++n) {
      const Int raw = Int::load_unaligned(to.scores.score[n] + i);
      lo[n] = xsimd::min(lo[n], xsimd::select(accepted, raw, Int(INT32_MAX)));
      hi[n] = xsimd::max(hi[n], xsimd::select(accepted, raw, Int(INT32_MIN)));
      store(raw, to.layout.raw(row, n));
    }
    Int packed(0);
    for (std::uint32_t s = 0; s < to.plain; ++s) {
      const Int any = Int::load_unaligned(to.scores.score[normalized + s] + i);
      const Int score = xsimd::select(accepted, any, Int(0));
      least_plain = xsimd::min(least_plain, score);
      most_plain = xsimd::max(most_plain, score);
      packed = packed | (score << static_cast<std::int32_t>(8 * s));
    }
    const std::uint32_t accepted_bits = bits(accepted);
    feasible += static_cast<std::uint32_t>(std::popcount(accepted_bits));
    if (accepted_bits != kAllLanes) {
      Int id(static_cast<std::int32_t>(kInfeasible | kNoCode));
      for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
        const IntMask its = code == Int(static_cast<std::int32_t>(to.codes[c].code));
        id = xsimd::select(its, Int(static_cast<std::int32_t>(kInfeasible | c)), id);
        rows_of_code[c] = rows_of_code[c] + xsimd::select(its, Int(1), Int(0));
      }
      packed = xsimd::select(accepted, packed, id);
    }
    store(packed, to.layout.packed(row));
  }
  if (least(least_plain) < 0 || most(most_plain) > kPlainScoreMax) {
    return false;
  }
  for (std::uint32_t n = 0; n < normalized; ++n) {
    result.lo[n] = least(lo[n]);
    result.hi[n] = most(hi[n]);
    if (result.lo[n] < kRawMin || result.hi[n] > kPlainScoreMax) {
      return false;
    }
  }
  result.feasible = feasible;
  result.no_code = count - feasible;
  for (std::uint32_t c = 0; c < to.codes.size(); ++c) {
    const std::uint32_t rows = sum(rows_of_code[c]);
    to.codes[c].rows += rows;
    result.no_code -= rows;
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
    to.lines[to.layout.raw(row, n)] = static_cast<std::uint32_t>(raw);
    result.lo[n] = std::min(result.lo[n], raw);
    result.hi[n] = std::max(result.hi[n], raw);
  }
}

PackedRows pack(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                std::uint32_t first_row, std::uint32_t count, std::span<CodeCount> codes,
                std::uint32_t* lines) {
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
  if (!pack_vectors(to, done, result)) {
    result = empty;
    done = 0;
  }
  for (std::uint32_t i = done; i < count; ++i) {
    pack_one(to, i, result);
  }
  return result;
}

// --- Totals over cached lines ---

// (raw - lo) * 100 / range by float32: exact below this range, as kSumMax is above 100 * range.
constexpr std::int32_t kFloatRangeMax = 10'000;

// The totals of a line, vector by vector; infeasible rows get -1. All that is the same for every
// line is in registers.
template <std::uint32_t normalized_count, bool in_float>
class LineTotals {
 public:
  static constexpr std::uint32_t kStride = (normalized_count + 1) * kLineNodes;

  explicit LineTotals(const Totals& totals)
      : in_double_(totals.normalize_in_double),
        low_weights_(totals.plain_weight[0] | totals.plain_weight[2] << 16),
        middle_weight_(totals.plain_weight[1]) {
    for (std::uint32_t n = 0; n < normalized_count; ++n) {
      const std::int32_t range = totals.hi[n] - totals.lo[n];
      lo_[n] = Int(totals.lo[n]);
      range_[n] = Int(range);
      weight_[n] = Int(totals.normalized_weight[n]);
      factor_[n] = Float(range == 0 ? 0.0F : 100.0F * (kRaise / static_cast<float>(range)));
    }
  }

  // Of two lines where a vector has room for both, else of `first`.
  Int total(const std::uint32_t* first, const std::uint32_t* second, std::uint32_t vector) const {
    const auto load = [&](std::uint32_t at) {
      at += vector * kLanes;
      return load_lines(reinterpret_cast<const std::int32_t*>(first) + at,
                        reinterpret_cast<const std::int32_t*>(second) + at);
    };
    Int sum(0);
    for (std::uint32_t n = 0; n < normalized_count; ++n) {
      const Int off = load(n * kLineNodes) - lo_[n];
      const Int held = xsimd::min(xsimd::max(off, Int(0)), range_[n]);
      sum = sum + multiply_pairs(normalized(held, n), weight_[n]);
    }
    // The scores of bytes 0 and 2, and that of byte 1, as 16-bit numbers.
    const Int packed = load(normalized_count * kLineNodes);
    sum = sum + multiply_pairs(packed & Int(0x00FF00FF), low_weights_) +
          multiply_pairs((packed >> 8) & Int(0xFF), middle_weight_);
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
                             : in_double_ ? 100.0 * (value / range)
                                          : value * 100.0 / range;
        value = static_cast<std::int32_t>(score);
      }
      return Int::load_unaligned(values);
    }
  }

  static constexpr std::uint32_t kCount = normalized_count == 0 ? 1 : normalized_count;

  const bool in_double_;
  const Int low_weights_, middle_weight_;
  Int lo_[kCount], range_[kCount], weight_[kCount];
  Float factor_[kCount];
};

template <std::uint32_t normalized_count, typename Visit>
auto with_line_totals(const Totals& totals, Visit visit) {
  bool in_float = !totals.normalize_in_double;
  for (std::uint32_t n = 0; n < normalized_count; ++n) {
    in_float = in_float && totals.hi[n] - totals.lo[n] <= kFloatRangeMax;
  }
  return in_float ? visit(LineTotals<normalized_count, true>(totals))
                  : visit(LineTotals<normalized_count, false>(totals));
}

template <typename Visit>
auto with_line_totals(const Totals& totals, Visit visit) {
  static_assert(kNormalizedMax == 2);
  switch (totals.normalized) {
    case 0:
      return visit(LineTotals<0, true>(totals));
    case 1:
      return with_line_totals<1>(totals, visit);
    default:
      return with_line_totals<2>(totals, visit);
  }
}

void line_maxima(const std::uint32_t* lines, const std::uint32_t* rows, std::uint32_t count,
                 const Totals& totals, std::int32_t* out) {
  with_line_totals(totals, [&](const auto line_totals) {
    const auto line = [&](std::uint32_t i) {
      return lines + std::size_t{rows != nullptr ? rows[i] / kLineNodes : i} * line_totals.kStride;
    };
    for (std::uint32_t i = 0; i < count; i += kLinesTogether) {
      const std::uint32_t last = std::min(i + kLinesTogether, count) - 1;
      Int most = line_totals.total(line(i), line(last), 0);
      for (std::uint32_t v = 1; v < kLineVectors; ++v) {
        most = xsimd::max(most, line_totals.total(line(i), line(last), v));
      }
      store_greatest(most, &out[i], &out[last]);
    }
  });
}

std::uint32_t rows_at_least(const std::uint32_t* line, const Totals& totals, std::int32_t at_least,
                            RowTotal (&out)[kLineNodes]) {
  return with_line_totals(totals, [&](const auto line_totals) {
    std::int32_t values[kLineVectors * kLanes];
    for (std::uint32_t v = 0; v < kLineVectors; ++v) {
      line_totals.total(line, line, v).store_unaligned(values + v * kLanes);
    }
    std::uint32_t found = 0;
    for (std::uint32_t row = 0; row < kLineNodes; ++row) {
      if (values[row] >= at_least) {
        out[found++] = {row, values[row]};
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

// The true headroom is below the float after the narrow one. Every rounding here, that one and a
// sum's at most kGivenBackMax + 2, is below 2^-23 of the terms' magnitudes.
constexpr float kBoundSlack = 0x1p-19f;
static_assert(kGivenBackMax + 3 <= 1 << 4);

void keep_rows(const float* headroom, std::span<const float* const> given_back, float need_low,
               std::uint32_t count, std::uint64_t* rows) {
  const Float need(need_low);
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    Float most(0.0f), magnitude(0.0f);
    if (headroom != nullptr) {
      most = Float::load_unaligned(headroom + i);
      magnitude = xsimd::abs(most);
    }
    for (const float* column : given_back) {
      const Float back = Float::load_unaligned(column + i);
      most = most + back;
      magnitude = magnitude + back;
    }
    const std::uint64_t short_of = bits(fma(magnitude, Float(kBoundSlack), most) < need);
    rows[i / 64] &= ~(short_of << (i % 64));
  }
}

std::uint64_t read_bytes(const void* bytes, std::size_t size) {
  const auto* values = static_cast<const std::int32_t*>(bytes);
  Int sums[4] = {Int(0), Int(0), Int(0), Int(0)};
  for (std::size_t i = 0; i + 4 * kLanes <= size / sizeof(std::int32_t); i += 4 * kLanes) {
    for (std::uint32_t k = 0; k < 4; ++k) {
      sums[k] = sums[k] ^ Int::load_unaligned(values + i + k * kLanes);
    }
  }
  std::int32_t lanes[kLanes];
  (sums[0] ^ sums[1] ^ sums[2] ^ sums[3]).store_unaligned(lanes);
  std::uint64_t sum = 0;
  for (const std::int32_t lane : lanes) {
    sum = sum * 31 + static_cast<std::uint32_t>(lane);
  }
  return sum;
}

bool supported() {
  __builtin_cpu_init();
  return HEADROOM_SUPPORTED;
}

}  // namespace

extern const Kernels kKernels;
const Kernels kKernels = {HEADROOM_STRING(HEADROOM_ISA),
                          supported,
                          score_block,
                          pack,
                          line_maxima,
                          rows_at_least,
                          index_of_max,
                          keep_rows,
                          read_bytes};

}  // namespace headroom::HEADROOM_ISA
