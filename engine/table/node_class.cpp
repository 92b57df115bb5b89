#include "engine/table/node_class.h"

#include <algorithm>
#include <optional>

#include "layout/heap_bytes.h"
#include "objects/selector_syntax.h"
#include "objects/text/whole_number.h"

namespace headroom {

namespace {

constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
constexpr std::string_view kNameField = "metadata.name";
// Longer lists of values are looked up by hash.
constexpr std::size_t kShortList = 8;

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

// For fields nodeaffinity has a rule of its own. A requirement that is not valid makes its term
// match nothing.
bool valid(const NodeSelectorRequirement& requirement, bool field) {
  if (field) {
    return requirement.values.size() == 1 && (requirement.op == "In" || requirement.op == "NotIn");
  }
  return problem_of_requirement(requirement, true).empty();
}

const NodeSelectorRequirement* named_nodes(const NodeSelectorTerm& term) {
  for (const NodeSelectorRequirement& requirement : term.match_fields) {
    if (requirement.op == "In" && requirement.key == kNameField) {
      return &requirement;
    }
  }
  return nullptr;
}

const ClassLabel* label_of(const NodeClass& node, std::string_view key) {
  const auto found = std::find_if(node.labels.begin(), node.labels.end(),
                                  [&](const ClassLabel& label) { return label.key == key; });
  return found == node.labels.end() ? nullptr : &*found;
}

// nullptr: there is none, or nobody asks for it.
const std::string* value_of(const ClassLabel* label) {
  return label != nullptr && label->value ? &*label->value : nullptr;
}

}  // namespace

bool names_its_nodes(const std::optional<std::vector<NodeSelectorTerm>>& required) {
  if (!required) {
    return false;
  }
  bool named = false;
  for (const NodeSelectorTerm& term : *required) {
    const NodeSelectorRequirement* requirement = named_nodes(term);
    if (requirement == nullptr) {
      return false;  // also of an empty term, though it matches nothing
    }
    named = named || !requirement->values.empty();
  }
  return named;
}

bool is_valid(const NodeSelectorTerm& term) {
  const auto all = [](const auto& requirements, bool field) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [field](const auto& requirement) { return valid(requirement, field); });
  };
  return all(term.match_expressions, false) && all(term.match_fields, true);
}

