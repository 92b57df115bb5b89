// See capacity_quota_step_text.h.
#include "tests/autoscaling/capacity_quota_step_text.h"

namespace headroom {
namespace {

std::string text_of(const std::string& text) { return text; }

std::string text_of(const StringMap& map) {
  std::string text = "{";
  for (const auto& [key, value] : map) text += " " + key + "=" + value;
  return text + " }";
}

std::string text_of(const Node& node) {
  std::string text = node.name + " " + text_of(node.labels) + " (";
  for (const auto& [resource, quantity] : node.capacity) {
    text += " " + resource + "=" + quantity.canonical();
  }
  text += " )";
  if (!node.annotations.empty()) text += " " + text_of(node.annotations);
  if (node.deleting) text += " deleting";
  for (const Taint& taint : node.taints) text += " taint " + taint.key;
  return text;
}

std::string text_of(const oracle::CapacityQuotaItem& item) {
  return std::to_string(item.count) + " x " + text_of(item.node);
}

std::string text_of(CapacityQuotaClass quota_class) {
  return "class " + std::to_string(static_cast<int>(quota_class));
}

std::string text_of(const CapacityQuota& quota) {
  std::string text = quota.name + " generation " + std::to_string(quota.generation) + " [";
  for (const NodeSelectorRequirement& asked : quota.selector) {
    text += " " + asked.key + " " + asked.op + " (";
    for (const std::string& value : asked.values) text += " '" + value + "'";
    text += " )";
  }
  return text + " ] " + text_of(quota.limits);
}

std::string text_of(const CapacityQuotaChange& change) {
  if (const auto* edit = std::get_if<CapacityQuotaUpsert>(&change)) {
    return "upsert " + text_of(edit->quota) + " " + text_of(edit->quota_class);
  }
  if (const auto* gone = std::get_if<CapacityQuotaRemoval>(&change)) {
    return "remove " + gone->name + " " + text_of(gone->quota_class);
  }
  return "upsert " + text_of(std::get<NodeUpsert>(change).node);
}

template <typename T>
std::string text_of(const std::vector<T>& list) {
  std::string text;
  for (const T& one : list) text += "\n    " + text_of(one);
  return text;
}

struct Words {
  std::string operator()(const NodeStep& step) { return "node " + text_of(step.node); }
  std::string operator()(const NodeGoneStep& step) { return "remove node " + step.name; }
  std::string operator()(const CapacityQuotaEditStep& step) {
    return "quota " + text_of(step.quota) + " " + text_of(step.quota_class);
  }
  std::string operator()(const CapacityQuotaGoneStep& step) {
    return "remove quota " + step.name + " " + text_of(step.quota_class);
  }
  std::string operator()(const ReserveStep& step) {
    return "reserve '" + step.id + "' until " + std::to_string(step.expires_us) +
           (step.mode == ReserveMode::kAll ? " all" : " up to") + text_of(step.items);
  }
  std::string operator()(const ReleaseStep& step) { return "release " + step.id; }
  std::string operator()(const AdvanceStep& step) {
    return "advance " + std::to_string(step.now_us);
  }
  std::string operator()(const AdoptStep& step) {
    return "adopt " + std::to_string(step.later_us) + " us later\n   without" + text_of(step.gone) +
           "\n   with" + text_of(step.added);
  }
  std::string operator()(const ChurnStep& step) {
    return "churn " + std::to_string(static_cast<int>(step.churn));
  }
  std::string operator()(const ForkStep&) { return "fork"; }
  std::string operator()(const RollbackStep&) { return "rollback"; }
  std::string operator()(const CommitStep&) { return "commit"; }
  std::string operator()(const CheckStep& step) { return "check" + text_of(step.items); }
  std::string operator()(const PlanStep& step) {
    return "plan" + text_of(step.add) + "\n   remove" + text_of(step.remove);
  }
  std::string operator()(const HeadroomStep& step) { return "headroom" + text_of(step.templates); }
  std::string operator()(const MaxTotalStep& step) { return "max_total" + text_of(step.items); }
  std::string operator()(const WhatIfStep& step) {
    return "what_if" + text_of(step.changes) + "\n   for" + text_of(step.templates);
  }
  std::string operator()(const CarryOutStep& step) {
    return "carry out, seed " + std::to_string(step.seed) + text_of(step.add) + "\n   remove" +
           text_of(step.remove);
  }
  std::string operator()(const ReplayStep& step) { return "replay " + std::to_string(step.seed); }
};

}  // namespace

std::string to_text(const CapacityQuotaStep& step) { return std::visit(Words(), step); }

}  // namespace headroom
