// What the API server takes for the key and the value of a label.
//
// Pure. Cost: O(bytes).
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

inline constexpr std::size_t kLabelNameBytesMax =
    63;  // Also of a value, and of any qualified name.
inline constexpr std::size_t kLabelPrefixBytesMax = 253;  // A DNS subdomain.

// A name, or a DNS subdomain and a name: "example.com/team".
bool is_label_key(std::string_view key);
// Empty, or such a name: "-1" is none.
bool is_label_value(std::string_view value);

}  // namespace headroom
