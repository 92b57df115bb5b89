// Writes text by stdio.
#include "tools/command/text_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "objects/behind_links.h"

namespace headroom {
namespace {

tl::unexpected<Error> io_failure(const std::string& path, int error_number) {
  return fail(ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(error_number));
}

}  // namespace

Result<TextOutput> TextOutput::open(const std::string& path) {
  if (path == "-") return TextOutput("standard output", "", stdout);
  struct stat there {};
  // /dev/stdout may lead to a file that others append to.
  if (path.starts_with("/dev/") || path.starts_with("/proc/") ||
      (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))) {
    std::FILE* const file = std::fopen(path.c_str(), "ab");
    if (file == nullptr) return io_failure(path, errno);
    return TextOutput(path, "", file);
  }
  const std::string target = behind_links(path);
  std::string beside = target + "." + std::to_string(::getpid()) + ".part";
  std::FILE* const file = std::fopen(beside.c_str(), "wbx");
  if (file == nullptr) return io_failure(path, errno);
  return TextOutput(target, std::move(beside), file);
}

TextOutput::TextOutput(TextOutput&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      file_(std::exchange(other.file_, nullptr)),
      error_number_(other.error_number_),
      text_(std::move(other.text_)) {}

TextOutput::~TextOutput() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!beside_.empty()) std::remove(beside_.c_str());
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
  if (error_number_ == 0 && !beside_.empty()) {
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) {
      error_number_ = errno;
    } else {
      beside_.clear();
    }
  }
  if (error_number_ != 0) return io_failure(path_, error_number_);
  return {};
}

}  // namespace headroom
