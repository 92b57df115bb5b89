// Amounts of resources as a person reads them: cpu in cores, memory and storage in GiB, everything
// else counted. Amounts are in the resource's unit: cpu in thousandths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/quantity.h"

namespace headroom {

// Of an amount in JSON: "milli" or "1".
const char* unit_of(std::string_view resource);
// "cpu (cores)", "memory (GiB)".
std::string resource_label(std::string_view resource);
// In whole cores or GiB, the nearest.
std::string rounded_text(std::string_view resource, std::int64_t amount);
// With a tenth where they are not whole.
std::string tenths_text(std::string_view resource, Int128 amount);
// "12.5 %"; "-" of nothing.
std::string share_text(std::int64_t part, std::int64_t whole);

}  // namespace headroom
