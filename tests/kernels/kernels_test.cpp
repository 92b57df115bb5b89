// Every kernel on every instruction set of this machine against the plain integer arithmetic that
// kernels.h promises, written here a second time. Tolerance: none, answers are compared as bits, so
// all instruction sets agree with each other too.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/exact.h"
#include "tests/support/seed.h"

namespace headroom {
namespace {

// --- The reference: int64 and __int128, one row at a time ---

std::int64_t saturated(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, INT64_MIN, INT64_MAX));
}

// A resource's score; the capacity is above 0 (kSigned: or below).
__int128 reference_term(const Score& score, std::int64_t headroom, std::int64_t need,
                        std::int64_t capacity) {
  const __int128 free = static_cast<__int128>(headroom) - need;
  const __int128 used = std::min<__int128>(capacity - free, capacity);
  switch (score.kind) {
    case ScoreKind::kLeast:
      if (free < 0) {
        return 0;
      }
      return score.at_most_100 ? std::min<__int128>(free * 100 / capacity, 100)
                               : free * 100 / capacity;
    case ScoreKind::kMost:
      return used * 100 / capacity;
    case ScoreKind::kRatio:
      return score.ratio_table[static_cast<int>(used * 100 / capacity)];
    default:
      return saturated(free * 100 / capacity);
  }
}

// kube-scheduler's balancedResourceScorer: doubles, because it says so.
std::int64_t reference_balance(const Score& score, const std::int64_t* truth, bool with_pod) {
  std::vector<double> fractions;
  double total = 0;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth[term.capacity];
    if (capacity != 0) {
      const __int128 used =
          static_cast<__int128>(capacity) - truth[term.headroom] + (with_pod ? term.need : 0);
      const double fraction = static_cast<double>(saturated(used)) / static_cast<double>(capacity);
      fractions.push_back(fraction > 1 ? 1 : fraction);
      total += fractions.back();
    }
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    const double mean = total / static_cast<double>(fractions.size());
    double squares = 0;
    for (const double fraction : fractions) {
      squares += (fraction - mean) * (fraction - mean);
    }
    deviation = std::sqrt(squares / static_cast<double>(fractions.size()));
  }
  return static_cast<std::int64_t>((1 - deviation) * 100);
}

std::int64_t reference_mean(const Score& score, const std::int64_t* truth) {
  __int128 sum = 0, dominant = 100;
  std::int64_t weights = 0;
  bool any = false;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth[term.capacity];
    if (capacity == 0 && !score.zero_capacity_counts) {
      continue;
    }
    const __int128 value =
        capacity == 0 ? 0 : reference_term(score, truth[term.headroom], term.need, capacity);
    if (score.kind == ScoreKind::kRatio && value == 0) {
      continue;
    }
    any = true;
    sum += value * term.weight;
    weights += term.weight;
    dominant = std::min(dominant, value);
  }
  if (any && score.dominant_weight != 0) {
    sum += dominant * score.dominant_weight;
    weights += score.dominant_weight;
  }
  if (weights == 0) {
    return 0;
  }
  // RequestedToCapacityRatio rounds half up, the others truncate.
  return saturated(score.kind == ScoreKind::kRatio ? (2 * sum + weights) / (2 * weights)
                                                   : sum / weights);
}

std::int32_t reference_score(const Score& score, const std::int64_t* truth) {
  std::int64_t value = 0;
  if (score.kind == ScoreKind::kBalanced) {
    value = reference_balance(score, truth, true);
  } else if (score.kind == ScoreKind::kBalancedChange) {
    const std::int64_t with = reference_balance(score, truth, true);
    value = 50 + (50 + with - reference_balance(score, truth, false)) / 2;
  } else {
    value = reference_mean(score, truth);
  }
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, std::int64_t{kRawMin} - 1, INT32_MAX));
}

std::uint32_t reference_code(const Program& program, std::uint32_t node_class,
                             const std::int64_t* truth) {
  if (program.class_code[node_class] != 0) {
    return program.class_code[node_class];
  }
  std::size_t term = 0;
  for (const FilterPlugin& plugin : program.filter_plugins) {
    std::uint32_t code = 0;
    for (const std::size_t end = term + plugin.count; term < end; ++term) {
      const FilterTerm& its = program.filter_terms[term];
      if (its.need > truth[its.column] && (code == 0 || !plugin.first_only)) {
        code |= 1u << its.bit;
      }
    }
    if (code != 0) {
      return code;
    }
  }
  return 0;
}

float floor_float(std::int64_t value) {
  float result = static_cast<float>(value);
  while (static_cast<__int128>(result) > value) {
    result = std::nextafter(result, -HUGE_VALF);
  }
  return value == kUnlimited ? HUGE_VALF : result;
}

float ceil_float(std::int64_t value) {
  float result = static_cast<float>(value);
  while (static_cast<__int128>(result) < value) {
    result = std::nextafter(result, HUGE_VALF);
  }
  return result;
}

float scale_float(std::int64_t capacity) {
  if (capacity <= 0) {
    return capacity == 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  }
  return static_cast<float>(100.0 / static_cast<double>(capacity));
}

// --- Columns ---

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool percent(int chance) { return between(0, 99) < chance; }
  template <typename Values>
  auto one_of(const Values& values) {
    return values[static_cast<std::size_t>(between(0, std::ssize(values) - 1))];
  }
  // Every length in bits is as likely.
  std::int64_t of_any_length(int bits_max) {
    return between(0, (std::int64_t{1} << between(1, bits_max)) - 1);
  }

 private:
  std::mt19937_64 engine_;
};

// Whatever lies beyond the rows must not matter.
constexpr float kPadding = -3.5e37F;

// Rows as an engine keeps them; columns below `headrooms` are headroom, the others capacity.
class Table {
 public:
  Table(std::uint32_t rows, std::uint32_t headrooms, std::uint32_t capacities)
      : rows_(rows),
        headrooms_(headrooms),
        stride_(headrooms + capacities + 3),
        truth_((rows + kPadNodes) * stride_),
        bases_(truth_.size()),
        sums_(truth_.size()),
        narrow_(headrooms + capacities, std::vector<float>(rows + kPadNodes, kPadding)),
        classes_(rows + kPadNodes) {
    for (std::uint32_t c = 0; c < narrow_.size(); ++c) {
      pointers_.push_back(narrow_[c].data());
      sources_.push_back({headrooms + capacities - c, c < headrooms ? c + 2 : kNoSum});
    }
  }
  Table(const Table&) = delete;

  void set(std::uint32_t row, std::uint32_t column, std::int64_t value) {
    truth_[row * stride_ + column] = value;
    const auto [base, sum] = sources_[column];
    const std::int64_t taken = sum == kNoSum ? 0 : value < 0 ? 7 : -7;
    bases_[row * stride_ + base] = value == kUnlimited ? kUnlimited : value + taken;
    if (sum != kNoSum) {
      sums_[row * stride_ + sum] = taken;
    }
    narrow_[column][row] = column < headrooms_ ? floor_float(value) : scale_float(value);
  }
  void set_class(std::uint32_t row, std::uint32_t node_class) { classes_[row] = node_class; }

  std::uint32_t rows() const { return rows_; }
  std::uint32_t node_class(std::uint32_t row) const { return classes_[row]; }
  const std::int64_t* truth(std::uint32_t row) const { return &truth_[row * stride_]; }
  Columns columns() const {
    return {.count = static_cast<std::uint32_t>(pointers_.size()),
            .narrow = pointers_.data(),
            .sources = sources_.data(),
            .bases = bases_.data(),
            .base_stride = stride_,
            .sums = sums_.data(),
            .sum_stride = stride_,
            .node_class = classes_.data(),
            .rows = nullptr};
  }

