// Asking for memory before it is needed: most of the cost of an event is waiting for it, and what
// is asked for together is waited for once. Thread safety: reads nothing but what
// is loaded. Cost: a nanosecond a line.
#pragma once

#include <algorithm>
#include <cstddef>

#include "layout/cache_line.h"

namespace headroom {

inline void prefetch_bytes(const void* begin, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLineBytes) {
    __builtin_prefetch(static_cast<const char*>(begin) + offset);
  }
}

// The first lines of what a vector or a text keeps on the heap.
template <typename List>
void prefetch_list(const List& list) {
  constexpr std::size_t kBytesMax = 4 * kCacheLineBytes;
  prefetch_bytes(list.data(), std::min(list.size() * sizeof(list[0]), kBytesMax));
}

// What loads were summed up for, though nobody reads the sum: loads that nobody waits for. Where
// addresses are spread over many pages they bring more than prefetch instructions do (of the
// waiting in place() on an AMD EPYC, in a virtual machine, they took half away). Unlike those they
// must be of memory that is there.
inline void load_for_nobody(std::size_t sum) { asm volatile("" : : "r"(sum)); }

}  // namespace headroom
