// What is shown of a text that is too long to be shown: its beginning, never half a character.
//
// Pure functions. Cost: O(1).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

// At most so many bytes, cut between UTF-8 sequences.
inline std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return text;
  }
  std::size_t cut = bytes_max;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) {
    --cut;
  }
  return text.substr(0, cut);
}

// "TEXT" as a message shows it, or "BEGINNING"... where it has more than 64 bytes. A JSON value
// stands without `quote` around it.
inline std::string shortened(std::string_view text, std::string_view quote = "\"") {
  constexpr std::size_t kShownMax = 64;
  std::string result(quote);
  result += utf8_prefix(text, kShownMax);
  result += quote;
  if (text.size() > kShownMax) result += "...";
  return result;
}

}  // namespace headroom
