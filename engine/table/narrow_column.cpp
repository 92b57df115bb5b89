#include "engine/table/narrow_column.h"

#include <algorithm>
#include <utility>

#include "layout/cache_line.h"
#include "objects/assert.h"

namespace headroom {

namespace {

constexpr std::size_t kCacheSets = 64;  // of a first-level cache with 4 KiB a way

}  // namespace

void NarrowColumn::grow(std::size_t rows, std::size_t kept) {
  const std::size_t floats_per_line = kCacheLineBytes / sizeof(float);
  const std::size_t stagger = (number_ * 5 % kCacheSets) * floats_per_line;
  Zeroed<float> storage(rows + stagger + kCacheSets * floats_per_line);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  const std::size_t page = kCacheSets * kCacheLineBytes;
  const std::size_t to_page = (page - address % page) % page / sizeof(float);
  float* data = storage.data() + to_page + stagger;
  HEADROOM_ASSERT(reinterpret_cast<std::uintptr_t>(data) % kCacheLineBytes == 0);
  std::copy_n(data_, kept, data);
  storage_ = std::move(storage);
  data_ = data;
}

}  // namespace headroom
