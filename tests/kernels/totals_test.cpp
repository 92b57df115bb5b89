// Lines of packed scores, their totals, and the search for the greatest, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tests/kernels/kernels_rig.h"

namespace headroom::kernels_test {
namespace {

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

}  // namespace
}  // namespace headroom::kernels_test
