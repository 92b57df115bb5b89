// Facts that stories and other tests of the engine begin from. What an engine refuses throws
// std::invalid_argument.
#pragma once

#include <stdexcept>

#include "engine/engine.h"

namespace headroom {

// One after the other.
template <typename... Facts>
void tell(Engine& engine, const Facts&... facts) {
  const auto one = [&](const auto& fact) {
    if (const Result<void> told = engine.upsert(fact); !told) {
      throw std::invalid_argument(told.error().message);
    }
  };
  (one(facts), ...);
}

}  // namespace headroom
