// What the API server takes for the key and the value of a label, and for a selector of labels.
//
// Pure. Cost: O(bytes).
#pragma once

#include <string>
#include <string_view>

#include "objects/objects.h"

namespace headroom {

// A name of at most 63 bytes, or a DNS subdomain of at most 253 and a name: "example.com/team".
bool is_label_key(std::string_view key);
// Empty, or such a name: "-1" is none.
bool is_label_value(std::string_view value);

// What labels.NewRequirement refuses: "app: In needs values"; "" if nothing. `compares`: Gt and Lt
// are known, as to node selector terms; to metav1.LabelSelector they are not.
std::string problem_of_requirement(const NodeSelectorRequirement& asked, bool compares);

}  // namespace headroom