 private:
  friend class Ring;
  std::uint32_t rows_, headrooms_;
  std::size_t stride_;
  std::vector<std::int64_t> truth_, bases_, sums_;
  std::vector<ColumnSource> sources_;
  std::vector<std::vector<float>> narrow_;
  std::vector<const float*> pointers_;
  std::vector<std::uint32_t> classes_;
};

// Rows of a table in some other order, as the ring of changes holds them.
class Ring {
 public:
  Ring(const Table& table, Random& random)
      : rows_(table.rows_), classes_(table.rows_ + kPadNodes), table_(table) {
    for (std::uint32_t i = 0; i < table.rows_; ++i) {
      rows_[i] = static_cast<std::uint32_t>(random.between(0, table.rows_ - 1));
      classes_[i] = table.classes_[rows_[i]];
    }
    for (const std::vector<float>& column : table.narrow_) {
      std::vector<float>& mine = narrow_.emplace_back(table.rows_ + kPadNodes, kPadding);
      for (std::uint32_t i = 0; i < table.rows_; ++i) {
        mine[i] = column[rows_[i]];
      }
    }
    for (const std::vector<float>& column : narrow_) {
      pointers_.push_back(column.data());
    }
  }
  std::uint32_t row(std::uint32_t i) const { return rows_[i]; }
  Columns columns() const {
    Columns columns = table_.columns();
    columns.narrow = pointers_.data();
    columns.node_class = classes_.data();
    columns.rows = rows_.data();
    return columns;
  }

 private:
  std::vector<std::uint32_t> rows_, classes_;
  std::vector<std::vector<float>> narrow_;
  std::vector<const float*> pointers_;
  const Table& table_;
};

// --- Programs ---

struct Scorer {
  Score score{};
  std::vector<ScoreTerm> terms;

  void add(std::uint32_t headroom, std::uint32_t capacity, std::int64_t need, std::int32_t weight) {
    terms.push_back({headroom, capacity, need, static_cast<float>(need), weight});
  }
  const Score& finished() {
    score.terms = terms.data();
    score.count = static_cast<std::uint32_t>(terms.size());
    score.weight_sum = score.dominant_weight;
    for (const ScoreTerm& term : terms) {
      score.weight_sum += term.weight;
    }
    return score;
  }
};

FilterTerm filter_term(std::uint32_t column, std::uint32_t bit, std::int64_t need) {
  return {column, bit, need, floor_float(need), ceil_float(need)};
}

constexpr std::uint32_t kNoRejection[] = {0};

Program scores_only(std::span<const Score> scores) { return {kNoRejection, {}, {}, scores, 0}; }

std::string describe(const Score& score, const std::int64_t* truth) {
  std::ostringstream text;
  text << "kind " << static_cast<int>(score.kind) << " zero_capacity_counts "
       << score.zero_capacity_counts << " at_most_100 " << score.at_most_100 << " dominant_weight "
       << score.dominant_weight << " terms (headroom, capacity, need, weight):";
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    text << " (" << truth[term.headroom] << ", " << truth[term.capacity] << ", " << term.need
         << ", " << term.weight << ")";
  }
  return text.str();
}

// What every row of a table answers.
struct Expected {
  Expected(const Table& table, const Program& program) : scores(program.scores.size()) {
    for (std::uint32_t row = 0; row < table.rows(); ++row) {
      const std::int64_t* truth = table.truth(row);
      codes.push_back(reference_code(program, table.node_class(row), truth));
      for (std::size_t s = 0; s < scores.size(); ++s) {
        scores[s].push_back(codes.back() == 0 ? reference_score(program.scores[s], truth) : 0);
      }
    }
  }
  std::vector<std::uint32_t> codes;
  std::vector<std::vector<std::int32_t>> scores;
};

// --- One instruction set ---

class KernelsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  void SetUp() override {
    if (!GetParam()->supported()) {
      GTEST_SKIP() << "this machine has no " << GetParam()->name;
    }
  }
  const Kernels& kernels() const { return *GetParam(); }

  // Scores rows [first, first + count) and compares everything that is defined. row_of maps an
  // index of the columns to a row of the table.
  template <typename RowOf>
  void check_block(const Columns& columns, const Program& program, const Table& table,
                   const Expected& expected, std::uint32_t first, std::uint32_t count,
                   RowOf row_of) {
    kernels().score_block(columns, program, first, count, out_);
    bool any = false;
    for (std::uint32_t i = 0; i < std::size(out_.feasible) * 64; ++i) {
      const bool feasible = (out_.feasible[i / 64] >> (i % 64) & 1) != 0;
      const bool wanted = i < count && expected.codes[row_of(first + i)] == 0;
      any = any || wanted;
      ASSERT_EQ(feasible, wanted) << "row " << i << " of [" << first << ", +" << count << ")";
    }
    ASSERT_EQ(out_.any_feasible, any);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t row = row_of(first + i);
      ASSERT_EQ(out_.code[i], expected.codes[row])
          << "row " << i << " of [" << first << ", +" << count << ")";
      for (std::size_t s = 0; expected.codes[row] == 0 && s < expected.scores.size(); ++s) {
        // Below kRawMin no line holds a score, and any number below it says so.
        ASSERT_EQ(std::max(out_.score[s][i], kRawMin - 1), expected.scores[s][row])
            << "score " << s << " of row " << i << " of [" << first << ", +" << count
            << "): " << describe(program.scores[s], table.truth(row));
      }
    }
  }

  // Blocks of sizes around every vector width, from several first rows.
  void check_sizes(const Table& table, const Program& program) {
    const Expected expected(table, program);
    for (const std::uint32_t count :
         {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256}) {
      for (const std::uint32_t first : {0, 1, 5, 8, 13, 256}) {
        if (count <= kBlockNodes && first + count <= table.rows()) {
          ASSERT_NO_FATAL_FAILURE(check_block(table.columns(), program, table, expected, first,
                                              count, [](std::uint32_t row) { return row; }));
        }
      }
    }
  }

  void check_all(const Columns& columns, const Program& program, const Table& table) {
    const auto same = [](std::uint32_t row) { return row; };
    check_all(columns, program, table, same);
  }
  template <typename RowOf>
  void check_all(const Columns& columns, const Program& program, const Table& table, RowOf row_of) {
    const Expected expected(table, program);
    for (std::uint32_t first = 0; first < table.rows(); first += kBlockNodes) {
      const std::uint32_t count = std::min(kBlockNodes, table.rows() - first);
      ASSERT_NO_FATAL_FAILURE(check_block(columns, program, table, expected, first, count, row_of));
    }
  }

  BlockScores out_;
};

std::string isa_name(const testing::TestParamInfo<const Kernels*>& info) {
  return info.param->name;
}
INSTANTIATE_TEST_SUITE_P(Isa, KernelsTest, testing::ValuesIn(all_kernels()), isa_name);

// At least one instruction set runs here: a run that skips everything must not pass.
TEST(KernelsOnThisMachine, SomeAreSupported) {
  EXPECT_TRUE(std::any_of(all_kernels().begin(), all_kernels().end(),
                          [](const Kernels* kernels) { return kernels->supported(); }));
}

// --- Scores ---

