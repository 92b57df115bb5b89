// The border between the engine and its kernels: plain structs of pointers and whole numbers.
//
// A cluster is a set of columns, one value per row. Every column holds the truth in int64 and a
// narrow float32 derived from it, which the kernels read first:
//
//   headroom column   truth h = capacity - aggregate      narrow = h rounded towards -infinity
//   capacity column   truth c                             narrow = 100 / c, 0 where c = 0
//
// A filter term holds where need <= h; a score term is trunc(100 * (h - need) / c). The kernels
// estimate in float32 with a proven error bound; a lane whose answer could lie on either side of an
// integer is computed again from the truth. So every result equals the integer arithmetic of the
// rules, bit for bit, on every instruction set (docs/exactness.md).
//
// Thread safety: pure functions. They do not allocate, block or fail. All pointers may be read up
// to kPadNodes values beyond the rows asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headroom {

// Rows per block: a block's intermediate results stay in the first-level cache.
inline constexpr std::uint32_t kBlockNodes = HEADROOM_BLOCK_NODES;
// Rows per line of a cached shape, see LineLayout: a cache line of packed words.
inline constexpr std::uint32_t kLineNodes = 16;
inline constexpr std::uint32_t kPadNodes = 32;

inline constexpr std::uint32_t kScoresMax = 5;      // scores by columns
inline constexpr std::uint32_t kNormalizedMax = 2;  // of them min-max normalised
inline constexpr std::uint32_t kPlainMax = 3;       // of them in [0, 100] as they are
inline constexpr std::uint32_t kFilterTermsMax = 31;
inline constexpr std::uint32_t kScoreTermsMax = 64;

inline constexpr std::uint32_t kGivenBackMax = 8;

// A headroom that fits every need.
inline constexpr std::int64_t kUnlimited = INT64_MAX;

// A headroom, saturating; kUnlimited comes of a base that is, and of no other.
inline std::int64_t headroom_of(std::int64_t base, std::int64_t sum) {
  if (base == kUnlimited) {
    return kUnlimited;
  }
  std::int64_t left = 0;
  if (__builtin_sub_overflow(base, sum, &left)) {
    return base < 0 ? INT64_MIN : kUnlimited - 1;
  }
  return std::min(left, kUnlimited - 1);
}

// What a column is made of: a headroom is its base less its sum, a capacity its base (kNoSum).
inline constexpr std::uint32_t kNoSum = UINT32_MAX;
struct ColumnSource {
  std::uint32_t base, sum;
};

// The exact values of a row, by column.
struct Truth {
  const ColumnSource* sources;  // nullptr: `bases` are the values, by column
  const std::int64_t* bases;
  const std::int64_t* sums;

  std::int64_t operator[](std::uint32_t column) const {
    if (sources == nullptr) {
      return bases[column];
    }
    const auto [base, sum] = sources[column];
    return sum == kNoSum ? bases[base] : headroom_of(bases[base], sums[sum]);
  }
};

// What the kernels read: `count` columns. Entry i of `node_class` and of narrow[column] belongs to
// row rows ? rows[i] : i; bases and sums are row by row.
struct Columns {
  std::uint32_t count;
  const float* const* narrow;
  const ColumnSource* sources;  // as Truth has them
  const std::int64_t* bases;
  std::size_t base_stride;
  const std::int64_t* sums;
  std::size_t sum_stride;
  const std::uint32_t* node_class;
  const std::uint32_t* rows;

  Truth truth_of(std::uint32_t row) const {
    return {sources, bases + row * base_stride, sums + row * sum_stride};
  }
};

// Rejects a row where need > headroom.
struct FilterTerm {
  std::uint32_t column;
  std::uint32_t bit;  // of the code of a row that fails; ascending, below kFilterTermsMax
  std::int64_t need;
  float need_low, need_high;  // need rounded towards -infinity and +infinity
};

// A filter plugin: `count` consecutive terms.
struct FilterPlugin {
  std::uint32_t count;
  std::uint32_t mask;  // of its terms' bits
  bool first_only;     // report only the first failing term (LoadAwareScheduling)
};

struct ScoreTerm {
  std::uint32_t headroom, capacity;
  std::int64_t need;
  float need_nearest;
  std::int32_t weight;  // 0: counts for the dominant resource only
};

