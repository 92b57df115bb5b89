// What kube-scheduler refuses in the selectors of a profile (labels.NewRequirement, and its like
// for fields).
#pragma once

#include <string>

#include "objects/objects.h"

namespace headroom {

// Of matchExpressions, and of matchFields. "": nothing is wrong.
std::string problem_of_expression(const NodeSelectorRequirement& asked);
std::string problem_of_field(const NodeSelectorRequirement& asked);

}  // namespace headroom