// Around every power of two where float32 or double stop holding whole numbers.
constexpr std::array<std::int64_t, 36> kCapacities = {0,
                                                      1,
                                                      2,
                                                      3,
                                                      7,
                                                      64,
                                                      99,
                                                      100,
                                                      101,
                                                      1000,
                                                      4000,
                                                      96'000,
                                                      (1 << 21) - 1,
                                                      1 << 21,
                                                      (1 << 21) + 1,
                                                      (1 << 24) - 1,
                                                      1 << 24,
                                                      (1 << 24) + 1,
                                                      std::int64_t{1} << 31,
                                                      (std::int64_t{1} << 31) - 1,
                                                      std::int64_t{256} << 30,
                                                      (std::int64_t{1} << 44) + 1,
                                                      (std::int64_t{1} << 46) - 1,
                                                      std::int64_t{1} << 46,
                                                      (std::int64_t{1} << 46) + 1,
                                                      (std::int64_t{1} << 51) - 1,
                                                      std::int64_t{1} << 51,
                                                      (std::int64_t{1} << 53) - 1,
                                                      std::int64_t{1} << 53,
                                                      (std::int64_t{1} << 53) + 1,
                                                      92'233'720'368'547'758,
                                                      92'233'720'368'547'759,
                                                      (std::int64_t{1} << 60) + 7,
                                                      (std::int64_t{1} << 62) - 1,
                                                      std::int64_t{1} << 62,
                                                      0};

struct Style {
  int hard_percent;      // of rows that are made to be hard
  int zero_percent;      // of capacities that are 0
  bool beyond_capacity;  // headroom may exceed the capacity (usage below zero)
};

std::int64_t some_capacity(Random& random, const Style& style) {
  if (random.percent(style.zero_percent)) {
    return 0;
  }
  return random.percent(style.hard_percent) ? random.one_of(kCapacities)
                                            : 1 + random.of_any_length(45);
}

std::int64_t some_need(Random& random, const Style& style) {
  if (random.percent(style.hard_percent)) {
    constexpr std::array<std::int64_t, 10> kNeeds = {0,
                                                     1,
                                                     2,
                                                     1000,
                                                     (1 << 24) + 1,
                                                     (std::int64_t{1} << 31) + 1,
                                                     (std::int64_t{1} << 46) + 1,
                                                     (std::int64_t{1} << 53) + 1,
                                                     (std::int64_t{1} << 61) + 3,
                                                     std::int64_t{1} << 62};
    return random.one_of(kNeeds);
  }
  return random.of_any_length(40);
}

// Hard: quotients that are whole or one unit off, nothing left, over-committed a thousand times.
std::int64_t some_headroom(Random& random, const Style& style, std::int64_t capacity,
                           std::int64_t need) {
  constexpr __int128 kMost = std::int64_t{1} << 62;
  __int128 value = random.between(0, capacity);
  if (random.percent(style.hard_percent)) {
    const std::int64_t off = random.between(-1, 1);
    switch (random.between(0, 7)) {
      case 0:
      case 1:
        value = static_cast<__int128>(capacity) * random.between(0, 100) / 100 + need + off;
        break;
      case 2:
        value = static_cast<__int128>(need) + off;
        break;
      case 3:
        value = -static_cast<__int128>(capacity) * random.between(0, 1'000'000) / 1000 + off;
        break;
      case 4:
        value = -static_cast<__int128>(capacity) * random.between(0, 100'000) / 100 + need + off;
        break;
      case 5:
        value = off;
        break;
      case 6:
        value = static_cast<__int128>(capacity) + off;
        break;
      default:
        value = static_cast<__int128>(capacity) + random.between(0, capacity);
    }
  }
  value = std::clamp<__int128>(value, -kMost, kMost);
  return style.beyond_capacity ? static_cast<std::int64_t>(value)
                               : std::min(static_cast<std::int64_t>(value), capacity);
}

constexpr std::uint32_t kRows = 600;

// Column t: headroom of term t; column `terms` + t: its capacity.
void fill(Table& table, const Scorer& scorer, Random& random, const Style& style) {
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    for (const ScoreTerm& term : scorer.terms) {
      const std::int64_t capacity = some_capacity(random, style);
      table.set(row, term.capacity, capacity);
      table.set(row, term.headroom, some_headroom(random, style, capacity, term.need));
    }
  }
}

Scorer scorer_of(ScoreKind kind, std::uint32_t terms, Random& random, const Style& style) {
  Scorer scorer;
  scorer.score.kind = kind;
  for (std::uint32_t t = 0; t < terms; ++t) {
    scorer.add(t, terms + t, some_need(random, style),
               static_cast<std::int32_t>(random.between(1, 100)));
  }
  return scorer;
}

struct Tables {
  std::int8_t ascending[101], descending[101], zigzag[101];
  Tables() {
    for (int u = 0; u <= 100; ++u) {
      ascending[u] = static_cast<std::int8_t>(u);
      descending[u] = static_cast<std::int8_t>(100 - u);
      zigzag[u] = static_cast<std::int8_t>(u % 10 == 0 ? 0 : u * 37 % 101);
    }
  }
};
const Tables kTables;

// Every kind with its flags, 1 to 8 resources, weights 1 to 100 (and 0 beside a dominant weight),
// from tame columns to columns of nothing but hard values, in blocks of every size; and the same
// rows by way of a ring.
TEST_P(KernelsTest, ScoresOfRandomColumns) {
  struct Variant {
    ScoreKind kind;
    bool zero_capacity_counts, at_most_100, dominant;
    const std::int8_t* table;
  };
  const Variant variants[] = {
      {ScoreKind::kSigned, false, false, false, nullptr},
      {ScoreKind::kSigned, true, false, false, nullptr},
      {ScoreKind::kSigned, false, false, true, nullptr},
      {ScoreKind::kLeast, false, false, false, nullptr},
      {ScoreKind::kLeast, true, false, false, nullptr},
      {ScoreKind::kLeast, false, true, false, nullptr},
      {ScoreKind::kLeast, true, true, false, nullptr},
      {ScoreKind::kLeast, false, true, true, nullptr},
      {ScoreKind::kLeast, true, true, true, nullptr},
      {ScoreKind::kLeast, false, false, true, nullptr},
      {ScoreKind::kLeast, true, false, true, nullptr},
      {ScoreKind::kMost, false, false, false, nullptr},
      {ScoreKind::kMost, true, false, false, nullptr},
      {ScoreKind::kRatio, false, false, false, kTables.ascending},
      {ScoreKind::kRatio, false, false, false, kTables.descending},
      {ScoreKind::kRatio, false, false, false, kTables.zigzag},
      {ScoreKind::kBalanced, false, false, false, nullptr},
      {ScoreKind::kBalancedChange, false, false, false, nullptr},
  };
  Random random(test_seed());
  for (const Variant& variant : variants) {
    const bool limited = variant.table != nullptr || variant.kind == ScoreKind::kBalanced ||
                         variant.kind == ScoreKind::kBalancedChange;
    for (std::uint32_t terms = 1; terms <= 8; ++terms) {
      for (const int hard_percent : {0, 1, 10, 60, 100}) {
        const Style style{hard_percent, hard_percent / 10, !limited};
        Scorer scorer = scorer_of(variant.kind, terms, random, style);
        scorer.score.zero_capacity_counts = variant.zero_capacity_counts;
        scorer.score.at_most_100 = variant.at_most_100;
        scorer.score.ratio_table = variant.table;
        if (variant.dominant) {
          scorer.score.dominant_weight = static_cast<std::int32_t>(random.between(1, 100));
          for (ScoreTerm& term : scorer.terms) {
            term.weight = random.percent(30) ? 0 : term.weight;
          }
        }
        Table table(kRows, terms, terms);
        fill(table, scorer, random, style);
        const Score score = scorer.finished();
        const Program program = scores_only({&score, 1});
        ASSERT_NO_FATAL_FAILURE(check_sizes(table, program));
        const Ring ring(table, random);
        ASSERT_NO_FATAL_FAILURE(check_all(ring.columns(), program, table,
                                          [&](std::uint32_t i) { return ring.row(i); }));
      }
    }
  }
}

