#include "objects/selector_syntax.h"

#include "objects/text/label_syntax.h"
#include "objects/text/whole_number.h"

namespace headroom {

std::string problem_of_requirement(const NodeSelectorRequirement& asked, bool compares) {
  const auto problem = [&](const std::string& what) { return asked.key + ": " + what; };
  if (!is_label_key(asked.key)) return "key \"" + asked.key + "\" is not a label key";
  if (asked.op == "In" || asked.op == "NotIn") {
    if (asked.values.empty()) return problem(asked.op + " needs values");
  } else if (asked.op == "Exists" || asked.op == "DoesNotExist") {
    if (!asked.values.empty()) return problem(asked.op + " takes no values");
  } else if (compares && (asked.op == "Gt" || asked.op == "Lt")) {
    if (asked.values.size() != 1 || !whole_number(asked.values.front())) {
      return problem(asked.op + " needs one value, an integer");
    }
  } else {
    return problem("operator \"" + asked.op +
                   "\" is not known; accepted: In, NotIn, Exists, DoesNotExist" +
                   (compares ? ", Gt, Lt" : ""));
  }
  for (const std::string& value : asked.values) {
    if (!is_label_value(value)) return problem("\"" + value + "\" is not a label value");
  }
  return {};
}

std::string requirement_text(const NodeSelectorRequirement& asked) {
  if (asked.op == "Exists") return asked.key;
  if (asked.op == "DoesNotExist") return '!' + asked.key;
  std::string values;
  for (const std::string& value : asked.values) {
    values += (values.empty() ? "" : ",") + value;
  }
  const bool one = asked.values.size() == 1;
  if (asked.op == "In") {
    return one ? asked.key + '=' + values : asked.key + " in (" + values + ')';
  }
  if (asked.op == "NotIn") {
    return one ? asked.key + "!=" + values : asked.key + " notin (" + values + ')';
  }
  return asked.key + ' ' + asked.op + ' ' + values;
}

}  // namespace headroom
