// What is shown of a text that is too long to be shown: its beginning, never half a character.
//
// Pure function. Cost: O(1).
#pragma once

#include <cstddef>
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

}  // namespace headroom