// Blocks in which every row is the same: one doubtful row makes all of them doubtful.
TEST_P(KernelsTest, ScoresOfIdenticalRows) {
  Random random(test_seed());
  for (const ScoreKind kind :
       {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost, ScoreKind::kRatio,
        ScoreKind::kBalanced, ScoreKind::kBalancedChange}) {
    for (int round = 0; round < 60; ++round) {
      const Style style{50, 5, false};
      const auto terms = static_cast<std::uint32_t>(random.between(1, 4));
      Scorer scorer = scorer_of(kind, terms, random, style);
      scorer.score.ratio_table = kTables.ascending;
      Table one(1, terms, terms), table(kRows, terms, terms);
      fill(one, scorer, random, style);
      for (std::uint32_t row = 0; row < kRows; ++row) {
        for (std::uint32_t column = 0; column < 2 * terms; ++column) {
          table.set(row, column, one.truth(0)[column]);
        }
      }
      const Score score = scorer.finished();
      ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
    }
  }
}

// Every percentage of every capacity, exactly and one unit to either side, alone among tame rows
// and among its like.
TEST_P(KernelsTest, ScoresAtEveryWholePercentage) {
  for (const ScoreKind kind :
       {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost, ScoreKind::kRatio}) {
    for (const std::int64_t need : {std::int64_t{0}, std::int64_t{1}, std::int64_t{250},
                                    std::int64_t{200} << 20, (std::int64_t{1} << 53) + 1}) {
      for (const bool alone : {false, true}) {
        Scorer scorer;
        scorer.score.kind = kind;
        scorer.score.ratio_table = kTables.descending;
        scorer.add(0, 1, need, 7);
        std::vector<std::array<std::int64_t, 2>> rows;
        for (const std::int64_t capacity : kCapacities) {
          for (std::int64_t percent = 0; percent <= 100; ++percent) {
            for (std::int64_t off = -1; off <= 1; ++off) {
              const __int128 headroom =
                  static_cast<__int128>(capacity) * percent / 100 + need + off;
              if (headroom <= capacity) {
                rows.push_back({static_cast<std::int64_t>(headroom), capacity});
                for (int tame = 0; alone && tame < 20; ++tame) {
                  rows.push_back({need + 1234567, 9'999'991});
                }
              }
            }
          }
        }
        Table table(static_cast<std::uint32_t>(rows.size()), 1, 1);
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
          table.set(row, 0, rows[row][0]);
          table.set(row, 1, rows[row][1]);
        }
        const Score score = scorer.finished();
        ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
      }
    }
  }
}

// Two resources whose fractions differ by about a whole percentage, near and at capacity.
TEST_P(KernelsTest, BalanceNearWholePercentages) {
  Random random(test_seed());
  for (const ScoreKind kind : {ScoreKind::kBalanced, ScoreKind::kBalancedChange}) {
    for (int round = 0; round < 200; ++round) {
      Scorer scorer;
      scorer.score.kind = kind;
      const std::int64_t unit = 1 + random.of_any_length(round % 2 == 0 ? 8 : 34);
      scorer.add(0, 2, unit * random.between(0, 3), 1);
      scorer.add(1, 3, unit * random.between(0, 3), 1);
      Table table(kRows, 2, 2);
      for (std::uint32_t row = 0; row < kRows; ++row) {
        const bool tame = random.percent(round % 3 * 48);
        for (std::uint32_t t = 0; t < 2; ++t) {
          const std::int64_t capacity = unit * 100 * random.between(1, 8);
          const std::int64_t headroom =
              tame ? random.between(-capacity / 8, capacity)
                   : capacity / 100 * random.between(-20, 100) + random.between(-1, 1);
          table.set(row, 2 + t, capacity);
          table.set(row, t, headroom);
        }
      }
      const Score score = scorer.finished();
      ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
    }
  }
}

// Weighted means: every sum of weights up to 400, sums of scores up to 2^20 at multiples of it and
// one to either side, both signs. Scores lie half-way between whole numbers, so that it is the
// estimate that answers. Sanitized, every ninth of the sums of weights, to 398: the code is one,
// and the numbers are what an optimised build looks at.
TEST_P(KernelsTest, WeightedMeansNearMultiples) {
  constexpr std::uint32_t kSums = 1 << 19;
#ifdef HEADROOM_SANITIZED
  constexpr std::int32_t kWeightsStep = 9;
#else
  constexpr std::int32_t kWeightsStep = 1;
#endif
  for (const std::int64_t sign : {1, -1}) {
    for (const std::int64_t off : {-1, 0, 1}) {
      Table table(kSums, 2, 1);
      for (std::uint32_t q = 0; q < kSums; ++q) {
        table.set(q, 0, sign * (2 * std::int64_t{q} + 1));
        table.set(q, 1, sign * (2 * std::int64_t{q} + 1) + 2 * off);
        table.set(q, 2, 200);
      }
      for (std::int32_t weights = 2; weights <= 400; weights += kWeightsStep) {
        Scorer scorer;
        scorer.score.kind = ScoreKind::kSigned;
        scorer.add(0, 2, 0, weights - 1);
        scorer.add(1, 2, 0, 1);
        const Score score = scorer.finished();
        const Program program = scores_only({&score, 1});
        const std::uint32_t rows = (1u << 20) / static_cast<std::uint32_t>(weights) + 2;
        for (std::uint32_t first = 0; first < std::min(rows, kSums); first += kBlockNodes) {
          const std::uint32_t count = std::min(kBlockNodes, kSums - first);
          kernels().score_block(table.columns(), program, first, count, out_);
          for (std::uint32_t i = 0; i < count; ++i) {
            const std::int64_t* truth = table.truth(first + i);
            const std::int64_t sum = truth[0] / 2 * (weights - 1) + truth[1] / 2;
            ASSERT_EQ(out_.score[0][i], sum / weights) << describe(score, truth);
          }
        }
      }
    }
  }
}

// Resources far beyond their capacity in either direction, so that great scores cancel out.
TEST_P(KernelsTest, GreatScoresThatCancelOut) {
  Random random(test_seed());
  for (int round = 0; round < 400; ++round) {
    const auto terms = static_cast<std::uint32_t>(random.between(2, 4));
    Scorer scorer;
    scorer.score.kind = round % 2 == 0 ? ScoreKind::kSigned : ScoreKind::kMost;
    for (std::uint32_t t = 0; t < terms; ++t) {
      scorer.add(t, terms + t, 0, static_cast<std::int32_t>(random.between(90, 100)));
    }
    Table table(kRows, terms, terms);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const std::int64_t great = random.between(1, 900'000);
      for (std::uint32_t t = 0; t < terms; ++t) {
        const std::int64_t value = (t % 2 == 0 ? great : -great) + random.between(-3, 3);
        table.set(row, terms + t, 200);
        table.set(row, t, 2 * value + 1);
      }
    }
    const Score score = scorer.finished();
    ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
  }
}

// Needs below zero (a pod's own scaling factor may be negative), in scores.
TEST_P(KernelsTest, ScoresOfNeedsBelowZero) {
  Random random(test_seed());
  for (const ScoreKind kind : {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost}) {
    for (int round = 0; round < 200; ++round) {
      const std::int64_t capacity = 1 + random.of_any_length(40);
      const std::int64_t need = -random.between(0, capacity) * random.between(1, 100);
      Scorer scorer;
      scorer.score.kind = kind;
      scorer.add(0, 1, need, 1);
      Table table(kRows, 1, 1);
      for (std::uint32_t row = 0; row < kRows; ++row) {
        const __int128 whole = static_cast<__int128>(capacity) * random.between(0, 100) / 100;
        table.set(row, 0, static_cast<std::int64_t>(whole) + need + random.between(-1, 1));
        table.set(row, 1, capacity);
      }
      const Score score = scorer.finished();
      ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
    }
  }
}

