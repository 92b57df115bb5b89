#include "workloads/temporary_directory.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace headroom {

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& prefix) {
  std::string path =
      (std::filesystem::temp_directory_path() / (prefix + "-" + std::string(6, 'X'))).string();
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace headroom
