#include "server/service/memory_budget.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>

namespace headroom {

namespace {

std::atomic<void*> reserve{nullptr};
std::atomic<bool> installed{false};

void give_up_reserve() {
  void* const held = reserve.exchange(nullptr);
  if (held == nullptr) throw std::bad_alloc();
  ::munmap(held, kMemoryReserveBytes);
}

std::size_t machine_memory_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
}

// "0::/path" in /proc/self/cgroup; a limit of a parent counts as well.
std::size_t cgroup_memory_max() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) path = line.substr(3);
  }
  std::size_t least = SIZE_MAX;
  for (;;) {
    std::ifstream limit("/sys/fs/cgroup" + path + "/memory.max");
    std::size_t bytes = 0;
    if (limit >> bytes) least = std::min(least, bytes);  // "max" is no number
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

std::size_t process_memory_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long size = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE)) : 0;
}

std::size_t default_memory_budget() {
  const std::size_t machine = machine_memory_bytes();
  const std::size_t group = cgroup_memory_max();
  return group < machine ? group : machine / 10 * 9;
}

void install_memory_reserve() {
  installed = true;
  retake_memory_reserve();
  std::set_new_handler(give_up_reserve);
}

bool memory_reserve_spent() { return installed && reserve == nullptr; }

void retake_memory_reserve() {
  if (!memory_reserve_spent()) return;
  // Not touched: it takes address space, and no memory.
  void* const taken = ::mmap(nullptr, kMemoryReserveBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken != MAP_FAILED) reserve = taken;
}

}  // namespace headroom
