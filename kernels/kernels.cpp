// One instruction set's kernels: the scores of a block, put together from filters, estimates,
// doubles and the exact path, and the table by which dispatch.cpp chooses.
#include "kernels/kernels.h"

#include <algorithm>
#include <cstring>

#include "kernels/block.h"
#include "kernels/exact.h"
#include "kernels/parts.h"
#include "objects/assert.h"

#define HEADROOM_STRING2(name) #name
#define HEADROOM_STRING(name) HEADROOM_STRING2(name)

namespace headroom::HEADROOM_ISA {

namespace {

// More doubtful rows than this: in doubles rather than one by one.
constexpr int kDoubtfulRowsMax = 1;

bool needs_at_least_zero(const Score& score) {
  return std::all_of(score.terms, score.terms + score.count,
                     [](const ScoreTerm& term) { return term.need >= 0; });
}

void score_rows(const Block& block, const Score& score, const RowBits& feasible,
                std::int32_t* out) {
  HEADROOM_ASSERT(score.count <= kScoreTermsMax);
  HEADROOM_ASSERT(score.kind != ScoreKind::kRatio || score.ratio_table != nullptr);
  // The error bound holds for needs of 0 and more.
  RowBits doubtful =
      needs_at_least_zero(score) ? estimate_scores(block, score, out) : everything(block.count);
  doubtful.intersect(feasible);
  if (doubtful.count() > kDoubtfulRowsMax) {
    doubtful = in_doubles(block, score, doubtful, out);
  }
  doubtful.for_each([&](std::uint32_t i) {
    const std::int64_t value = exact_score(score, block.truth(i));
    out[i] = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value, std::int64_t{kRawMin} - 1, INT32_MAX));
  });
}

bool supported() {
#if !defined(__aarch64__)
  __builtin_cpu_init();
#endif
  return HEADROOM_SUPPORTED;
}

}  // namespace

void score_block(const Columns& columns, const Program& program, std::uint32_t first,
                 std::uint32_t count, BlockScores& out) {
  HEADROOM_ASSERT(count <= kBlockNodes);
  HEADROOM_ASSERT(program.scores.size() <= kScoresMax);
  HEADROOM_ASSERT(program.normalized <=
                  std::min<std::size_t>(program.scores.size(), kNormalizedMax));
  HEADROOM_ASSERT(program.filter_terms.size() <= kFilterTermsMax);
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

extern const Kernels kKernels;
const Kernels kKernels = {HEADROOM_STRING(HEADROOM_ISA),
                          supported,
                          score_block,
                          pack,
                          pack_words,
                          line_maxima,
                          rows_at_least,
                          index_of_max,
                          keep_rows,
                          read_bytes};

}  // namespace headroom::HEADROOM_ISA
