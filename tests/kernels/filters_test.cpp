// Filters on every instruction set, alone and before all scores that a profile can have.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/kernels/random_columns.h"

namespace headroom::kernels_test {
namespace {

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

}  // namespace
}  // namespace headroom::kernels_test
