// What memory is fetched by.
#pragma once

#include <cstddef>

namespace headroom {

inline constexpr std::size_t kCacheLineBytes = 64;

}  // namespace headroom
