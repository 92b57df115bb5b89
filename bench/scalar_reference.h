// What the rules cost when written down plainly: one row after the other, int64, -O3.
//
// The comparison of kernel_vs_scalar; two layouts of the same numbers, because neither is always
// faster. Only what bench_profile() needs: LimitAware, LoadAwareScheduling, LeastAllocated,
// NodeResourcesBalancedAllocation of up to two resources.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace headroom {

struct ScalarScores {
  std::vector<std::uint32_t> code;
  std::array<std::vector<std::int32_t>, kScoresMax> score;  // feasible rows only
};

// truth_rows[row][column].
void score_by_rows(const std::int64_t* const* truth_rows, const std::uint32_t* node_class,
                   const Program& program, std::uint32_t rows, ScalarScores& out);
// truth_columns[column][row].
void score_by_columns(const std::int64_t* const* truth_columns, const std::uint32_t* node_class,
                      const Program& program, std::uint32_t rows, ScalarScores& out);

}  // namespace headroom
