// ExactLook: what the rows say one by one of a shape whose answers no line holds (host ports, needs
// that depend on the node): why each rejects it, or its raw scores.
//
// As a CachedShape it is valid at an epoch of the table, and brought to the present by the rows
// that changed since. It is begun in turns: rows below `next` have been looked at. Plain data; the
// evaluator keeps some of them, for the shapes that were asked for last.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace headroom {

// Of so many shapes at a time; whoever asks for another one waits until one of them is complete.
inline constexpr std::uint32_t kExactLooksMax = 4;
// Questions after which one that nobody went on with is given up.
inline constexpr std::uint64_t kExactLookAbandoned = 1024;

struct ExactLook {
  std::string key;  // of the shape; empty: of none
  std::uint64_t shapes_generation = 0, class_generation = 0, epoch = 0;
  std::uint64_t used = 0;  // by the evaluator's count of questions
  std::uint32_t next = 0;
  bool complete = false;             // it was, since it was begun: another shape may have its place
  std::vector<std::uint32_t> codes;  // by row; 0: feasible
  std::vector<std::array<std::int64_t, kScoresMax>> raw;  // by row, of feasible ones
};

}  // namespace headroom
