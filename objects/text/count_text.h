// A count and its noun, as messages and reports write them: "1 node", "2 nodes".
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

inline std::string count_text(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace headroom
