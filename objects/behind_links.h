// Where a file is that is to be replaced by renaming another one. Cost: a few system calls.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace headroom {

// The file that links lead to, so that they stay; `path` itself where there is none.
inline std::string behind_links(const std::string& path) {
  std::error_code leads_nowhere;
  const std::filesystem::path real = std::filesystem::canonical(path, leads_nowhere);
  return leads_nowhere ? path : real.string();
}

}  // namespace headroom
