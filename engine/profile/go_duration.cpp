// See go_duration.h.
#include "engine/profile/go_duration.h"

#include <algorithm>
#include <array>
#include <utility>

#include "objects/digit.h"
#include "objects/quantity.h"

namespace headroom {

namespace {

// Go's units of a duration, in nanoseconds.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kDurationUnits = {
    {{"ns", 1},
     {"us", 1'000},
     {"\u00b5s", 1'000},
     {"\u03bcs", 1'000},
     {"ms", 1'000'000},
     {"s", 1'000'000'000},
     {"m", 60'000'000'000},
     {"h", 3'600'000'000'000}}};

}  // namespace

std::optional<std::int64_t> parse_go_duration_ns(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  Int128 total_ns = 0;
  do {
    Int128 whole = 0;
    Int128 fraction = 0;
    Int128 scale = 1;
    std::size_t digits = 0;
    std::size_t at = 0;
    for (; at < text.size() && is_digit(text[at]); ++at, ++digits) {
      whole = whole * 10 + (text[at] - '0');
      if (whole > INT64_MAX) return std::nullopt;
    }
    if (at < text.size() && text[at] == '.') {
      for (++at; at < text.size() && is_digit(text[at]); ++at, ++digits) {
        if (scale > 1'000'000'000'000'000) continue;  // far below a nanosecond of an hour
        fraction = fraction * 10 + (text[at] - '0');
        scale *= 10;
      }
    }
    if (digits == 0) return std::nullopt;
    std::size_t unit_end = at;
    while (unit_end < text.size() && text[unit_end] != '.' && !is_digit(text[unit_end])) ++unit_end;
    const std::string_view name = text.substr(at, unit_end - at);
    const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                   [&](const auto& candidate) { return candidate.first == name; });
    if (unit == kDurationUnits.end()) return std::nullopt;
    total_ns += whole * unit->second + fraction * unit->second / scale;
    if (total_ns > INT64_MAX) return std::nullopt;
    text.remove_prefix(unit_end);
  } while (!text.empty());
  return static_cast<std::int64_t>(negative ? -total_ns : total_ns);
}

}  // namespace headroom
