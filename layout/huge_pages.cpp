#include "layout/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "layout/cache_line.h"

namespace headroom {

namespace {

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

void* map(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* allocate_huge(std::size_t bytes) {
  if (bytes < kHugePageBytes) {
    return ::operator new (bytes, std::align_val_t{kCacheLineBytes});
  }
  // Room to align it; what lies before and behind goes back.
  const std::size_t size = whole_pages(bytes);
  char* const first = static_cast<char*>(map(size + kHugePageBytes));
  const std::size_t before = whole_pages(reinterpret_cast<std::uintptr_t>(first)) -
                             reinterpret_cast<std::uintptr_t>(first);
  if (before != 0) {
    ::munmap(first, before);
  }
  if (kHugePageBytes != before) {
    ::munmap(first + before + size, kHugePageBytes - before);
  }
  ::madvise(first + before, size, MADV_HUGEPAGE);
  return first + before;
}

void free_huge(void* memory, std::size_t bytes) noexcept {
  if (bytes < kHugePageBytes) {
    ::operator delete (memory, std::align_val_t{kCacheLineBytes});
  } else {
    ::munmap(memory, whole_pages(bytes));
  }
}

void* allocate_zeroed(std::size_t bytes) {
  if (bytes >= kHugePageBytes) {
    return allocate_huge(bytes);
  }
  if (bytes >= kMappedBytes) {
    return map(bytes);
  }
  void* const memory = std::calloc(bytes, 1);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void free_zeroed(void* memory, std::size_t bytes) noexcept {
  if (bytes >= kHugePageBytes) {
    free_huge(memory, bytes);
  } else if (bytes >= kMappedBytes) {
    ::munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace headroom