enum class ScoreKind : std::uint8_t {
  kSigned,          // may be negative (LimitAware, ResourceLimitAware)
  kLeast,           // 0 where headroom is short (LeastAllocated, LoadAwareScheduling)
  kMost,            // used * 100 / capacity (MostAllocated)
  kRatio,           // table[used * 100 / capacity], RequestedToCapacityRatio
  kBalanced,        // NodeResourcesBalancedAllocation up to Kubernetes 1.35
  kBalancedChange,  // and from 1.36 on: 50 + (50 + with - without) / 2
};

struct Score {
  ScoreKind kind;
  bool zero_capacity_counts;  // a resource without capacity scores 0 instead of dropping out
  bool at_most_100;           // per resource: usage below zero counts as zero
  std::int32_t dominant_weight;
  std::uint32_t count;
  const ScoreTerm* terms;
  const std::int8_t* ratio_table;  // kRatio: 101 scores in [0, 100] by utilization
  std::int32_t weight_sum;         // of the terms and dominant_weight
};

// Everything about one pod shape that the kernels need.
struct Program {
  // Per node class: 0, or the code of a rejection by a filter that reads classes.
  const std::uint32_t* class_code;
  std::span<const FilterTerm> filter_terms;
  std::span<const FilterPlugin> filter_plugins;
  std::span<const Score> scores;  // normalised ones first
  std::uint32_t normalized;       // how many of them are
};

// Why a row was rejected. 0: feasible. kClassRejection set: the low bits are what class_code says.
// Else the bits of the filter terms that failed, of the first plugin that rejected.
inline constexpr std::uint32_t kClassRejection = 1u << 31;

// The results for up to kBlockNodes rows.
struct BlockScores {
  alignas(64) std::uint32_t code[kBlockNodes + kPadNodes];
  // Of feasible rows only; a score below kRawMin is some number below it.
  alignas(64) std::int32_t score[kScoresMax][kBlockNodes + kPadNodes];
  std::uint64_t feasible[(kBlockNodes + 63) / 64];  // bit per row
  bool any_feasible;
};

// A cached shape keeps its rows in lines of kLineNodes rows, with a packed word for each:
//   infeasible row:  kInfeasible is set, the other bits are the code id
//   feasible row:    from the lowest bit up to three plain scores in [0, 100], kPlainBits each;
//                    from kRawShift on the raw value of a normalised score, less kNarrowRawMin
// Such words are narrow, and all that a line has. Where a shape has two normalised scores, or a raw
// value below kNarrowRawMin, it is laid out wide: each line has kLineNodes raw values for each
// normalised score apart, before its packed words, which have none.
struct LineLayout {
  std::uint32_t normalized;
  std::uint32_t apart;  // normalised scores that stand apart: none, or all

  static LineLayout narrowest(std::uint32_t normalized) {
    return {normalized, normalized > 1 ? normalized : 0};
  }
  LineLayout wide() const { return {normalized, normalized}; }
  bool is_widest() const { return apart == normalized; }
  std::int32_t raw_min() const;
  std::uint32_t stride() const { return (apart + 1) * kLineNodes; }
  std::size_t packed(std::uint32_t row) const { return raw_apart(row, apart); }
  std::size_t raw_apart(std::uint32_t row, std::uint32_t score) const {
    return std::size_t{row / kLineNodes} * stride() + score * kLineNodes + row % kLineNodes;
  }
  // Of a feasible row.
  std::int32_t raw(const std::uint32_t* lines, std::uint32_t row, std::uint32_t score) const;
};
inline constexpr std::uint32_t kInfeasible = 1u << 31;
inline constexpr std::uint32_t kPlainBits = 7, kPlainMask = (1u << kPlainBits) - 1;
inline constexpr std::uint32_t kRawShift = kPlainMax * kPlainBits, kRawMask = (1u << 10) - 1;
// Scores beyond these do not fit a line; where they are apart from kRawMin on.
inline constexpr std::int32_t kPlainScoreMax = 100;
inline constexpr std::int32_t kNarrowRawMin = kPlainScoreMax - static_cast<std::int32_t>(kRawMask);
inline constexpr std::int32_t kRawMin = -(1 << 28);
// A feasible row with a score that does not fit a line: a plain score that is none.
inline constexpr std::uint32_t kWideRow = kPlainMask;
static_assert(kPlainScoreMax < kPlainMask && kInfeasible > kRawMask << kRawShift);

