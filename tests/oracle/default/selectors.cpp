// See selectors.h.
#include "oracle/default/selectors.h"

#include <algorithm>
#include <charconv>

#include "oracle/label_selector.h"

namespace oracle::defaults {
namespace {

std::vector<Requirement> read_requirements(const Json& list) {
  std::vector<Requirement> requirements;
  for (const Json& entry : list) {
    Requirement requirement{text(entry, "key"), text(entry, "operator"), {}};
    for (const Json& value : child(entry, "values")) {
      requirement.values.push_back(value.get<std::string>());
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

NodeSelectorTerm read_term(const Json& term) {
  return {read_requirements(child(term, "matchExpressions")),
          read_requirements(child(term, "matchFields"))};
}

bool lists(const Requirement& requirement, const std::string& value) {
  return std::find(requirement.values.begin(), requirement.values.end(), value) !=
         requirement.values.end();
}

// strconv.ParseInt(text, 10, 64).
std::optional<std::int64_t> to_integer(const std::string& text) {
  const bool plus = !text.empty() && text[0] == '+';
  const char* begin = text.data() + (plus ? 1 : 0);
  const char* end = text.data() + text.size();
  if (plus && begin != end && *begin == '-') return std::nullopt;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// labels.NewRequirement: "Gt "-1" is no label value".
bool is_valid_expression(const Requirement& requirement) {
  if (!is_label_key(requirement.key)) return false;
  const std::vector<std::string>& values = requirement.values;
  if (requirement.op == "In" || requirement.op == "NotIn") {
    if (values.empty()) return false;
  } else if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
    if (!values.empty()) return false;
  } else if (requirement.op == "Gt" || requirement.op == "Lt") {
    if (values.size() != 1 || !to_integer(values[0])) return false;
  } else {
    return false;
  }
  return std::all_of(values.begin(), values.end(),
                     [](const std::string& value) { return is_label_value(value); });
}

// In or NotIn of exactly one value.
bool is_valid_field(const Requirement& requirement) {
  return (requirement.op == "In" || requirement.op == "NotIn") && requirement.values.size() == 1;
}

bool holds(const Requirement& requirement, const std::optional<std::string>& value) {
  if (requirement.op == "Exists") return value.has_value();
  if (requirement.op == "DoesNotExist") return !value;
  if (requirement.op == "In") return value && lists(requirement, *value);
  if (requirement.op == "NotIn") return !value || !lists(requirement, *value);
  // "Gt/Lt: integers on both sides, else false".
  const std::optional<std::int64_t> number = value ? to_integer(*value) : std::nullopt;
  const std::optional<std::int64_t> bound = to_integer(requirement.values.at(0));
  if (!number || !bound) return false;
  return requirement.op == "Gt" ? *number > *bound : *number < *bound;
}

std::optional<std::string> value_of(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  if (found == labels.end()) return std::nullopt;
  return found->second;
}

}  // namespace

Labels read_labels(const Json& object) {
  Labels labels;
  if (!object.is_object()) return labels;
  for (const auto& [key, value] : object.items()) labels[key] = value.get<std::string>();
  return labels;
}

LabelSelector from_map(const Labels& labels) {
  LabelSelector selector;
  for (const auto& [key, value] : labels) selector.push_back({key, "In", {value}});
  return selector;
}

std::optional<LabelSelector> read_label_selector(const Json& selector) {
  if (!selector.is_object()) return std::nullopt;
  LabelSelector requirements = from_map(read_labels(child(selector, "matchLabels")));
  for (Requirement& requirement : read_requirements(child(selector, "matchExpressions"))) {
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

NodeSelector read_node_selector(const Json& selector) {
  NodeSelector terms;
  for (const Json& term : child(selector, "nodeSelectorTerms")) terms.push_back(read_term(term));
  return terms;
}

NodeAffinity read_node_affinity(const Json& affinity) {
  NodeAffinity result;
  const Json& required = child(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  if (required.is_object()) result.required = read_node_selector(required);
  for (const Json& entry : child(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
    result.preferred.push_back(
        {integer(entry, "weight").value_or(0), read_term(child(entry, "preference"))});
  }
  return result;
}

std::vector<Taint> read_taints(const Json& taints) {
  std::vector<Taint> result;
  for (const Json& taint : taints) {
    result.push_back({text(taint, "key"), text(taint, "value"), text(taint, "effect")});
  }
  return result;
}

std::vector<Toleration> read_tolerations(const Json& tolerations) {
  std::vector<Toleration> result;
  for (const Json& toleration : tolerations) {
    result.push_back({text(toleration, "key"), text(toleration, "operator"),
                      text(toleration, "value"), text(toleration, "effect")});
  }
  return result;
}

bool selects(const LabelSelector& selector, const Labels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const Requirement& requirement) {
    return holds(requirement, value_of(labels, requirement.key));
  });
}

bool selects(const std::optional<LabelSelector>& selector, const Labels& labels) {
  return selector && selects(*selector, labels);
}

bool is_empty(const NodeSelectorTerm& term) {
  return term.expressions.empty() && term.fields.empty();
}

bool is_invalid(const NodeSelectorTerm& term) {
  return !std::all_of(term.expressions.begin(), term.expressions.end(), is_valid_expression) ||
         !std::all_of(term.fields.begin(), term.fields.end(), is_valid_field);
}

bool matches(const NodeSelectorTerm& term, const std::string& node_name, const Labels& labels) {
  if (is_empty(term) || is_invalid(term)) return false;
  for (const Requirement& expression : term.expressions) {
    if (!holds(expression, value_of(labels, expression.key))) return false;
  }
  // A node without a name has no fields, and is not asked for them (nodeSelectorTerm.match).
  if (node_name.empty()) return true;
  for (const Requirement& field : term.fields) {
    // The one field that a node has; every other reads as "".
    if (!holds(field, field.key == "metadata.name" ? node_name : std::string())) return false;
  }
  return true;
}

bool matches(const NodeSelector& selector, const std::string& node_name, const Labels& labels) {
  return std::any_of(selector.begin(), selector.end(), [&](const NodeSelectorTerm& term) {
    return matches(term, node_name, labels);
  });
}

// v1.Toleration.ToleratesTaint; "Gt/Lt tolerations are alpha, off: they never match".
bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

bool is_tolerated(const Taint& taint, const std::vector<Toleration>& tolerations) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

bool has_untolerated_taint(const std::vector<Taint>& taints,
                           const std::vector<Toleration>& tolerations) {
  return std::any_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           !is_tolerated(taint, tolerations);
  });
}

}  // namespace oracle::defaults
