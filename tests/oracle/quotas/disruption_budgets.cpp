// See disruption_budgets.h.
#include "oracle/quotas/disruption_budgets.h"

#include <algorithm>
#include <optional>

namespace oracle {
namespace {

// metav1.LabelSelectorAsSelector for one requirement; nullopt when it is invalid.
std::optional<bool> matches_expression(const Json& expression, const Json& label) {
  const std::string op = text(expression, "operator");
  const Json& values = child(expression, "values");
  const bool any = values.is_array() && !values.empty();
  if (text(expression, "key").empty()) return std::nullopt;
  if (op == "Exists" || op == "DoesNotExist") {
    if (any) return std::nullopt;
    return label.is_string() == (op == "Exists");
  }
  if ((op != "In" && op != "NotIn") || !any) return std::nullopt;
  const bool listed =
      label.is_string() && std::find(values.begin(), values.end(), label) != values.end();
  return listed == (op == "In");
}

// filterPodsWithPDBViolation: a selector that is empty or invalid matches nothing.
bool selects(const Json& selector, const Json& labels) {
  const Json& exact = child(selector, "matchLabels");
  const Json& expressions = child(selector, "matchExpressions");
  bool empty = true, all = true;
  if (exact.is_object()) {
    for (const auto& [key, value] : exact.items()) {
      empty = false;
      all = all && child(labels, key) == value;
    }
  }
  if (expressions.is_array()) {
    for (const Json& expression : expressions) {
      empty = false;
      const std::optional<bool> matches =
          matches_expression(expression, child(labels, text(expression, "key")));
      if (!matches) return false;
      all = all && *matches;
    }
  }
  return !empty && all;
}

}  // namespace

DisruptionBudgets::DisruptionBudgets(const Facts& facts, Mode mode) : facts_(facts), mode_(mode) {
  for (const auto& [key, budget] : facts.disruption_budgets()) {
    left_[key] = integer(child(budget, "status"), "disruptionsAllowed").value_or(0);
  }
}

// proposal-rules.md: "pods in disruptedPods do not count; an empty selector matches nothing".
// Upstream (reference 2.5, step 7): a pod without labels is in no budget.
std::vector<std::string> DisruptionBudgets::covering(const PodView& pod) const {
  const Json& labels = child(*pod.pod, "metadata", "labels");
  if (mode_ == Mode::kUpstream && (!labels.is_object() || labels.empty())) return {};
  std::vector<std::string> covering;
  for (const auto& [key, budget] : facts_.disruption_budgets()) {
    if (text(child(budget, "metadata"), "namespace") != pod.space) continue;
    if (!selects(child(budget, "spec", "selector"), labels)) continue;
    const Json& disrupted = child(budget, "status", "disruptedPods");
    const std::string name = text(child(*pod.pod, "metadata"), "name");
    if (disrupted.is_object() && disrupted.contains(name)) continue;
    covering.push_back(key);
  }
  return covering;
}

std::int64_t DisruptionBudgets::count_broken(const PodView& pod) const {
  const std::vector<std::string> keys = covering(pod);
  return std::count_if(keys.begin(), keys.end(),
                       [&](const std::string& key) { return left_.at(key) <= 0; });
}

void DisruptionBudgets::note(const PodView& pod) {
  for (const std::string& key : covering(pod)) --left_[key];
}

}  // namespace oracle
