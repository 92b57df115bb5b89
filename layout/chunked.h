// Chunked: a growing array whose elements never move, with one look-up between an index and its
// element. Grows by whole chunks and never shrinks; those of a large one lie in huge pages, several
// together. Cost: [] is a shift, a mask and two reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "layout/huge_pages.h"

namespace headroom {

template <typename T>
class Chunked {
 public:
  Chunked() = default;
  Chunked(const Chunked&) = delete;
  Chunked& operator=(const Chunked&) = delete;
  ~Chunked() {
    for (std::uint32_t i = 0; i < size_; ++i) {
      std::destroy_at(&(*this)[i]);
    }
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      memory_.deallocate(blocks_[b], elements_in(b));
    }
  }

  T& operator[](std::uint32_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](std::uint32_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  std::uint32_t size() const { return size_; }
  // Appends a default element; returns its index.
  std::uint32_t grow() {
    if (size_ == chunks_.size() * kChunk) {
      add_block();
    }
    std::construct_at(&(*this)[size_]);
    return size_++;
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;
  // A block is a chunk, and later so many: a multiple of a huge page where an element is one of 64
  // bytes.
  static constexpr std::size_t kSmallBlocks = 32, kChunksInBlock = 32;

  static std::size_t elements_in(std::size_t block) {
    return block < kSmallBlocks ? kChunk : kChunksInBlock * kChunk;
  }
  void add_block() {
    const std::size_t count = elements_in(blocks_.size());
    blocks_.reserve(blocks_.size() + 1);
    chunks_.reserve(chunks_.size() + count / kChunk);
    blocks_.push_back(memory_.allocate(count));
    for (std::size_t first = 0; first < count; first += kChunk) {
      chunks_.push_back(blocks_.back() + first);
    }
  }

  HugePages<T> memory_;
  std::vector<T*> blocks_, chunks_;  // what was allocated, and its parts
  std::uint32_t size_ = 0;
};

}  // namespace headroom
