// How often this thread has allocated memory: the benchmarks' own operator new counts.
#pragma once

#include <cstdint>

namespace headroom {

std::uint64_t allocations_of_this_thread();

}  // namespace headroom
