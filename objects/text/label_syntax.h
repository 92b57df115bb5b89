// What the API server takes for the key and the value of a label.
//
// Pure. Cost: O(bytes).
#pragma once

#include <string_view>

namespace headroom {

// A name of at most 63 bytes, or a DNS subdomain of at most 253 and a name: "example.com/team".
bool is_label_key(std::string_view key);
// Empty, or such a name: "-1" is none.
bool is_label_value(std::string_view value);

}  // namespace headroom
