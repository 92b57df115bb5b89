// Results that a test cannot go on without.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "objects/error.h"

namespace headroom {

// The value, or its error's message as std::runtime_error.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace headroom
