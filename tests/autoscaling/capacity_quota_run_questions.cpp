// See capacity_quota_run.h: questions whose answers have several right forms, and plans carried
// out.
#include <algorithm>
#include <set>

#include "oracle/quotas/capacity_quota_amounts.h"
#include "oracle/quotas/capacity_quota_total.h"
#include "tests/autoscaling/capacity_quota_compare.h"
#include "tests/autoscaling/capacity_quota_run.h"

namespace headroom {

using oracle::CapacityQuotaItem;

namespace {

// More nodes than this are not carried out one by one.
constexpr std::int64_t kCarriedOutMax = 40;
constexpr std::int64_t kChoicesMax = 20'000;

}  // namespace

std::string CapacityQuotaRun::perform(const MaxTotalStep& step) {
  const auto came = product_.max_total(plan_items(step.items));
  std::vector<Node> templates;
  bool fits = true;
  Int128 counts = 0;
  for (const CapacityQuotaItem& item : step.items) {
    fits = fits && oracle::node_amounts(item.node);
    counts += item.count;
    templates.push_back(item.node);
  }
  // A sum of counts that no total could say is refused.
  if (!fits || counts > INT64_MAX) {
    const Result<void> expected = fail(ErrorCode::kLimitExceeded, "");
    return unchanged(outcome_difference("max_total", expected, came));
  }
  if (!came) return "max_total: " + came.error().message + "\n";
  std::string text = unchanged("");
  text += difference("max_total: counts", step.items.size(), came->counts.size());
  text += difference("max_total: skipped", oracle_.skipped(), skipped_ids(came->skipped));
  if (!text.empty()) return text;

  Int128 sum = 0;
  std::int64_t best_alone = 0;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    sum += came->counts[i];
    if (came->counts[i] < 0 || came->counts[i] > step.items[i].count) {
      text += "max_total: count " + std::to_string(came->counts[i]) + "\n";
    }
    best_alone = std::max(best_alone, oracle_.check(templates[i], step.items[i].count)->allowed);
  }
  const auto at_least = [&](const char* what, Int128 least, Int128 is) {
    if (is < least) {
      text += std::string("max_total: ") + what + " is " + oracle::to_text(is) + ", at least " +
              oracle::to_text(least) + " is possible\n";
    }
  };
  text += difference("max_total: total", oracle::to_text(sum), std::to_string(came->total));
  if (!oracle_.feasible(templates, came->counts)) text += "max_total: counts are not feasible\n";
  at_least("total", best_alone, came->total);
  if (came->total > came->upper_bound) text += "max_total: total is above upper_bound\n";
  if (const auto best = oracle::best_total(oracle_, step.items, kChoicesMax)) {
    at_least("upper_bound", *best, came->upper_bound);
    if (came->exact()) at_least("exact total", *best, came->total);
  }
  if (const auto best = oracle::nested_total(oracle_, step.items)) {
    text += difference("max_total of nested quotas", oracle::to_text(*best),
                       std::to_string(came->total));
    if (!came->exact()) text += "max_total of nested quotas: not exact\n";
  }
  return text;
}

std::string CapacityQuotaRun::perform(const WhatIfStep& step) {
  std::vector<oracle::CapacityChange> changes;
  for (const CapacityQuotaChange& change : step.changes) {
    if (const auto* edit = std::get_if<CapacityQuotaUpsert>(&change)) {
      changes.push_back(oracle::CapacityQuotaEdit{edit->quota, to_oracle(edit->quota_class)});
    } else if (const auto* gone = std::get_if<CapacityQuotaRemoval>(&change)) {
      changes.push_back(oracle::CapacityQuotaGone{gone->name, to_oracle(gone->quota_class)});
    } else {
      changes.push_back(std::get<NodeUpsert>(change).node);
    }
  }
  // Without templates: the kinds of nodes that are there before the change.
  const std::vector<Node> templates =
      step.templates.empty() ? product_.node_kinds() : step.templates;
  return unchanged(capacity_quota_difference("what_if", oracle_.what_if(changes, templates),
                                             product_.what_if(step.changes, step.templates)));
}

std::string CapacityQuotaRun::overshot(const std::vector<CapacityQuotaItem>& add) const {
  std::set<std::pair<std::string, std::string>> touched;
  for (const auto& limit : oracle_.limits()) {
    for (const CapacityQuotaItem& item : add) {
      if (item.count > 0 && limit.amount(item.node) > 0)
        touched.emplace(limit.quota, limit.resource);
    }
  }
  std::string text;
  for (const CapacityQuotaStatus& status : product_.status()) {
    for (const CapacityQuotaStatus::Amount& amount : status.amounts) {
      if (!touched.contains({status.id, amount.resource})) continue;
      if (amount.used + amount.reserved > amount.limit) {
        text += "overshot: " + status.id + " " + amount.resource + "\n";
      }
    }
  }
  return text;
}

std::string CapacityQuotaRun::perform(const CarryOutStep& step) {
  const auto plan = product_.plan({plan_items(step.add), step.remove});
  if (!plan) return unchanged("");
  std::vector<Node> added;
  for (const CapacityQuotaItem& item : step.add) {
    if (item.count > kCarriedOutMax) return unchanged("");
    for (std::int64_t i = 0; i < item.count; ++i) {
      added.push_back(item.node);
      added.back().name = "plan-" + std::to_string(added.size());
    }
  }
  Draws draws(step.seed);
  std::string text;
  // In any order where it does not break at its peak; else where it does not break net, removals
  // first.
  const auto carry_out = [&](bool removals_first) {
    std::vector<std::pair<const Node*, std::string>> actions;
    for (const Node& node : added) actions.emplace_back(&node, "");
    for (const std::string& name : step.remove) actions.emplace_back(nullptr, name);
    shuffle(actions, draws);
    if (removals_first) {
      std::stable_partition(actions.begin(), actions.end(),
                            [](const auto& action) { return action.first == nullptr; });
    }
    product_.fork();
    for (const auto& [node, name] : actions) {
      if (node == nullptr) {
        product_.remove_node(name);
        continue;
      }
      if (const Result<void> ok = product_.upsert(*node); !ok) text += ok.error().message + "\n";
      text += overshot(step.add);
    }
    if (const Result<void> valid = product_.validate(); !valid) {
      text += "validate: " + valid.error().message + "\n";
    }
    product_.rollback();
  };
  if (!plan->peak_break) carry_out(false);
  if (!plan->net_break) carry_out(true);
  return unchanged(text);
}

}  // namespace headroom
