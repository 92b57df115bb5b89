// TemporaryDirectory: a new directory that goes with its contents when its owner does.
#pragma once

#include <string>

#include "objects/error.h"

namespace headroom {

class TemporaryDirectory {
 public:
  // PREFIX-?????? in the system's directory for such files.
  static Result<TemporaryDirectory> make(const std::string& prefix);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace headroom
