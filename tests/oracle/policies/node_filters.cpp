// kube-scheduler's NodeUnschedulable, NodeName, TaintToleration and NodeAffinity filters.
#include <algorithm>
#include <optional>

#include "oracle/label_selector.h"
#include "oracle/policies/policies.h"

namespace oracle {
namespace {

Status unresolvable(std::string reason) {
  return {Code::kUnschedulableAndUnresolvable, {std::move(reason)}};
}

// v1.Toleration.ToleratesTaint.
bool tolerates(const Json& toleration, const Json& taint) {
  const std::string effect = text(toleration, "effect"), key = text(toleration, "key");
  if (!effect.empty() && effect != text(taint, "effect")) return false;
  if (!key.empty() && key != text(taint, "key")) return false;
  const std::string op = text(toleration, "operator");
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && text(toleration, "value") == text(taint, "value");
}

bool is_tolerated(const Json& pod, const Json& taint) {
  const Json& tolerations = child(pod, "spec", "tolerations");
  if (!tolerations.is_array()) return false;
  for (const Json& toleration : tolerations) {
    if (tolerates(toleration, taint)) return true;
  }
  return false;
}

// strconv.ParseInt(text, 10, 64).
std::optional<std::int64_t> to_integer(const std::string& text) {
  std::size_t at = 0;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) negative = text[at++] == '-';
  if (at == text.size()) return std::nullopt;
  Int128 number = 0;
  for (; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
    number = number * 10 + (text[at] - '0');
    if (number > Int128{INT64_MAX} + 1) return std::nullopt;
  }
  if (negative) number = -number;
  if (number > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// labels.Requirement.Matches over one label; nullopt for a requirement that does not parse.
std::optional<bool> matches(const Json& requirement, const std::optional<std::string>& label) {
  const std::string op = text(requirement, "operator");
  const Json& values = child(requirement, "values");
  const std::size_t count = values.is_array() ? values.size() : 0;
  if (op == "Exists" || op == "DoesNotExist") {
    if (count != 0) return std::nullopt;
    return label.has_value() == (op == "Exists");
  }
  if (op == "In" || op == "NotIn") {
    if (count == 0) return std::nullopt;
    bool listed = false;
    for (const Json& value : values) listed = listed || (label && value == *label);
    return listed == (op == "In");
  }
  if (op == "Gt" || op == "Lt") {
    if (count != 1 || !values[0].is_string()) return std::nullopt;
    const std::optional<std::int64_t> bound = to_integer(values[0].get<std::string>());
    if (!bound) return std::nullopt;
    const std::optional<std::int64_t> number = label ? to_integer(*label) : std::nullopt;
    return number && (op == "Gt" ? *number > *bound : *number < *bound);
  }
  return std::nullopt;
}

std::optional<std::string> label_of(const Json& node, const std::string& key) {
  const Json& label = child(node, "metadata", "labels", key);
  if (!label.is_string()) return std::nullopt;
  return label.get<std::string>();
}

// labels.NewRequirement: by keys and values that a label can have.
bool is_of_labels(const Json& requirement) {
  const Json& values = child(requirement, "values");
  return is_label_key(text(requirement, "key")) &&
         std::all_of(values.begin(), values.end(), [](const Json& value) {
           return value.is_string() && is_label_value(value.get<std::string>());
         });
}

// matchFields: metadata.name with In or NotIn of exactly one value.
std::optional<bool> matches_field(const Json& requirement, const Json& node) {
  const std::string op = text(requirement, "operator");
  if ((op != "In" && op != "NotIn") || child(requirement, "values").size() != 1) {
    return std::nullopt;
  }
  const bool is_name = text(requirement, "key") == "metadata.name";
  return matches(requirement, is_name ? text(child(node, "metadata"), "name") : std::string());
}

// All requirements of a term must hold; a term with none matches nothing.
bool matches_term(const Json& term, const Json& node) {
  bool any = false;
  const Json& expressions = child(term, "matchExpressions");
  if (expressions.is_array()) {
    for (const Json& requirement : expressions) {
      any = true;
      const std::string key = text(requirement, "key");
      if (!is_of_labels(requirement) ||
          !matches(requirement, label_of(node, key)).value_or(false)) {
        return false;
      }
    }
  }
  const Json& fields = child(term, "matchFields");
  if (fields.is_array()) {
    for (const Json& requirement : fields) {
      any = true;
      if (!matches_field(requirement, node).value_or(false)) return false;
    }
  }
  return any;
}

}  // namespace

Status filter_node_unschedulable(const Cycle& cycle, const NodeView& view) {
  if (child(*view.node, "spec", "unschedulable") != true) return {};
  const Json taint{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}};
  if (is_tolerated(*cycle.pod, taint)) return {};
  return unresolvable("node(s) were unschedulable");
}

Status filter_node_name(const Cycle& cycle, const NodeView& view) {
  const std::string wanted = text(child(*cycle.pod, "spec"), "nodeName");
  if (wanted.empty() || wanted == text(child(*view.node, "metadata"), "name")) return {};
  return unresolvable("node(s) didn't match the requested node name");
}

// The first taint of effect NoSchedule or NoExecute that no toleration covers. kube-scheduler 1.35
// does not name it.
Status filter_taint_toleration(const Cycle& cycle, const NodeView& view) {
  const Json& taints = child(*view.node, "spec", "taints");
  if (!taints.is_array()) return {};
  for (const Json& taint : taints) {
    const std::string effect = text(taint, "effect");
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    if (is_tolerated(*cycle.pod, taint)) continue;
    if (cycle.mode == Mode::kUpstream) return unresolvable("node(s) had untolerated taint(s)");
    return unresolvable("node(s) had untolerated taint {" + text(taint, "key") + ": " +
                        text(taint, "value") + "}");
  }
  return {};
}

// Nodes that all of a term's metadata.name In lists have, where every term has one.
Status reject_by_node_names(const Json& pod, const NodeView& view) {
  const Json& terms = child(pod, "spec", "affinity", "nodeAffinity",
                            "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms");
  const std::string name = text(child(*view.node, "metadata"), "name");
  bool names_any = false, listed = false;
  for (const Json& term : terms.is_array() ? terms : Json::array()) {
    const Json& fields = child(term, "matchFields");
    bool has_list = false, in_all = true;
    for (const Json& field : fields.is_array() ? fields : Json::array()) {
      if (text(field, "key") != "metadata.name" || text(field, "operator") != "In") continue;
      const Json& values = child(field, "values");
      if (!has_list) names_any = names_any || !values.empty();
      has_list = true;
      in_all = in_all && std::find(values.begin(), values.end(), name) != values.end();
    }
    if (!has_list) return {};
    listed = listed || in_all;
  }
  if (!names_any || listed) return {};
  return unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]");
}

// nodeSelector, and one of the terms of the required node affinity.
Status filter_node_affinity(const Cycle& cycle, const NodeView& view) {
  const Status mismatch = unresolvable("node(s) didn't match Pod's node affinity/selector");
  const Json& selector = child(*cycle.pod, "spec", "nodeSelector");
  if (selector.is_object()) {
    for (const auto& [key, value] : selector.items()) {
      if (label_of(*view.node, key) != value) return mismatch;
    }
  }
  const Json& required = child(*cycle.pod, "spec", "affinity", "nodeAffinity",
                               "requiredDuringSchedulingIgnoredDuringExecution");
  if (!required.is_object()) return {};
  const Json& terms = child(required, "nodeSelectorTerms");
  if (terms.is_array()) {
    for (const Json& term : terms) {
      if (matches_term(term, *view.node)) return {};
    }
  }
  return mismatch;
}

}  // namespace oracle
