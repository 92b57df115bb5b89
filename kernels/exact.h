// The same answers from the truth alone, one row at a time: what a kernel asks where its float32
// estimate lies too near an integer, and what explain() shows. Plain int64 and __int128, compiled
// for the baseline instruction set only. Pure functions.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace headroom {

// One resource's part of a score, saturated at int64; of kBalanced* how many percent of it are
// used.
std::int64_t exact_term(const Score& score, std::int64_t headroom, std::int64_t need,
                        std::int64_t capacity);

// A plugin's raw score of a row.
std::int64_t exact_score(const Score& score, const Truth& truth);

// The code of a row that its class does not reject.
std::uint32_t exact_code(const Program& program, const Truth& truth);

// Keeps what the first rejecting plugin says: `code` has a bit per failing term.
std::uint32_t first_rejection(const Program& program, std::uint32_t code);

// trunc of the normalised score, as Totals has it; lo <= raw <= hi.
std::int64_t normalize(std::int64_t raw, std::int64_t lo, std::int64_t hi, bool in_double);

// The packed word of feasible row i in a cached line: kWideRow, or its scores. `plain` scores
// follow the normalised ones.
std::uint32_t pack_row(const BlockScores& scores, LineLayout layout, std::uint32_t plain,
                       std::uint32_t i);

// Column narrowing. Largest float <= value, smallest float >= value; kUnlimited becomes infinity.
float round_down(std::int64_t value);
float round_up(std::int64_t value);
// 100 / capacity, 0 for 0. NaN below 0 (a negative ratio, mode Upstream): no estimate holds.
float percent_scale(std::int64_t capacity);

}  // namespace headroom
