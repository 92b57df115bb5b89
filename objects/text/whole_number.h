// whole_number: a text as Go's strconv.ParseInt(text, 10, 64) reads it.
//
// Pure. Cost: O(digits).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace headroom {

// nullopt: it is none, or beyond int64.
inline std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  // Go takes one sign, from_chars no plus.
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace headroom
