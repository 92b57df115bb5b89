// HugePages: an allocator for the few big arrays that events read and write at random places, where
// most of the cost would be finding pages: large memory is asked of the system in huge pages. A
// system that refuses is slower, no more.
//
// Thread safety: as malloc. Cost: large memory is mapped by itself, in whole huge pages; what is
// not touched takes none.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace headroom {

// At least so many bytes lie in pages of their own.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Aligned to cache lines. Throws std::bad_alloc. Given back with the same number of bytes.
void* allocate_huge(std::size_t bytes);
void free_huge(void* memory, std::size_t bytes) noexcept;

// All zeros; what is not touched takes no memory. Aligned to cache lines from kMappedBytes on, else
// as malloc's. Throws std::bad_alloc. Given back with the same number of bytes.
inline constexpr std::size_t kMappedBytes = std::size_t{64} << 10;
void* allocate_zeroed(std::size_t bytes);
void free_zeroed(void* memory, std::size_t bytes) noexcept;

template <typename T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <typename U>
  HugePages(const HugePages<U>&) noexcept {}  // NOLINT: as allocators are

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(allocate_huge(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { free_huge(memory, count * sizeof(T)); }

  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

}  // namespace headroom
