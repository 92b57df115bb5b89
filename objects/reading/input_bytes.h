// The bytes behind a file descriptor, as one text. For readers of files, no part of the API.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "objects/limits.h"

namespace headroom {

// The bytes behind a descriptor: mapped where that is possible, which saves a copy of a large dump
// and the memory for it, else read.
class InputBytes {
 public:
  InputBytes() = default;
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;
  ~InputBytes() {
    if (mapped_ != nullptr) ::munmap(mapped_, mapped_size_);
  }

  std::string_view text() const {
    return mapped_ != nullptr ? std::string_view(static_cast<const char*>(mapped_), mapped_size_)
                              : std::string_view(read_);
  }

  // Of what is no file at most one chunk beyond kInputBytesMax is read. False with errno set: EFBIG
  // for a file with more than `most`.
  bool load(int descriptor, std::size_t most = kInputBytesMax);

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
  std::string read_;
};

}  // namespace headroom