// Quotients one unit below a whole number, of numbers so great that a double rounds them up to it:
// 257 - 1 / capacity, of capacities between 2^45 and 2^45.6.
TEST_P(KernelsTest, QuotientsThatADoubleRoundsUp) {
  for (const ScoreKind kind : {ScoreKind::kSigned, ScoreKind::kLeast}) {
    for (std::int64_t capacity = (std::int64_t{1} << 45) + 1; capacity < std::int64_t{54} << 40;
         capacity += (std::int64_t{1} << 40) + 1) {
      while (257 * capacity % 100 != 1) {
        ++capacity;
      }
      const std::int64_t free = (257 * capacity - 1) / 100;
      Scorer scorer;
      scorer.score.kind = kind;
      scorer.add(0, 1, -(free / 2), 1);
      Table table(kRows, 1, 1);
      for (std::uint32_t row = 0; row < kRows; ++row) {
        table.set(row, 0, free - free / 2);
        table.set(row, 1, capacity);
      }
      const Score score = scorer.finished();
      ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
    }
  }
}

// What a kernel asks of its caller, on every instruction set and in every build.
TEST_P(KernelsTest, CallsBeyondTheirBordersDie) {
  Scorer scorer;
  scorer.add(0, 1, 0, 1);
  const Score score = scorer.finished();
  const Table table(kBlockNodes + 1, 1, 1);
  const Program program = scores_only({&score, 1});
  EXPECT_DEATH(kernels().score_block(table.columns(), program, 0, kBlockNodes + 1, out_),
               "count <= kBlockNodes");
  scorer.terms[0].headroom = 1000;
  EXPECT_DEATH(kernels().score_block(table.columns(), program, 0, 1, out_),
               "column < columns.count");
}

// As many resources as an engine knows (64), each with the greatest weight.
TEST_P(KernelsTest, ManyResources) {
  Random random(test_seed());
  for (const ScoreKind kind : {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost,
                               ScoreKind::kRatio, ScoreKind::kBalanced}) {
    for (const bool dominant : {false, true}) {
      for (const std::uint32_t terms : {30, 31, 32, 33, 64}) {
        const Style style{5, 5, false};
        Scorer scorer = scorer_of(kind, terms, random, style);
        scorer.score.ratio_table = kTables.ascending;
        scorer.score.at_most_100 = dominant;
        if (dominant) {
          if (kind != ScoreKind::kLeast) {
            continue;
          }
          scorer.score.dominant_weight = 100;
        }
        for (ScoreTerm& term : scorer.terms) {
          term.weight = 100;
        }
        Table table(kRows, terms, terms);
        fill(table, scorer, random, style);
        const Score score = scorer.finished();
        ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
      }
    }
  }
}

// A score without resources, with and without a dominant weight, is 0 (balanced: 100).
TEST_P(KernelsTest, NoResources) {
  for (const ScoreKind kind :
       {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost, ScoreKind::kRatio,
        ScoreKind::kBalanced, ScoreKind::kBalancedChange}) {
    Scorer scorer;
    scorer.score.kind = kind;
    scorer.score.ratio_table = kTables.descending;
    scorer.score.dominant_weight = kind == ScoreKind::kLeast ? 5 : 0;
    Table table(kRows, 1, 1);
    const Score score = scorer.finished();
    ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), scores_only({&score, 1}), table));
  }
}

// A headroom that fits every need, and one as far below zero as there is, among tame rows.
TEST_P(KernelsTest, UnlimitedAndBottomlessHeadroom) {
  Random random(test_seed());
  for (const ScoreKind kind : {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost}) {
    for (const bool at_most_100 : {false, true}) {
      for (const bool zero_capacity_counts : {false, true}) {
        const Style style{5, 10, true};
        Scorer scorer = scorer_of(kind, 3, random, style);
        scorer.score.at_most_100 = at_most_100 && kind == ScoreKind::kLeast;
        scorer.score.zero_capacity_counts = zero_capacity_counts;
        Table table(kRows, 3, 3);
        fill(table, scorer, random, style);
        for (std::uint32_t row = 0; row < kRows; row += 3) {
          constexpr std::array<std::int64_t, 5> kExtremes = {kUnlimited, kUnlimited - 1, INT64_MIN,
                                                             INT64_MIN / 4, INT64_MIN + 1};
          table.set(row, static_cast<std::uint32_t>(random.between(0, 2)),
                    random.one_of(kExtremes));
        }
        const Score score = scorer.finished();
        ASSERT_NO_FATAL_FAILURE(check_sizes(table, scores_only({&score, 1})));
      }
    }
  }
}

// Capacities below zero (a negative ratio in mode Upstream) in a kSigned score.
TEST_P(KernelsTest, CapacitiesBelowZero) {
  Random random(test_seed());
  for (std::uint32_t terms = 1; terms <= 3; ++terms) {
    const Style style{20, 10, true};
    Scorer scorer = scorer_of(ScoreKind::kSigned, terms, random, style);
    Table table(kRows, terms, terms);
    fill(table, scorer, random, style);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (std::uint32_t t = 0; t < terms; ++t) {
        if (random.percent(20)) {
          table.set(row, terms + t, -1 - random.of_any_length(45));
        }
      }
    }
    const Score score = scorer.finished();
    ASSERT_NO_FATAL_FAILURE(check_sizes(table, scores_only({&score, 1})));
  }
}

// --- Filters ---

