// The kernels of one instruction set; see kernels.h for each. Compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace headroom::HEADROOM_ISA {

void score_block(const Columns& columns, const Program& program, std::uint32_t first,
                 std::uint32_t count, BlockScores& out);
PackedRows pack(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                std::uint32_t first_row, std::uint32_t count, std::span<CodeCount> codes,
                std::uint32_t* lines);
void pack_words(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                std::uint32_t count, std::uint32_t* words);
void line_maxima(const std::uint32_t* lines, const std::uint32_t* rows, std::uint32_t count,
                 const Totals& totals, std::int32_t* out);
std::uint32_t rows_at_least(const std::uint32_t* line, const Totals& totals, std::int32_t at_least,
                            RowTotal (&out)[kLineNodes]);
std::uint32_t index_of_max(const std::int32_t* values, std::uint32_t count);
void keep_rows(const float* headroom, std::span<const float* const> given_back, float need_low,
               std::uint32_t count, std::uint64_t* rows);
std::uint64_t read_bytes(const void* bytes, std::size_t size);

}  // namespace headroom::HEADROOM_ISA
