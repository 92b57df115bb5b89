// Points in time and durations as Kubernetes writes them, in whole nanoseconds.
#pragma once

#include <optional>
#include <string>

#include "oracle/quantity.h"

namespace oracle {

constexpr Int128 kSecond = 1'000'000'000;

// Go's zero time, 0001-01-01T00:00:00Z: what an absent time reads as.
constexpr Int128 kZeroTime = -62'135'596'800 * kSecond;

// RFC 3339 with any offset and fraction: nanoseconds since the Unix epoch.
std::optional<Int128> parse_time(const std::string& text);

// Go's time.ParseDuration ("5m0s", "0.5h", "-1.5s", "0").
std::optional<Int128> parse_duration(const std::string& text);

}  // namespace oracle