std::optional<std::vector<std::string>> ClassConstraint::pinned() const {
  if (!names_its_nodes(required)) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const NodeSelectorTerm& term : *required) {
    // Of a term that names nodes twice, those that both name.
    if (const NodeSelectorRequirement* first = named_nodes(term); first != nullptr) {
      for (const std::string& name : first->values) {
        const bool by_all = std::all_of(
            term.match_fields.begin(), term.match_fields.end(), [&](const auto& requirement) {
              return requirement.op != "In" || requirement.key != kNameField ||
                     std::find(requirement.values.begin(), requirement.values.end(), name) !=
                         requirement.values.end();
            });
        if (by_all) {
          names.push_back(name);
        }
      }
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

// --- NodeAffinity ---

// apimachinery labels.Requirement.Matches
bool NodeAffinity::Requirement::matches(bool present, const std::string* value) const {
  const std::vector<std::string>& list = its->values;
  const auto listed = [&] {
    return value != nullptr &&
           (values != nullptr ? values->contains(*value)
                              : std::find(list.begin(), list.end(), *value) != list.end());
  };
  if (its->op == "In") {
    return listed();
  }
  if (its->op == "NotIn") {
    return !listed();
  }
  if (its->op == "Exists") {
    return present;
  }
  if (its->op == "DoesNotExist") {
    return !present;
  }
  if (value == nullptr) {
    return false;
  }
  const auto left = whole_number(*value), right = whole_number(list[0]);
  return left && (its->op == "Gt" ? *left > *right : *left < *right);
}

// look(key): whether there is such a label, and its value where that is known. Of fields a node has
// its name (nullptr: it is not asked); any other reads as "".
template <typename Look>
bool NodeAffinity::Term::matches(Look look, const std::string* node_name) const {
  return std::all_of(expressions.begin(), expressions.end(),
                     [&](const Requirement& requirement) {
                       const auto [present, value] = look(requirement.its->key);
                       return requirement.matches(present, value);
                     }) &&
         std::all_of(fields.begin(), fields.end(), [&](const Requirement& requirement) {
           static const std::string kNone;
           return node_name == nullptr ||
                  requirement.matches(true,
                                      requirement.its->key == kNameField ? node_name : &kNone);
         });
}

std::vector<NodeAffinity::Requirement> NodeAffinity::ready(
    const std::vector<NodeSelectorRequirement>& requirements) {
  std::vector<Requirement> all;
  for (const NodeSelectorRequirement& requirement : requirements) {
    const std::vector<std::string>& values = requirement.values;
    Requirement& made = all.emplace_back();
    made.its = &requirement;
    if (values.size() > kShortList) {
      made.values = std::make_unique<const Values>(values.begin(), values.end(), 2 * values.size());
    }
  }
  return all;
}

// component-helpers nodeaffinity: a term without requirements matches nothing, nor does one with a
// requirement that is not valid.
NodeAffinity::NodeAffinity(const ClassConstraint& pod) : pod_(pod) {
  if (!pod.required) {
    return;
  }
  for (const NodeSelectorTerm& term : *pod.required) {
    if ((term.match_expressions.empty() && term.match_fields.empty()) || !is_valid(term)) {
      continue;
    }
    const NodeSelectorRequirement* named = named_nodes(term);
    std::vector<Term>& terms =
        named == nullptr ? terms_ : named_terms_[std::string_view(named->values.front())];
    terms.push_back({ready(term.match_expressions), ready(term.match_fields)});
  }
}

template <typename Look>
bool NodeAffinity::selected_by(Look look) const {
  return std::all_of(pod_.node_selector.begin(), pod_.node_selector.end(), [&](const auto& label) {
    const std::string* value = look(label.first).second;
    return value != nullptr && *value == label.second;
  });
}

bool NodeAffinity::passes(const NodeClass& node, std::string_view node_name) const {
  const auto look = [&node](std::string_view key) {
    const ClassLabel* label = label_of(node, key);
    return std::pair(label != nullptr, value_of(label));
  };
  const std::string name(node_name);
  const auto matches = [&](const Term& term) { return term.matches(look, &name); };
  const auto named = named_terms_.find(node_name);
  return selected_by(look) &&
         (!pod_.required || std::any_of(terms_.begin(), terms_.end(), matches) ||
          (named != named_terms_.end() &&
           std::any_of(named->second.begin(), named->second.end(), matches)));
}

bool NodeAffinity::passes(const SharedLabels& labels) const {
  const auto look = [&labels](std::string_view key) {
    const std::string* value = find(labels, key);
    return std::pair(value != nullptr, value);
  };
  const auto matches = [&](const Term& term) { return term.matches(look, nullptr); };
  return selected_by(look) &&
         (!pod_.required || std::any_of(terms_.begin(), terms_.end(), matches) ||
          std::any_of(named_terms_.begin(), named_terms_.end(), [&](const auto& named) {
            return std::any_of(named.second.begin(), named.second.end(), matches);
          }));
}

namespace {

// What comes beside the value in a bucket of robin-map's tables, rounded up.
constexpr std::size_t kBucketBytes = 16;

// All of a list, and what its elements point to.
template <typename T>
std::size_t list_bytes(const std::vector<T>& list) {
  std::size_t total = allocated_bytes(list.capacity() * sizeof(T));
  for (const T& item : list) {
    total += item.bytes();
  }
  return total;
}

}  // namespace

std::size_t NodeAffinity::Requirement::bytes() const {
  return values == nullptr ? 0
                           : allocated_bytes(sizeof(Values)) +
                                 allocated_bytes(values->bucket_count() *
                                                 (sizeof(std::string_view) + kBucketBytes));
}

std::size_t NodeAffinity::Term::bytes() const {
  return list_bytes(expressions) + list_bytes(fields);
}

std::size_t NodeAffinity::bytes() const {
  std::size_t total = allocated_bytes(sizeof(*this)) + list_bytes(terms_) +
                      allocated_bytes(named_terms_.bucket_count() *
                                      (sizeof(std::string_view) + sizeof(terms_) + kBucketBytes));
  for (const auto& [name, terms] : named_terms_) {
    total += list_bytes(terms);
  }
  return total;
}

}  // namespace headroom
