// A file whole.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace headroom {

// Empty where there is none.
inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace headroom
