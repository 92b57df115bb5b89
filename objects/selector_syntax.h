// What the API server takes for a requirement of a selector of labels, and how kubectl writes one.
//
// Pure. Cost: O(bytes).
#pragma once

#include <string>

#include "objects/objects.h"

namespace headroom {

// What labels.NewRequirement refuses: "app: In needs values"; "" if nothing. `compares`: Gt and Lt
// are known, as to node selector terms; to metav1.LabelSelector they are not.
std::string problem_of_requirement(const NodeSelectorRequirement& asked, bool compares);

// "rack=r1", "rack!=r1", "rack in (r1,r2)", "rack notin (r1,r2)", "rack", "!rack", "cores Gt 4".
std::string requirement_text(const NodeSelectorRequirement& asked);

}  // namespace headroom
