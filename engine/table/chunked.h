// Chunked: a growing array whose elements never move, with one look-up between an index and its
// element. Grows by whole chunks and never shrinks. Cost: [] is a shift, a mask and two reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

template <typename T>
class Chunked {
 public:
  T& operator[](std::uint32_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](std::uint32_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  std::uint32_t size() const { return size_; }
  // Appends a default element; returns its index.
  std::uint32_t grow() {
    if (size_ % kChunk == 0) {
      chunks_.push_back(std::make_unique<T[]>(kChunk));
    }
    return size_++;
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t size_ = 0;
};

}  // namespace headroom
