// parse_percent: a text like "125%", as Go's intstr.GetScaledValueFromIntOrPercent reads it.
//
// Pure. Cost: O(digits).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/profile/profile.h"
#include "objects/text/digit.h"
#include "objects/text/whole_number.h"

namespace headroom {

// nullopt: it is none, or beyond int32. Proposal knows no sign.
inline std::optional<std::int64_t> parse_percent(std::string_view text, Mode mode) {
  if (!text.ends_with('%') || (mode == Mode::kProposal && !is_digit(text.front()))) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  const std::optional<std::int64_t> percent = whole_number(text);
  return percent && *percent >= INT32_MIN && *percent <= INT32_MAX ? percent : std::nullopt;
}

}  // namespace headroom