// Up to 31 terms in up to four plugins: needs at the headroom and one to either side, needs that
// float32 cannot hold, unlimited rows, rows that their class rejects; then scores of the rest.
TEST_P(KernelsTest, FiltersOfRandomColumns) {
  Random random(test_seed());
  for (int round = 0; round < 400; ++round) {
    std::vector<FilterTerm> terms;
    std::vector<FilterPlugin> plugins;
    const auto plugin_count = random.between(0, 4);
    for (std::int64_t p = 0; p < plugin_count; ++p) {
      FilterPlugin plugin{0, 0, random.percent(50)};
      const auto count = static_cast<std::uint32_t>(random.between(1, random.percent(20) ? 7 : 3));
      for (; plugin.count < count; ++plugin.count) {
        const auto bit = static_cast<std::uint32_t>(terms.size());
        terms.push_back(filter_term(bit, bit, some_need(random, {70, 0, false})));
        plugin.mask |= 1u << bit;
      }
      plugins.push_back(plugin);
    }
    const auto columns = static_cast<std::uint32_t>(terms.size());
    // Bits need not be consecutive: terms that no row can fail are left out of a program.
    const std::uint32_t skipped = random.percent(30) ? kFilterTermsMax - columns : 0;
    for (FilterTerm& term : terms) {
      term.bit += skipped;
    }
    for (FilterPlugin& plugin : plugins) {
      plugin.mask <<= skipped;
    }
    Scorer scorer;
    scorer.score.kind = ScoreKind::kLeast;
    scorer.add(columns, columns + 1, 1000, 1);
    const std::uint32_t class_codes[] = {0, kClassRejection | 5, 0, kClassRejection};
    const int class_percent = static_cast<int>(random.one_of(std::array{0, 20, 100}));
    const int failing_percent = static_cast<int>(random.one_of(std::array{0, 2, 15, 80}));
    Table table(kRows, columns + 1, 1);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      table.set_class(row, random.percent(class_percent)
                               ? static_cast<std::uint32_t>(random.between(0, 3))
                               : 0);
      for (const FilterTerm& term : terms) {
        const bool fails = random.percent(failing_percent);
        const std::int64_t off = fails ? -random.one_of(std::array{1, 1, 2, 1000, 1 << 30})
                                       : random.one_of(std::array{0, 0, 1, 2, 1000, 1 << 30});
        table.set(row, term.column, !fails && random.percent(20) ? kUnlimited : term.need + off);
      }
      table.set(row, columns, random.between(-1000, 100'000));
      table.set(row, columns + 1, 100'000);
    }
    const Score score = scorer.finished();
    const Program program{class_codes, terms, plugins, {&score, 1}, 0};
    ASSERT_NO_FATAL_FAILURE(check_sizes(table, program));
    const Ring ring(table, random);
    ASSERT_NO_FATAL_FAILURE(
        check_all(ring.columns(), program, table, [&](std::uint32_t i) { return ring.row(i); }));
  }
}

// Around every power of two: each need against each headroom nearby, below zero too (a pod's own
// scaling factor may be negative).
TEST_P(KernelsTest, FiltersAroundPowersOfTwo) {
  std::vector<std::int64_t> values = {kUnlimited, kUnlimited - 1, INT64_MIN, INT64_MIN + 1, 0};
  for (int bit = 0; bit < 63; ++bit) {
    for (std::int64_t off = -2; off <= 2; ++off) {
      values.push_back((std::int64_t{1} << bit) + off);
      values.push_back(-(std::int64_t{1} << bit) + off);
    }
  }
  Table table(static_cast<std::uint32_t>(values.size()), 1, 0);
  for (std::uint32_t row = 0; row < values.size(); ++row) {
    table.set(row, 0, values[row]);
  }
  for (const std::int64_t need : values) {
    const FilterTerm term = filter_term(0, 30, need);
    const FilterPlugin plugin{1, 1u << 30, true};
    const Program program{kNoRejection, {&term, 1}, {&plugin, 1}, {}, 0};
    ASSERT_NO_FATAL_FAILURE(check_all(table.columns(), program, table)) << need;
  }
}

// All scores that a profile can have at once, behind filters.
TEST_P(KernelsTest, WholePrograms) {
  Random random(test_seed());
  constexpr std::array kKinds = {ScoreKind::kSigned, ScoreKind::kLeast, ScoreKind::kMost,
                                 ScoreKind::kRatio, ScoreKind::kBalanced};
  for (int round = 0; round < 60; ++round) {
    const Style style{static_cast<int>(random.one_of(std::array{0, 3, 50})), 3, false};
    std::array<Scorer, kScoresMax> scorers;
    std::array<Score, kScoresMax> scores;
    Scorer resources = scorer_of(ScoreKind::kSigned, 2, random, style);
    for (std::size_t s = 0; s < kScoresMax; ++s) {
      scorers[s].terms = resources.terms;
      scorers[s].score.kind = kKinds[s];
      scorers[s].score.ratio_table = kTables.ascending;
      scores[s] = scorers[s].finished();
    }
    Table table(kRows, 2, 2);
    fill(table, resources, random, style);
    const FilterTerm terms[] = {filter_term(0, 0, resources.terms[0].need),
                                filter_term(1, 1, resources.terms[1].need)};
    const FilterPlugin plugins[] = {{1, 1, false}, {1, 2, false}};
    ASSERT_NO_FATAL_FAILURE(check_sizes(table, Program{kNoRejection, terms, plugins, scores, 2}));
  }
}

// --- Totals ---

struct Lines {
  Lines(LineLayout its_layout, std::uint32_t line_count)
      : layout(its_layout),
        count(line_count),
        words(std::size_t{line_count} * layout.stride() + kPadNodes) {}

  std::uint32_t rows() const { return count * kLineNodes; }
  // After the row's packed word.
  void set(std::uint32_t row, std::uint32_t score, std::int32_t raw) {
    if (layout.apart != 0) {
      words[layout.raw_apart(row, score)] = static_cast<std::uint32_t>(raw);
    } else if ((words[row] & kInfeasible) == 0) {
      words[row] = (words[row] & 0x1FFFFF) | static_cast<std::uint32_t>(raw + 923) << 21;
    }
  }
  std::int32_t raw(std::uint32_t row, std::uint32_t score) const {
    return layout.apart != 0 ? static_cast<std::int32_t>(words[layout.raw_apart(row, score)])
                             : static_cast<std::int32_t>(words[row] >> 21) - 923;
  }
  std::int32_t total(std::uint32_t row, const Totals& totals) const {
    const std::uint32_t packed = words[layout.packed(row)];
    if ((packed & kInfeasible) != 0) {
      return -1;
    }
    std::int64_t sum = 0;
    for (std::uint32_t n = 0; n < totals.layout.normalized; ++n) {
      const std::int64_t range = std::int64_t{totals.hi[n]} - totals.lo[n];
      const std::int64_t off =
          std::int64_t{std::clamp(raw(row, n), totals.lo[n], totals.hi[n])} - totals.lo[n];
      const double in_double = 100.0 * (static_cast<double>(off) / static_cast<double>(range));
      const std::int64_t value = range == 0                   ? 0
                                 : totals.normalize_in_double ? static_cast<std::int64_t>(in_double)
                                                              : off * 100 / range;
      sum += totals.normalized_weight[n] * value;
    }
    for (std::uint32_t p = 0; p < kPlainMax; ++p) {
      sum += std::int64_t{totals.plain_weight[p]} * (packed >> (7 * p) & 0x7F);
    }
    return static_cast<std::int32_t>(sum);
  }

  LineLayout layout;
  std::uint32_t count;
  std::vector<std::uint32_t> words;
};

// Of all lines, one after the other.
std::uint32_t rows_at_least(const Kernels& kernels, const Lines& lines, const Totals& totals,
                            std::int32_t at_least, RowTotal* out) {
  std::uint32_t count = 0;
  for (std::uint32_t line = 0; line < lines.count; ++line) {
    RowTotal rows[kLineNodes];
    const std::uint32_t found = kernels.rows_at_least(
        lines.words.data() + std::size_t{line} * lines.layout.stride(), totals, at_least, rows);
    for (std::uint32_t i = 0; i < found; ++i) {
      out[count++] = {line * kLineNodes + rows[i].row, rows[i].total};
    }
  }
  return count;
}

void expect_totals(const Kernels& kernels, const Lines& lines, const Totals& totals) {
  std::vector<RowTotal> expected;
  std::int32_t greatest = -1;
  for (std::uint32_t row = 0; row < lines.rows(); ++row) {
    expected.push_back({row, lines.total(row, totals)});
    greatest = std::max(greatest, expected.back().total);
  }
  std::vector<std::int32_t> maxima(lines.count), in_other_order(lines.count);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t line = 0; line < lines.count; ++line) {
    rows.push_back((lines.count - 1 - line) * kLineNodes + line % kLineNodes);
  }
  kernels.line_maxima(lines.words.data(), nullptr, lines.count, totals, maxima.data());
  kernels.line_maxima(lines.words.data(), rows.data(), lines.count, totals, in_other_order.data());
  for (std::uint32_t line = 0; line < lines.count; ++line) {
    std::int32_t most = -1;
    for (std::uint32_t i = 0; i < kLineNodes; ++i) {
      most = std::max(most, expected[line * kLineNodes + i].total);
    }
    ASSERT_EQ(maxima[line], most) << "line " << line;
    ASSERT_EQ(in_other_order[lines.count - 1 - line], most) << "line " << line;
  }
  std::vector<RowTotal> found(lines.rows());
  for (const std::int32_t at_least : {0, 1, greatest / 2, greatest - 1, greatest, greatest + 1}) {
    if (at_least < 0) {
      continue;
    }
    const std::uint32_t count = rows_at_least(kernels, lines, totals, at_least, found.data());
    std::uint32_t next = 0;
    for (const RowTotal& row_total : expected) {
      if (row_total.total >= at_least) {
        ASSERT_LT(next, count);
        ASSERT_EQ(found[next].row, row_total.row);
        ASSERT_EQ(found[next].total, row_total.total)
            << "row " << row_total.row << " lo " << totals.lo[0] << ", " << totals.lo[1] << " hi "
            << totals.hi[0] << ", " << totals.hi[1] << " weights " << totals.normalized_weight[0]
            << ", " << totals.normalized_weight[1];
        ++next;
      }
    }
    ASSERT_EQ(next, count);
  }
}

// Blocks of scores into lines: 0 to 2 normalised and 0 to 3 plain scores, rejected rows whose
// scores are anything, scores at and beyond what a line holds, every count of rows.
TEST_P(KernelsTest, PackedLines) {
  Random random(test_seed());
  for (std::uint32_t round = 0; round < 4000; ++round) {
    const std::uint32_t normalized = round % 3;
    const LineLayout layout{normalized, normalized == 2 || random.percent(50) ? normalized : 0};
    const std::int64_t raw_min = layout.apart == 0 ? -923 : kRawMin;
    const auto plain = static_cast<std::uint32_t>(random.between(0, kPlainMax));
    const std::uint32_t count = 1 + round % kBlockNodes;
    const std::uint32_t first = kBlockNodes * static_cast<std::uint32_t>(random.between(0, 3));
    const int rejected_percent = static_cast<int>(random.one_of(std::array{0, 0, 30, 100}));
    const int wide_percent = static_cast<int>(random.one_of(std::array{0, 0, 5}));
    // Some rows' codes are among the first that pack() looks at, some behind them, some nowhere.
    std::vector<CodeCount> codes(static_cast<std::size_t>(random.between(0, kPackCodesMax + 2)));
    for (std::size_t c = 0; c < codes.size(); ++c) {
      codes[c] = {kClassRejection | static_cast<std::uint32_t>(c), 3};
    }
    std::vector<CodeCount> expected_codes = codes;
    BlockScores scores;
    PackedRows expected{};
    std::fill_n(expected.lo, kNormalizedMax, INT32_MAX);
    std::fill_n(expected.hi, kNormalizedMax, INT32_MIN);
    std::vector<std::uint32_t> packed(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool rejected = random.percent(rejected_percent);
      const auto id = static_cast<std::uint32_t>(random.between(0, kPackCodesMax + 4));
      const bool known = id < codes.size() && id < kPackCodesMax;
      scores.code[i] = rejected ? kClassRejection | id : 0;
      bool fits = true;
      for (std::uint32_t s = 0; s < layout.normalized + plain; ++s) {
        const bool is_normalized = s < normalized;
        std::int64_t value =
            is_normalized ? random.between(std::max(raw_min, -5000L), 100) : random.between(0, 100);
        if (rejected) {
          value = random.between(INT32_MIN, INT32_MAX);
        } else if (random.percent(wide_percent)) {
          value = random.one_of(std::array<std::int64_t, 14>{kRawMin, kRawMin - 1, -923, -924, -1,
                                                             100, 101, 127, 128, 255, 256, 257,
                                                             INT32_MAX, INT32_MIN});
        }
        scores.score[s][i] = static_cast<std::int32_t>(value);
        if (!rejected && is_normalized) {
          expected.lo[s] = std::min(expected.lo[s], scores.score[s][i]);
          expected.hi[s] = std::max(expected.hi[s], scores.score[s][i]);
        }
        fits = fits && value >= (is_normalized ? raw_min : 0) && value <= kPlainScoreMax;
        if (!is_normalized) {
          packed[i] |= (static_cast<std::uint32_t>(value) & 0x7F) << (7 * (s - normalized));
        } else if (layout.apart == 0) {
          packed[i] |= static_cast<std::uint32_t>(value + 923) << 21;
        }
      }
      if (rejected) {
        packed[i] = kInfeasible | (known ? id : kNoCode);
        expected.no_code += !known;
        if (known) {
          ++expected_codes[id].rows;
        }
      } else if (!fits) {
        packed[i] = kWideRow;
      }
      expected.feasible += !rejected;
      expected.wide += !rejected && !fits;
    }
    constexpr std::uint32_t kUntouched = 0xABABABAB;
    std::vector<std::uint32_t> lines(layout.raw_apart(kBlockNodes * 4 + kLineNodes, 0), kUntouched);
    std::vector<std::uint32_t> words(count + kPadNodes);
    kernels().pack_words(scores, layout, plain, count, words.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(words[i], scores.code[i] == 0 ? packed[i] : kInfeasible | kNoCode) << i;
    }
    const PackedRows seen =
        kernels().pack(scores, layout, plain, first, count, codes, lines.data());
    ASSERT_EQ(seen.feasible, expected.feasible);
    ASSERT_EQ(seen.wide, expected.wide);
    ASSERT_EQ(seen.no_code, expected.no_code);
    for (std::size_t c = 0; c < codes.size(); ++c) {
      ASSERT_EQ(codes[c].rows, expected_codes[c].rows) << c;
    }
    for (std::uint32_t n = 0; n < layout.normalized; ++n) {
      ASSERT_EQ(seen.lo[n], expected.lo[n]);
      ASSERT_EQ(seen.hi[n], expected.hi[n]);
    }
    for (std::uint32_t row = 0; row < kBlockNodes * 4; ++row) {
      const bool mine = row >= first && row < first + count;
      ASSERT_EQ(lines[layout.packed(row)], mine ? packed[row - first] : kUntouched) << row;
      for (std::uint32_t n = 0; n < layout.normalized; ++n) {
        const std::uint32_t word = packed[std::min(row - first, count - 1)];
        if (mine && (word & kInfeasible) == 0 && word != kWideRow) {
          ASSERT_EQ(layout.raw(lines.data(), row, n), scores.score[n][row - first]);
        } else if (!mine && layout.apart != 0) {
          ASSERT_EQ(lines[layout.raw_apart(row, n)], kUntouched);
        }
      }
    }
  }
}

// 0 to 2 normalised scores over ranges from 0 to 2^28 (and the two ways to normalise), 0 to 3 plain
// ones, all weights, infeasible rows that hold anything, 1 to 33 lines.
TEST_P(KernelsTest, TotalsOfRandomLines) {
  Random random(test_seed());
  for (int round = 0; round < 3000; ++round) {
    Totals totals{};
    const auto normalized = static_cast<std::uint32_t>(random.between(0, kNormalizedMax));
    totals.layout = {normalized, normalized == 2 || random.percent(50) ? normalized : 0};
    const bool narrow = totals.layout.apart == 0;
    totals.normalize_in_double = random.percent(30);
    for (std::uint32_t n = 0; n < normalized; ++n) {
      const std::int64_t range = random.one_of(std::array<std::int64_t, 12>{
          0, 1, 2, 3, 99, 100, 101, 9999, 10'000, 10'001, 28'000, 1 << 28});
      const std::int64_t drawn = std::min<std::int64_t>(
          random.percent(50) ? range : random.of_any_length(28), narrow ? 1023 : 1 << 28);
      totals.hi[n] =
          static_cast<std::int32_t>(random.between((narrow ? -923 : kRawMin) + drawn, 100));
      totals.lo[n] = totals.hi[n] - static_cast<std::int32_t>(drawn);
      totals.normalized_weight[n] = static_cast<std::int32_t>(random.between(1, 10'000));
    }
    for (std::int32_t& weight : totals.plain_weight) {
      weight = static_cast<std::int32_t>(random.percent(30) ? 0 : random.between(1, 10'000));
    }
    Lines lines(totals.layout, static_cast<std::uint32_t>(random.between(1, 33)));
    const int infeasible_percent = static_cast<int>(random.one_of(std::array{0, 10, 90, 100}));
    for (std::uint32_t row = 0; row < lines.rows(); ++row) {
      const bool infeasible = random.percent(infeasible_percent);
      std::uint32_t packed = infeasible ? kInfeasible : 0;
      for (std::uint32_t p = 0; p < kPlainMax; ++p) {
        packed |= static_cast<std::uint32_t>(random.between(0, 100)) << (7 * p);
      }
      lines.words[lines.layout.packed(row)] =
          infeasible && random.percent(50) ? UINT32_MAX : packed;
      for (std::uint32_t n = 0; n < normalized; ++n) {
        const std::int64_t range = std::int64_t{totals.hi[n]} - totals.lo[n];
        const std::int64_t off =
            random.percent(50)
                ? std::clamp<std::int64_t>(
                      range * random.between(0, 100) / 100 + random.between(-1, 1), 0, range)
                : random.between(0, range);
        std::int64_t raw = totals.lo[n] + off;
        if (infeasible) {
          raw = random.between(INT32_MIN, INT32_MAX);
        } else if (random.percent(10)) {
          raw = random.between(narrow ? -923 : kRawMin, 100);  // also outside the range
        }
        lines.set(row, n, static_cast<std::int32_t>(raw));
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_totals(kernels(), lines, totals)) << "round " << round;
  }
}

// Normalised scores over every range that is done in float32 (up to 10,000) and some beyond: the
// first value of each percentage, its neighbours, and some drawn between.
TEST_P(KernelsTest, NormalizedScoresAtEveryBoundary) {
  Random random(test_seed());
  constexpr std::uint32_t kOffsets = 101 * 3 + 9;
  constexpr std::uint32_t kLineCount = (kOffsets + kLineNodes - 1) / kLineNodes;
  Lines narrow({1, 0}, kLineCount), wide({1, 1}, kLineCount);
  std::vector<RowTotal> found(wide.rows());
  for (std::int32_t step = 1; step <= 10'200; ++step) {
    const auto range =
        step <= 10'010 ? step : static_cast<std::int32_t>(10'000 + random.of_any_length(28) / 2);
    const bool is_narrow = range <= 1023 && random.percent(50);
    Lines& lines = is_narrow ? narrow : wide;
    Totals totals{};
    totals.layout = lines.layout;
    totals.normalized_weight[0] = 1;
    totals.hi[0] =
        static_cast<std::int32_t>(random.between((is_narrow ? -923 : kRawMin) + range, 100));
    totals.lo[0] = totals.hi[0] - range;
    for (const bool in_double : {false, true}) {
      if (in_double && step % 16 != 0) {
        continue;
      }
      totals.normalize_in_double = in_double;
      for (std::uint32_t row = 0; row < lines.rows(); ++row) {
        const std::int64_t boundary = (std::int64_t{range} * (row / 3) + 99) / 100;
        const std::int64_t off = row < 303
                                     ? std::clamp<std::int64_t>(boundary + row % 3 - 1, 0, range)
                                     : random.between(0, range);
        lines.set(row, 0, static_cast<std::int32_t>(totals.lo[0] + off));
      }
      const std::uint32_t count = rows_at_least(kernels(), lines, totals, 0, found.data());
      ASSERT_EQ(count, lines.rows());
      for (std::uint32_t row = 0; row < count; ++row) {
        ASSERT_EQ(found[row].total, lines.total(row, totals))
            << "range " << range << " offset " << lines.raw(row, 0) - totals.lo[0];
      }
    }
  }
}

// Counts around every vector width; few distinct values, so that the first of many must be found.
TEST_P(KernelsTest, IndexOfMax) {
  Random random(test_seed());
  for (std::uint32_t count = 1; count <= 100; ++count) {
    for (int round = 0; round < 100; ++round) {
      const std::int64_t spread = random.one_of(std::array<std::int64_t, 4>{0, 1, 5, INT32_MAX});
      std::vector<std::int32_t> values(count + kPadNodes, INT32_MAX);
      for (std::uint32_t i = 0; i < count; ++i) {
        values[i] = static_cast<std::int32_t>(round % 4 == 0 ? INT32_MIN + random.between(0, spread)
                                                             : random.between(-spread, spread));
      }
      const auto end = values.begin() + count;
      ASSERT_EQ(kernels().index_of_max(values.data(), count),
                std::max_element(values.begin(), end) - values.begin());
    }
  }
}

// A row that could hold is never cleared, and one that is short by a thousandth always is.
TEST_P(KernelsTest, KeepRows) {
  Random random(test_seed());
  for (int round = 0; round < 400; ++round) {
    const auto count = static_cast<std::uint32_t>(random.between(1, 200));
    const auto given = static_cast<std::size_t>(random.between(0, kGivenBackMax));
    const bool with_headroom = round % 5 != 0;
    const std::int64_t scale = random.one_of(
        std::array<std::int64_t, 4>{10, 1'000, std::int64_t{1} << 40, std::int64_t{1} << 60});
    std::vector<std::int64_t> truth(count);
    std::vector<float> headroom(count + kPadNodes);
    std::vector<std::vector<std::int64_t>> back(given, std::vector<std::int64_t>(count));
    std::vector<std::vector<float>> back_narrow(given, std::vector<float>(count + kPadNodes));
    std::vector<const float*> columns;
    for (std::uint32_t i = 0; i < count; ++i) {
      truth[i] = random.between(0, 20) == 0 ? kUnlimited : random.between(-scale, scale);
      headroom[i] = round_down(truth[i]);
      for (std::size_t g = 0; g < given; ++g) {
        back[g][i] = random.between(0, scale / 4);
        back_narrow[g][i] = round_up(back[g][i]);
      }
    }
    for (const std::vector<float>& column : back_narrow) columns.push_back(column.data());
    const std::int64_t need = random.between(-scale, 3 * scale / 2);
    std::vector<std::uint64_t> rows((count + kPadNodes) / 64 + 1, ~std::uint64_t{0});
    if (round % 3 == 0) rows[0] = 0x5555555555555555;
    const std::vector<std::uint64_t> before = rows;
    kernels().keep_rows(with_headroom ? headroom.data() : nullptr, columns, round_down(need), count,
                        rows.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      __int128 most = with_headroom ? truth[i] : 0;
      __int128 magnitude = most < 0 ? -most : most;
      for (std::size_t g = 0; g < given; ++g) {
        most += back[g][i];
        magnitude += back[g][i];
      }
      const bool was = (before[i / 64] >> (i % 64) & 1) != 0;
      const bool kept = (rows[i / 64] >> (i % 64) & 1) != 0;
      if (need <= most) {
        ASSERT_EQ(kept, was) << "row " << i << " could hold " << need;
      } else if (need - most > magnitude / 1000 + (need < 0 ? -need : need) / 1000 + 1) {
        ASSERT_FALSE(kept) << "row " << i << " is far from " << need;
      }
    }
  }
}

// --- What the engine hands to the kernels ---

// Rounding of columns and needs, at powers of two and their neighbours.
TEST(Narrowing, RoundsTowardsTheSafeSide) {
  for (int bit = 0; bit < 63; ++bit) {
    for (std::int64_t off = -300; off <= 300; ++off) {
      for (const std::int64_t sign : {1, -1}) {
        const std::int64_t value = sign * ((std::int64_t{1} << bit) + off);
        EXPECT_EQ(round_down(value), floor_float(value)) << value;
        EXPECT_EQ(round_up(value), ceil_float(value)) << value;
        EXPECT_TRUE(static_cast<__int128>(round_down(value)) <= value);
        EXPECT_TRUE(static_cast<__int128>(round_up(value)) >= value);
      }
    }
  }
  EXPECT_EQ(round_down(kUnlimited), HUGE_VALF);
  EXPECT_EQ(round_down(INT64_MIN), -0x1p63F);
  EXPECT_EQ(round_up(INT64_MIN), -0x1p63F);
  EXPECT_EQ(round_down(kUnlimited - 1), 0x1.fffffep62F);
  EXPECT_EQ(percent_scale(0), 0.0F);
  EXPECT_EQ(percent_scale(100), 1.0F);
  EXPECT_TRUE(std::isnan(percent_scale(-1)));
}

}  // namespace
}  // namespace headroom
