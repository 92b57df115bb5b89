// Comparing the engine's fast answers with row-by-row evaluation.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/engine.h"

namespace headroom {

class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void check(bool holds, const std::string& what);
// The value, or CheckFailed with the error's message.
template <typename T>
T value_of(Result<T> result) {
  check(result.has_value(), result ? "" : result.error().message);
  return std::move(*result);
}
inline void check_done(const Result<void>& result) {
  check(result.has_value(), result ? "" : result.error().message);
}

// That `decision` is what Engine::evaluate_all() of the same pod leads to.
void check_decision(Engine& engine, const Pod& pod, const EvaluateOptions& options,
                    const Decision& decision);
// That two decisions are the same but for their epochs.
void check_equal(const Decision& a, const Decision& b);

}  // namespace headroom
