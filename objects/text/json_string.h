// A JSON string with its quotes: escapes are those that JSON asks for, all other bytes stay as they
// are, of valid UTF-8 or not.
//
// Pure function. Cost: O(text).
#pragma once

#include <string>
#include <string_view>

namespace headroom {

inline void append_json_string(std::string& text, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20) {
      text += "\\u00";
      text += kHex[byte >> 4];
      text += kHex[byte & 0xF];
    } else {
      text += c;
    }
  }
  text += '"';
}

}  // namespace headroom
