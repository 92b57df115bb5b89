// Names that a cluster accepts and that hash_bytes cannot tell apart: what a tenant would send.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// At most 16,384 names of lower-case letters and digits, 224 to 231 bytes long, all different.
// Behind `prefix` ("default/") all have one hash_bytes.
std::vector<std::string> colliding_names(std::string_view prefix, std::size_t count);

}  // namespace headroom
