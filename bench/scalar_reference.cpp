#include "bench/scalar_reference.h"

#include <algorithm>
#include <cmath>

namespace headroom {

namespace {

template <typename Truth>
std::uint32_t code_of(const Program& program, const Truth& truth) {
  std::size_t t = 0;
  for (const FilterPlugin& plugin : program.filter_plugins) {
    std::uint32_t code = 0;
    for (std::uint32_t i = 0; i < plugin.count; ++i, ++t) {
      const FilterTerm& term = program.filter_terms[t];
      if (term.need > truth(term.column)) {
        code |= 1u << term.bit;
      }
    }
    if (code != 0) {
      return plugin.first_only ? code & (~code + 1) : code;
    }
  }
  return 0;
}

template <typename Truth>
std::int32_t mean_score(const Score& score, const Truth& truth) {
  std::int64_t sum = 0, weights = 0;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth(term.capacity);
    if (capacity == 0 && !score.zero_capacity_counts) {
      continue;
    }
    const std::int64_t headroom = truth(term.headroom);
    std::int64_t value = 0;
    if (capacity != 0 && (score.kind != ScoreKind::kLeast || headroom > term.need)) {
      value = (headroom - term.need) * 100 / capacity;
    }
    if (score.at_most_100) {
      value = std::min<std::int64_t>(value, 100);
    }
    sum += value * term.weight;
    weights += term.weight;
  }
  return weights == 0 ? 0 : static_cast<std::int32_t>(sum / weights);
}

template <typename Truth>
std::int32_t balance_score(const Score& score, const Truth& truth) {
  double fractions[2] = {0, 0};
  std::uint32_t count = 0;
  for (std::uint32_t t = 0; t < score.count; ++t) {
    const ScoreTerm& term = score.terms[t];
    const std::int64_t capacity = truth(term.capacity);
    if (capacity != 0) {
      const std::int64_t used = capacity - truth(term.headroom) + term.need;
      fractions[count++] = std::min(static_cast<double>(used) / static_cast<double>(capacity), 1.0);
    }
  }
  const double deviation = count == 2 ? std::abs((fractions[0] - fractions[1]) / 2) : 0;
  return static_cast<std::int32_t>((1 - deviation) * 100.0);
}

template <typename TruthOfRow>
void score_all(const TruthOfRow& truth_of_row, const std::uint32_t* node_class,
               const Program& program, std::uint32_t rows, ScalarScores& out) {
  out.code.resize(rows);
  for (std::size_t s = 0; s < program.scores.size(); ++s) {
    out.score[s].resize(rows);
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto truth = truth_of_row(row);
    const std::uint32_t by_class = program.class_code[node_class[row]];
    out.code[row] = by_class != 0 ? by_class : code_of(program, truth);
    if (out.code[row] != 0) {
      continue;
    }
    for (std::size_t s = 0; s < program.scores.size(); ++s) {
      const Score& score = program.scores[s];
      out.score[s][row] = score.kind == ScoreKind::kBalanced ? balance_score(score, truth)
                                                             : mean_score(score, truth);
    }
  }
}

}  // namespace

void score_by_rows(const std::int64_t* const* truth_rows, const std::uint32_t* node_class,
                   const Program& program, std::uint32_t rows, ScalarScores& out) {
  const auto truth_of_row = [&](std::uint32_t row) {
    return [truth = truth_rows[row]](std::uint32_t column) { return truth[column]; };
  };
  score_all(truth_of_row, node_class, program, rows, out);
}

void score_by_columns(const std::int64_t* const* truth_columns, const std::uint32_t* node_class,
                      const Program& program, std::uint32_t rows, ScalarScores& out) {
  const auto truth_of_row = [&](std::uint32_t row) {
    return [truth_columns, row](std::uint32_t column) { return truth_columns[column][row]; };
  };
  score_all(truth_of_row, node_class, program, rows, out);
}

}  // namespace headroom
