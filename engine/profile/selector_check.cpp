#include "engine/profile/selector_check.h"

#include <fmt/format.h>

#include "objects/selector_syntax.h"

namespace headroom {

std::string problem_of_expression(const NodeSelectorRequirement& asked) {
  return problem_of_requirement(asked, true);
}

std::string problem_of_field(const NodeSelectorRequirement& asked) {
  if (asked.key != "metadata.name") {
    return fmt::format("key \"{}\" is not known; accepted: metadata.name", asked.key);
  }
  if ((asked.op != "In" && asked.op != "NotIn") || asked.values.size() != 1) {
    return fmt::format("{}: operator \"{}\" with {} values; accepted: In or NotIn with one",
                       asked.key, asked.op, asked.values.size());
  }
  return {};
}

}  // namespace headroom
