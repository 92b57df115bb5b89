#include "engine/profile/selector_check.h"

#include <fmt/format.h>

#include "objects/label_syntax.h"
#include "objects/whole_number.h"

namespace headroom {

std::string problem_of_expression(const NodeSelectorRequirement& asked) {
  const auto problem = [&](std::string_view what) {
    return fmt::format("{}: {}", asked.key, what);
  };
  if (!is_label_key(asked.key)) return fmt::format("key \"{}\" is not a label key", asked.key);
  if (asked.op == "In" || asked.op == "NotIn") {
    if (asked.values.empty()) return problem(asked.op + " needs values");
  } else if (asked.op == "Exists" || asked.op == "DoesNotExist") {
    if (!asked.values.empty()) return problem(asked.op + " takes no values");
  } else if (asked.op == "Gt" || asked.op == "Lt") {
    if (asked.values.size() != 1 || !whole_number(asked.values.front())) {
      return problem(asked.op + " needs one value, an integer");
    }
  } else {
    return problem(
        fmt::format("operator \"{}\" is not known; accepted: In, NotIn, Exists, DoesNotExist, Gt, "
                    "Lt",
                    asked.op));
  }
  for (const std::string& value : asked.values) {
    if (!is_label_value(value)) return problem(fmt::format("\"{}\" is not a label value", value));
  }
  return {};
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
