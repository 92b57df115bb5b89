// The limits of every text and of every list in a request: kTextBytesMax and kItemsPerListMax.
//
// Pure functions. Cost: O(1), and an allocation where a limit is exceeded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "objects/error.h"

namespace headroom {

// kLimitExceeded. Before a text is copied or hashed: a frame may refer to one many times.
Result<void> check_text(const char* field, std::string_view text);
Result<void> check_items(const char* field, std::size_t items);

// What these errors say after the field: "1025 bytes: kTextBytesMax is 1024".
std::string too_many_bytes(std::size_t bytes);
std::string too_many_items(std::size_t items);

}  // namespace headroom
