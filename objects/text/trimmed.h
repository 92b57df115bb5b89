// trimmed: a text without the blanks around it, as Go's strings.TrimSpace, for ASCII.
//
// Pure. Cost: O(blanks).
#pragma once

#include <string_view>

namespace headroom {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace headroom
