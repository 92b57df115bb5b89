// Scores of every kernel on every instruction set of this machine against the plain integer
// arithmetic that kernels.h promises. Tolerance: none, answers are compared as bits, so all
// instruction sets agree with each other too.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/random_columns.h"

namespace headroom::kernels_test {
namespace {

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

}  // namespace
}  // namespace headroom::kernels_test
