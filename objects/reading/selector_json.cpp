#include "objects/reading/selector_json.h"

#include "objects/limits.h"

namespace headroom {

namespace {

constexpr std::string_view kRequirementFields[] = {"key", "operator", "values"};
constexpr std::string_view kSelectorFields[] = {"matchLabels", "matchExpressions"};
constexpr std::string_view kNodeTermFields[] = {"matchExpressions", "matchFields"};

bool read_requirement_as_written(const FieldPath& path, JsonValue value, FieldErrors& errors,
                                 NodeSelectorRequirement& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "key") return read_string(field, inner, errors, kKeyBytesMax, out.key);
    if (name == "operator") return read_string(field, inner, errors, kStringBytesMax, out.op);
    return name != "values" || read_string_list(field, inner, errors, kStringBytesMax, out.values);
  };
  return for_each_field(path, value, errors, kRequirementFields, read);
}

// `expected` names the operators in an error.
bool read_checked_requirement(const FieldPath& path, JsonValue value, FieldErrors& errors,
                              std::span<const std::string_view> operators,
                              std::string_view expected, NodeSelectorRequirement& out) {
  if (!read_requirement_as_written(path, value, errors, out)) return false;
  if (out.key.empty()) return errors.missing(FieldPath{&path, "key"});
  const FieldPath field{&path, "operator"};
  if (out.op.empty()) return errors.missing(field);
  return std::find(operators.begin(), operators.end(), out.op) != operators.end() ||
         errors.add(ErrorCode::kInvalid, field,
                    "\"" + out.op + "\" is not " + std::string(expected));
}

bool read_label_requirement(const FieldPath& path, JsonValue value, FieldErrors& errors,
                            NodeSelectorRequirement& out) {
  constexpr std::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
  return read_checked_requirement(path, value, errors, kOperators,
                                  "In, NotIn, Exists or DoesNotExist", out);
}

bool read_node_requirement(const FieldPath& path, JsonValue value, FieldErrors& errors,
                           NodeSelectorRequirement& out) {
  constexpr std::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  return read_checked_requirement(path, value, errors, kOperators,
                                  "In, NotIn, Exists, DoesNotExist, Gt or Lt", out);
}

template <typename ReadRequirement>
bool read_selector(const FieldPath& path, JsonValue value, FieldErrors& errors,
                   const ReadRequirement& read, LabelSelector& out) {
  StringMap labels;
  const auto read_field = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "matchLabels") return read_string_map(field, inner, errors, labels);
    return name != "matchExpressions" || read_list(field, inner, errors, kListMax, out, read);
  };
  const bool ok = for_each_field(path, value, errors, kSelectorFields, read_field);
  for (auto& [key, label] : labels) out.push_back({key, "In", {std::move(label)}});
  return ok;
}

}  // namespace

bool read_label_selector(const FieldPath& path, JsonValue value, FieldErrors& errors,
                         LabelSelector& out) {
  if (!read_selector(path, value, errors, read_label_requirement, out)) return false;
  const bool keyless = std::any_of(out.begin(), out.end(),
                                   [](const auto& requirement) { return requirement.key.empty(); });
  return !keyless ||
         errors.add(ErrorCode::kInvalid, FieldPath{&path, "matchLabels"}, "has an empty key");
}

bool read_label_selector_as_written(const FieldPath& path, JsonValue value, FieldErrors& errors,
                                    LabelSelector& out) {
  return read_selector(path, value, errors, read_requirement_as_written, out);
}

bool read_node_selector_term(const FieldPath& path, JsonValue value, FieldErrors& errors,
                             NodeSelectorTerm& out) {
  const auto read = [&](FieldName name, JsonValue inner) {
    auto* list = name == "matchExpressions" ? &out.match_expressions
                 : name == "matchFields"    ? &out.match_fields
                                            : nullptr;
    return list == nullptr ||
           read_list(FieldPath{&path, name}, inner, errors, kListMax, *list, read_node_requirement);
  };
  return for_each_field(path, value, errors, kNodeTermFields, read);
}

bool read_node_selector(const FieldPath& path, JsonValue value, FieldErrors& errors,
                        std::vector<NodeSelectorTerm>& out) {
  const auto read = [&](FieldName name, JsonValue terms) {
    return name != "nodeSelectorTerms" ||
           read_list(FieldPath{&path, name}, terms, errors, kListMax, out, read_node_selector_term);
  };
  constexpr std::string_view kFields[] = {"nodeSelectorTerms"};
  return for_each_field(path, value, errors, kFields, read);
}

}  // namespace headroom
