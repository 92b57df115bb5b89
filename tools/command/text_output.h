// TextOutput: a file, or standard output, written in large pieces.
//
// A file is written beside its place and takes it with close(): a full disk or an error leaves
// what was there. What is there and no regular file, a device or a pipe, is written to as it is.
// Errors are kept and returned by close(); what is written after the first one is dropped.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "objects/error.h"

namespace headroom {

class TextOutput {
 public:
  // "-" is standard output.
  static Result<TextOutput> open(const std::string& path);
  ~TextOutput();
  TextOutput(TextOutput&& other) noexcept;
  TextOutput& operator=(TextOutput&&) = delete;

  // Text to append to; write_full() sends it on when there is enough of it.
  std::string& text() { return text_; }
  void write_full() {
    if (text_.size() >= kPieceBytes) write();
  }
  // kIo, with the operating system's words, if anything could not be written.
  Result<void> close();

 private:
  static constexpr std::size_t kPieceBytes = 1 << 20;

  TextOutput(std::string path, std::string beside, std::FILE* file)
      : path_(std::move(path)), beside_(std::move(beside)), file_(file) {}
  void write();

  std::string path_;
  std::string beside_;  // where it is until close(); empty: at its place
  std::FILE* file_;     // nullptr once closed
  int error_number_ = 0;
  std::string text_;
};

}  // namespace headroom
