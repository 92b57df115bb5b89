// See capacity_quota_run.h: changes, and questions that the oracle answers alike.
#include "tests/autoscaling/capacity_quota_run.h"

#include <algorithm>
#include <set>

#include "objects/annotations.h"
#include "oracle/quotas/capacity_quota_amounts.h"
#include "tests/autoscaling/capacity_quota_compare.h"

namespace headroom {

using oracle::CapacityQuotaItem;

std::vector<PlanItem> plan_items(const std::vector<CapacityQuotaItem>& items) {
  std::vector<PlanItem> list;
  for (const CapacityQuotaItem& item : items) list.push_back({&item.node, item.count});
  return list;
}

oracle::CapacityQuotaClass to_oracle(CapacityQuotaClass quota_class) {
  return static_cast<oracle::CapacityQuotaClass>(quota_class);
}

std::string reservation_of(const Node& node) {
  for (const auto& [key, value] : node.annotations) {
    if (key == kReservationAnnotation) return value;
  }
  return "";
}

void CapacityQuotaRun::note_taker(const oracle::CapacityReservations& before, const Node& node) {
  const auto then = before.find(reservation_of(node));
  const auto now = oracle_.facts().reservations.find(reservation_of(node));
  if (then == before.end() || now == oracle_.facts().reservations.end()) return;
  if (now->second.registered.contains(node.name) && !then->second.registered.contains(node.name)) {
    held_[now->first].takers.push_back(node);
  }
}

std::string CapacityQuotaRun::perform(const NodeStep& step) {
  const oracle::CapacityReservations before = oracle_.facts().reservations;
  const Result<void> expected = oracle_.upsert(step.node), came = product_.upsert(step.node);
  note_taker(before, step.node);
  return with_state(outcome_difference("upsert", expected, came));
}

std::string CapacityQuotaRun::perform(const NodeGoneStep& step) {
  oracle_.remove_node(step.name);
  product_.remove_node(step.name);
  return with_state("");
}

std::string CapacityQuotaRun::perform(const CapacityQuotaEditStep& step) {
  oracle_.upsert(step.quota, to_oracle(step.quota_class));
  const Result<void> came = product_.upsert(step.quota, step.quota_class);
  return with_state(outcome_difference("upsert", Result<void>(), came));
}

std::string CapacityQuotaRun::perform(const CapacityQuotaGoneStep& step) {
  oracle_.remove_capacity_quota(step.name, to_oracle(step.quota_class));
  product_.remove_capacity_quota(step.name, step.quota_class);
  return with_state("");
}

std::string CapacityQuotaRun::perform(const ReserveStep& step) {
  const auto expected =
      oracle_.reserve(step.id, step.items, step.expires_us, step.mode == ReserveMode::kUpTo);
  const auto came = product_.reserve(step.id, plan_items(step.items), step.expires_us, step.mode);
  if (expected && expected->accepted) {
    Held& held = held_[step.id] = {step.items, {}};
    for (std::size_t i = 0; i < held.items.size(); ++i) {
      held.items[i].count = expected->allowed[i];
    }
  }
  return with_state(capacity_quota_difference("reserve", expected, came));
}

std::string CapacityQuotaRun::perform(const ReleaseStep& step) {
  const bool expected = oracle_.release(step.id);
  return with_state(difference("release", expected, product_.release(step.id)));
}

std::string CapacityQuotaRun::perform(const AdvanceStep& step) {
  const Result<void> expected = oracle_.advance(step.now_us);
  return with_state(outcome_difference("advance", expected, product_.advance(step.now_us)));
}

std::string CapacityQuotaRun::perform(const ForkStep&) {
  oracle_.fork();
  product_.fork();
  forks_.push_back({held_, product_.digest()});
  return with_state("");
}

std::string CapacityQuotaRun::perform(const RollbackStep&) {
  if (forks_.empty()) return "";
  oracle_.rollback();
  product_.rollback();
  const std::uint64_t digest = forks_.back().digest;
  held_ = forks_.back().held;
  forks_.pop_back();
  return with_state(difference("digest after the rollback", digest, product_.digest()));
}

std::string CapacityQuotaRun::perform(const CommitStep&) {
  if (forks_.empty()) return "";
  oracle_.commit();
  product_.commit();
  forks_.pop_back();
  return with_state("");
}

std::string CapacityQuotaRun::perform(const CheckStep& step) {
  std::string text;
  for (const CapacityQuotaItem& item : step.items) {
    const auto expected = oracle_.check(item.node, item.count);
    text += capacity_quota_difference("check", expected, product_.check(item.node, item.count));
    const Result<void> again = product_.check(item.node, item.count, reused_);
    text += outcome_difference("check", expected, again);
    if (expected && again)
      text += capacity_quota_difference("check into an answer", *expected, reused_);
  }
  return unchanged(text);
}

std::string CapacityQuotaRun::perform(const PlanStep& step) {
  auto expected = oracle_.plan(step.add, step.remove);
  auto came = product_.plan({plan_items(step.add), step.remove});
  return unchanged(capacity_quota_difference("plan", expected, came));
}

std::string CapacityQuotaRun::perform(const HeadroomStep& step) {
  const auto came = product_.headroom(step.templates);
  std::string text;
  bool usable = true;
  for (std::size_t i = 0; i < step.templates.size(); ++i) {
    const auto expected = oracle_.headroom(step.templates[i]);
    if (expected && came) text += capacity_quota_difference("headroom", *expected, came->at(i));
    usable = usable && expected;
  }
  return unchanged(text + difference("headroom", usable, came.has_value()));
}

std::string CapacityQuotaRun::with_state(std::string text) {
  const oracle::CapacityQuotas::Facts& facts = oracle_.facts();
  if (const Result<void> valid = product_.validate(); !valid) {
    text += "validate: " + valid.error().message + "\n";
  }
  const auto status = oracle_.status();
  const auto reservations = oracle_.reservations();
  text += capacity_quota_difference("status", status, product_.status());
  text += capacity_quota_difference("reservations", reservations, product_.reservations());
  text += difference("now", facts.now_us, product_.now_us());
  const CapacityQuotasStats stats = product_.stats();
  text += difference("stats.nodes", facts.nodes.size(), std::size_t{stats.nodes});
  text += difference("stats.quotas", facts.quotas.size(), std::size_t{stats.quotas});
  const auto invalid =
      std::count_if(status.begin(), status.end(),
                    [](const oracle::CapacityQuotaStatus& one) { return one.invalid; });
  text += difference("stats.invalid_quotas", invalid, std::ptrdiff_t{stats.invalid_quotas});
  text +=
      difference("stats.reservations", facts.reservations.size(), std::size_t{stats.reservations});
  text += kinds_difference();

  const std::string state = to_text(status) + to_text(reservations);
  const std::uint64_t digest = product_.digest();
  if (state != state_ && digest == digest_) text += "the digest did not change\n";
  state_ = state;
  digest_ = digest;
  return text;
}

// The kinds of the nodes that count: by name, each named after its first node.
std::string CapacityQuotaRun::kinds_difference() const {
  const oracle::CapacityQuotas::Facts& facts = oracle_.facts();
  std::set<std::string> keys_read;
  for (const auto& [key, fact] : facts.quotas) {
    if (!fact.in_force) continue;
    for (const NodeSelectorRequirement& asked : fact.in_force->selector) {
      keys_read.insert(asked.key);
    }
  }
  const auto without = [](StringMap labels, const auto& left_out) {
    std::erase_if(labels, [&](const auto& label) { return left_out(label.first); });
    return labels;
  };
  const auto shown = [&](const Node& node, const StringMap& labels) {
    std::string text = node.name + " " + testing::PrintToString(labels);
    const auto amounts = oracle::node_amounts(node);
    return text + " " + testing::PrintToString(*amounts);
  };
  std::set<std::pair<StringMap, std::map<std::string, std::int64_t>>> kinds;
  std::vector<std::string> expected, came;
  for (const auto& [name, node] : facts.nodes) {
    const StringMap read =
        without(node.labels, [&](const std::string& key) { return !keys_read.contains(key); });
    if (!oracle_.counts(node) || !kinds.insert({read, *oracle::node_amounts(node)}).second) {
      continue;
    }
    expected.push_back(shown(node, without(node.labels, [](const std::string& key) {
                               return key == "kubernetes.io/hostname";
                             })));
  }
  for (const Node& kind : product_.node_kinds()) came.push_back(shown(kind, kind.labels));
  return difference("kinds of nodes", expected, came);
}

}  // namespace headroom
