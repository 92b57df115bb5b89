#include "engine/node_class.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace headroom {

namespace {

constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
constexpr std::string_view kNameField = "metadata.name";

// k8s.io/api/core/v1 Toleration.ToleratesTaint
bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) {
    return false;
  }
  if (!toleration.key.empty() && toleration.key != taint.key) {
    return false;
  }
  if (toleration.op.empty() || toleration.op == "Equal") {
    return toleration.value == taint.value;
  }
  return toleration.op == "Exists";
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  // Go's ParseInt takes one sign, from_chars no plus.
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* begin = text.data() + (plus ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// apimachinery labels.Requirement.Matches
bool matches(const NodeSelectorRequirement& requirement, const std::string* value) {
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  if (requirement.op == "In") {
    return value != nullptr && listed();
  }
  if (requirement.op == "NotIn") {
    return value == nullptr || !listed();
  }
  if (requirement.op == "Exists") {
    return value != nullptr;
  }
  if (requirement.op == "DoesNotExist") {
    return value == nullptr;
  }
  if (value == nullptr || requirement.values.size() != 1) {
    return false;
  }
  const auto left = whole_number(*value), right = whole_number(requirement.values[0]);
  if (!left || !right) {
    return false;
  }
  return requirement.op == "Gt" ? *left > *right : requirement.op == "Lt" && *left < *right;
}

// apimachinery labels.NewRequirement, and for fields nodeaffinity's own rule. A requirement that is
// not valid makes its term match nothing.
bool valid(const NodeSelectorRequirement& requirement, bool field) {
  const std::size_t values = requirement.values.size();
  if (field) {
    return requirement.key == kNameField && values == 1 &&
           (requirement.op == "In" || requirement.op == "NotIn");
  }
  if (requirement.op == "In" || requirement.op == "NotIn") {
    return values != 0;
  }
  if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
    return values == 0;
  }
  return (requirement.op == "Gt" || requirement.op == "Lt") && values == 1 &&
         whole_number(requirement.values[0]).has_value();
}

// component-helpers nodeaffinity: a term without requirements matches nothing.
bool matches(const NodeSelectorTerm& term, const NodeClass& node, std::string_view node_name) {
  if (term.match_expressions.empty() && term.match_fields.empty()) {
    return false;
  }
  const std::string name(node_name);
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&](const auto& requirement) {
                       return valid(requirement, false) &&
                              matches(requirement, find(node.labels, requirement.key));
                     }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&](const auto& requirement) {
                       return valid(requirement, true) && matches(requirement, &name);
                     });
}

const NodeSelectorRequirement* named_nodes(const NodeSelectorTerm& term) {
  for (const NodeSelectorRequirement& requirement : term.match_fields) {
    if (requirement.op == "In" && requirement.key == kNameField) {
      return &requirement;
    }
  }
  return nullptr;
}

void append(std::string& key, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(part);
}

}  // namespace

bool names_its_nodes(const std::optional<std::vector<NodeSelectorTerm>>& required) {
  if (!required) {
    return false;
  }
  bool named = false;
  for (const NodeSelectorTerm& term : *required) {
    if (term.match_expressions.empty() && term.match_fields.empty()) {
      continue;  // matches nothing
    }
    const NodeSelectorRequirement* requirement = named_nodes(term);
    if (requirement == nullptr) {
      return false;
    }
    named = named || !requirement->values.empty();
  }
  return named;
}

std::optional<std::vector<std::string>> ClassConstraint::pinned() const {
  if (!names_its_nodes(required)) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const NodeSelectorTerm& term : *required) {
    if (const NodeSelectorRequirement* requirement = named_nodes(term); requirement != nullptr) {
      names.insert(names.end(), requirement->values.begin(), requirement->values.end());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool tolerated(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

bool passes_node_unschedulable(const ClassConstraint& pod, const NodeClass& node) {
  return !node.unschedulable ||
         tolerated(pod.tolerations, {std::string(kUnschedulableTaint), "", "NoSchedule"});
}

const Taint* untolerated_taint(const ClassConstraint& pod, const NodeClass& node) {
  for (const Taint& taint : node.taints) {
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
        !tolerated(pod.tolerations, taint)) {
      return &taint;
    }
  }
  return nullptr;
}

bool passes_node_affinity(const ClassConstraint& pod, const NodeClass& node,
                          std::string_view node_name) {
  for (const auto& [key, wanted] : pod.node_selector) {
    const std::string* value = find(node.labels, key);
    if (value == nullptr || *value != wanted) {
      return false;
    }
  }
  return !pod.required ||
         std::any_of(pod.required->begin(), pod.required->end(),
                     [&](const NodeSelectorTerm& term) { return matches(term, node, node_name); });
}

bool NodeClasses::read(const ClassConstraint& constraint) {
  std::vector<std::string> keys, names;
  const auto read_key = [&](const std::string& key) {
    if (keys_.insert(key).second) {
      keys.push_back(key);
    }
  };
  for (const auto& [key, value] : constraint.node_selector) {
    read_key(key);
  }
  const bool pinned = names_its_nodes(constraint.required);
  for (const NodeSelectorTerm& term :
       constraint.required.value_or(std::vector<NodeSelectorTerm>())) {
    for (const NodeSelectorRequirement& requirement : term.match_expressions) {
      read_key(requirement.key);
    }
    for (const NodeSelectorRequirement& requirement : term.match_fields) {
      // Pinned pods look at their few nodes by name.
      for (const std::string& name : pinned ? std::vector<std::string>() : requirement.values) {
        if (names_.insert(name).second) {
          names.push_back(name);
        }
      }
    }
  }
  if (keys.empty() && names.empty()) {
    return false;
  }
  new_keys_ = std::move(keys);
  new_names_ = std::move(names);
  return true;
}

bool NodeClasses::split(const Node& node) const {
  return std::any_of(new_keys_.begin(), new_keys_.end(),
                     [&](const std::string& key) { return find(node.labels, key) != nullptr; }) ||
         std::find(new_names_.begin(), new_names_.end(), node.name) != new_names_.end();
}

void NodeClasses::forget() {
  classes_.resize(1);
  ids_.clear();
  ++generation_;
}

std::uint32_t NodeClasses::classify(const Node& node) {
  NodeClass found;
  std::string key;
  for (const std::string& name : keys_) {
    if (const std::string* value = find(node.labels, name); value != nullptr) {
      found.labels.emplace_back(name, *value);
      append(key, name);
      append(key, *value);
    }
  }
  key.push_back('\1');
  for (const Taint& taint : node.taints) {
    append(key, taint.key);
    append(key, taint.value);
    append(key, taint.effect);
  }
  key.push_back(node.unschedulable ? '\2' : '\1');
  if (names_.contains(node.name)) {
    found.name = node.name;
    append(key, node.name);
  }
  const auto [position, added] = ids_.try_emplace(std::move(key), size());
  if (added) {
    found.taints = node.taints;
    found.unschedulable = node.unschedulable;
    classes_.push_back(std::move(found));
  }
  return position->second;
}

}  // namespace headroom
