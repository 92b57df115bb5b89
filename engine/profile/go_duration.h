// Durations as Go writes them: "1h15m", "0.25h", "300s".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

// Nanoseconds of a duration, which may have a sign; nullopt if the text is none or beyond int64. A
// fraction finer than a nanosecond is cut off, as Go does.
std::optional<std::int64_t> parse_go_duration_ns(std::string_view text);

}  // namespace headroom
