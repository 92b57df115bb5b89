// Writes text by stdio.
#include "tools/text_output.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace headroom {
namespace {

tl::unexpected<Error> io_failure(const std::string& path, int error_number) {
  return fail(ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(error_number));
}

}  // namespace

Result<TextOutput> TextOutput::open(const std::string& path) {
  if (path == "-") return TextOutput("standard output", stdout);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return io_failure(path, errno);
  return TextOutput(path, file);
}

TextOutput::TextOutput(TextOutput&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, nullptr)),
      error_number_(other.error_number_),
      text_(std::move(other.text_)) {}

TextOutput::~TextOutput() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void TextOutput::write() {
  if (error_number_ == 0 && std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
    error_number_ = errno;
  }
  text_.clear();
}

Result<void> TextOutput::close() {
  write();
  std::FILE* file = std::exchange(file_, nullptr);
  const int closed = file == stdout ? std::fflush(file) : std::fclose(file);
  if (error_number_ == 0 && closed != 0) error_number_ = errno;
  if (error_number_ != 0) return io_failure(path_, error_number_);
  return {};
}

}  // namespace headroom
