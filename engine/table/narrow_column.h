// NarrowColumn: float32 values, 64-byte aligned, each column starting on a cache set of its own, so
// that kernels which read many columns at the same place do not push one out by another.
// Thread safety: a plain value, that cannot be copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/zeroed.h"

namespace headroom {

class NarrowColumn {
 public:
  // `number` of the column among its neighbours.
  NarrowColumn(std::uint32_t number, std::size_t rows) : number_(number) { grow(rows, 0); }
  NarrowColumn(NarrowColumn&&) = default;
  NarrowColumn& operator=(NarrowColumn&&) = default;

  // Room for so many; the first `kept` stay, the others are 0, and take no memory until they are
  // written.
  void grow(std::size_t rows, std::size_t kept);
  float* data() { return data_; }

 private:
  std::uint32_t number_;
  Zeroed<float> storage_;
  float* data_ = nullptr;
};

}  // namespace headroom