inline std::int32_t LineLayout::raw_min() const { return apart == 0 ? kNarrowRawMin : kRawMin; }
inline std::int32_t LineLayout::raw(const std::uint32_t* lines, std::uint32_t row,
                                    std::uint32_t score) const {
  return apart == 0 ? static_cast<std::int32_t>(lines[row] >> kRawShift & kRawMask) + kNarrowRawMin
                    : static_cast<std::int32_t>(lines[raw_apart(row, score)]);
}
inline std::int32_t plain_score(std::uint32_t packed, std::uint32_t plain) {
  return static_cast<std::int32_t>(packed >> (plain * kPlainBits) & kPlainMask);
}

// The rows that rejected a pod for one reason code. A code's id is its index in a list of these.
struct CodeCount {
  std::uint32_t code;
  std::uint32_t rows;
};
// The id of no code: a row of padding, or one whose code pack() was not told.
inline constexpr std::uint32_t kNoCode = kInfeasible - 1;
// Of longer lists pack() looks at the first ones.
inline constexpr std::uint32_t kPackCodesMax = 16;

// What pack() saw.
struct PackedRows {
  std::uint32_t feasible, wide;
  std::uint32_t no_code;                                // infeasible rows with kNoCode
  std::int32_t lo[kNormalizedMax], hi[kNormalizedMax];  // of feasible rows; INT32_MAX, MIN if none
};

// Weights of totals are at most this.
inline constexpr std::int32_t kTotalWeightMax = 10'000;

// How raw scores become a total: sum of weight * trunc((raw - lo) * 100 / (hi - lo)), plus
// plain_weight times the packed scores.
struct Totals {
  LineLayout layout;
  std::int32_t lo[kNormalizedMax], hi[kNormalizedMax];
  std::int32_t normalized_weight[kNormalizedMax];
  std::int32_t plain_weight[kPlainMax];
  // 100.0 * (double(raw - lo) / double(hi - lo)), truncated, as koordinator's LimitAware has it.
  bool normalize_in_double;
};

struct RowTotal {
  std::uint32_t row;
  std::int32_t total;
};

// One instruction set's kernels.
struct Kernels {
  const char* name;
  bool (*supported)();

  // Filters and scores rows [first, first + count), count <= kBlockNodes.
  void (*score_block)(const Columns& columns, const Program& program, std::uint32_t first,
                      std::uint32_t count, BlockScores& out);

  // Writes the raw values and packed words of `count` rows from `first_row` on into the lines that
  // begin with row 0, and adds infeasible rows to `codes`; those whose code is not there get
  // kNoCode. `plain`: how many scores follow the normalised ones. first_row is a multiple of
  // kBlockNodes.
  PackedRows (*pack)(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                     std::uint32_t first_row, std::uint32_t count, std::span<CodeCount> codes,
                     std::uint32_t* lines);

  // Writes the packed words of rows [0, count): kWideRow where a score does not fit, kNoCode as the
  // code id of infeasible rows. Up to kPadNodes more words may be written.
  void (*pack_words)(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                     std::uint32_t count, std::uint32_t* words);

  // Writes the greatest total of each of `count` lines, -1 where no row of it is feasible: of the
  // line that holds rows[i], or of the lines from the first on where `rows` is nullptr. Raw values
  // outside [lo, hi] count as the nearer of the two.
  void (*line_maxima)(const std::uint32_t* lines, const std::uint32_t* rows, std::uint32_t count,
                      const Totals& totals, std::int32_t* out);

  // Writes the rows of one line (counted from 0) whose total is at least `at_least` (>= 0), in
  // order; returns how many.
  std::uint32_t (*rows_at_least)(const std::uint32_t* line, const Totals& totals,
                                 std::int32_t at_least, RowTotal (&out)[kLineNodes]);

  // The least index of the greatest of values[0, count), count > 0.
  std::uint32_t (*index_of_max)(const std::int32_t* values, std::uint32_t count);

  // A bound: clears the bits of rows where surely need > headroom + the sum of given_back, row 0
  // being bit 0 of rows[0]. `headroom` is narrow, or nullptr for 0 everywhere; given_back (at most
  // kGivenBackMax) is at least what it stands for. A row that may lie on either side keeps its bit.
  void (*keep_rows)(const float* headroom, std::span<const float* const> given_back, float need_low,
                    std::uint32_t count, std::uint64_t* rows);

  // A plain vector read of the bytes, for comparison in benchmarks; returns a checksum.
  std::uint64_t (*read_bytes)(const void* bytes, std::size_t size);
};

// Every instruction set compiled in, best first.
std::span<const Kernels* const> all_kernels();

// The best that this machine has, or the one that the environment variable HEADROOM_KERNELS names.
// nullptr if that name is unknown or not supported here.
const Kernels* active_kernels();

}  // namespace headroom
