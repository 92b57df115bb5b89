// Memory: what the process holds, what it may hold, and a reserve for when there is none left.
//
// The reserve is address space that nothing uses. Where an allocation fails it is given up, so that
// the operation under way can end; from then on new work is refused until it could be taken again.
// A cgroup's limit does not fail an allocation but ends the process: against that stands the
// budget, which the service holds itself to (service_faults.cpp).
//
// Thread safety: all of it from any thread. Cost: a read of /proc/self/statm.
#pragma once

#include <cstddef>

namespace headroom {

// More than a fact or a request may need: kFrameBytesMax, kRequestBytesMax and what is made of
// them.
inline constexpr std::size_t kMemoryReserveBytes = 64 << 20;

// Pages of this process in memory; 0 where /proc does not say.
std::size_t process_memory_bytes();
// The limit of the process' cgroup (version 2); where there is none, 90 % of the machine's memory.
std::size_t default_memory_budget();

// Takes the reserve, and gives it up where an allocation fails.
void install_memory_reserve();
// Whether it had to be given up, or could not be taken; false where it was never installed.
bool memory_reserve_spent();
// Takes it again if there is room.
void retake_memory_reserve();

}  // namespace headroom
