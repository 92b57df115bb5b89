// Durations as Go prints them ("5m0s"). Times (RFC 3339) are in object_reader.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "objects/error.h"

namespace headroom {

// Microseconds, cut toward zero. Go's time.ParseDuration: signed decimal numbers, each with a unit
// of ns, us, ms, s, m, h; "0" alone. kInvalid for other text and beyond about 292 years.
Result<std::int64_t> parse_duration_us(std::string_view text);

}  // namespace headroom
