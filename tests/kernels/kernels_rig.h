// What tests of the kernels stand on: the plain integer arithmetic that kernels.h promises, written
// here a second time, rows as an engine keeps them, programs, and the comparison with what an
// instruction set answers, as bits.
//
// Thread safety: one thread at a time. Cost: the reference works on one row at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/exact.h"
#include "kernels/kernels.h"
#include "tests/support/seed.h"

namespace headroom::kernels_test {

// --- The reference: int64 and __int128, one row at a time ---

inline std::int64_t saturated(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, INT64_MIN, INT64_MAX));
}

// A resource's score; the capacity is above 0 (kSigned: or below).
inline __int128 reference_term(const Score& score, std::int64_t headroom, std::int64_t need,
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
inline std::int64_t reference_balance(const Score& score, const std::int64_t* truth,
                                      bool with_pod) {
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

inline std::int64_t reference_mean(const Score& score, const std::int64_t* truth) {
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

inline std::int32_t reference_score(const Score& score, const std::int64_t* truth) {
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

inline std::uint32_t reference_code(const Program& program, std::uint32_t node_class,
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

inline float floor_float(std::int64_t value) {
  float result = static_cast<float>(value);
  while (static_cast<__int128>(result) > value) {
    result = std::nextafter(result, -HUGE_VALF);
  }
  return value == kUnlimited ? HUGE_VALF : result;
}

inline float ceil_float(std::int64_t value) {
  float result = static_cast<float>(value);
  while (static_cast<__int128>(result) < value) {
    result = std::nextafter(result, HUGE_VALF);
  }
  return result;
}

inline float scale_float(std::int64_t capacity) {
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
inline constexpr float kPadding = -3.5e37F;

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

inline FilterTerm filter_term(std::uint32_t column, std::uint32_t bit, std::int64_t need) {
  return {column, bit, need, floor_float(need), ceil_float(need)};
}

inline constexpr std::uint32_t kNoRejection[] = {0};

inline Program scores_only(std::span<const Score> scores) {
  return {kNoRejection, {}, {}, scores, 0};
}

inline std::string describe(const Score& score, const std::int64_t* truth) {
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

}  // namespace headroom::kernels_test
