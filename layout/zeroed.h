// Zeroed: an array that is all zeros when it is made, of which only what is touched takes memory: a
// large one costs a system call, whatever its size.
//
// For values that zeros are a value of. Thread safety: as the values'. Move only.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "layout/huge_pages.h"

namespace headroom {

template <typename T>
class Zeroed {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Zeroed() = default;
  // Throws std::bad_alloc.
  explicit Zeroed(std::size_t size)
      : data_(static_cast<T*>(allocate_zeroed(size * sizeof(T)))), size_(size) {}
  Zeroed(Zeroed&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Zeroed& operator=(Zeroed&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Zeroed() {
    if (data_ != nullptr) {
      free_zeroed(data_, size_ * sizeof(T));
    }
  }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headroom
