// Times (RFC 3339), and durations as Go prints them ("5m0s").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "objects/error.h"

namespace headroom {

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;

// Microseconds since the Unix epoch of "2026-01-01T00:00:00Z", with any offset and fraction; what
// is finer than a microsecond is dropped. kInvalid for other text, which the message holds.
Result<std::int64_t> parse_time_us(std::string_view rfc3339);

// "2026-01-01T00:00:00Z", with microseconds where there are any.
void append_time(std::string& text, std::int64_t time_us);
std::string time_text(std::int64_t time_us);
std::string time_text(const std::optional<std::int64_t>& time_us);  // "" for none
std::string second_text(std::int64_t time_us);                      // without the microseconds

// Nanoseconds, as Go's time.ParseDuration reads and rounds them: signed decimal numbers, each with
// a unit of ns, us, ms, s, m, h; "0" alone. nullopt for other text and beyond about 292 years.
std::optional<std::int64_t> parse_go_duration_ns(std::string_view text);
// In microseconds, cut toward zero. kInvalid for such text, which the message holds.
Result<std::int64_t> parse_duration_us(std::string_view text);

}  // namespace headroom
