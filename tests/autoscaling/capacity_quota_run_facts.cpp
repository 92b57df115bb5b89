// See capacity_quota_run.h: the same facts in other ways: adopted, after a churn, in another order.
#include <algorithm>
#include <set>

#include "tests/autoscaling/capacity_quota_compare.h"
#include "tests/autoscaling/capacity_quota_run.h"

namespace headroom {

using oracle::CapacityQuotaItem;

std::string CapacityQuotaRun::perform(const AdoptStep& step) {
  if (!forks_.empty()) return "";
  const oracle::CapacityQuotas::Facts facts = oracle_.facts();
  CapacityQuotas product(options_);
  oracle::CapacityQuotas oracle(options_.ignore_deleting, options_.aliases);
  const std::int64_t now_us = facts.now_us + step.later_us;
  std::string text = outcome_difference("advance", oracle.advance(now_us), product.advance(now_us));
  for (const auto& [name, node] : facts.nodes) {
    if (std::find(step.gone.begin(), step.gone.end(), name) != step.gone.end()) continue;
    text += outcome_difference("upsert", oracle.upsert(node), product.upsert(node));
  }
  for (const Node& node : step.added) {
    text += outcome_difference("upsert", oracle.upsert(node), product.upsert(node));
  }
  for (const auto& [key, fact] : facts.quotas) {
    oracle.upsert(fact.seen, key.first);
    if (!product.upsert(fact.seen, static_cast<CapacityQuotaClass>(key.first))) text += "upsert\n";
  }
  oracle.adopt(oracle_);
  product.adopt(product_);
  oracle_ = oracle;
  product_ = std::move(product);
  for (const auto& [name, node] : oracle_.facts().nodes) note_taker(facts.reservations, node);
  return with_state(text);
}

std::string CapacityQuotaRun::perform(const ChurnStep& step) {
  // A fork keeps what it may have to bring back.
  if (step.churn == Churn::kResources && !forks_.empty()) return "";
  constexpr int kTimes = 1'200;  // enough for what is idle to be dropped
  std::string text;
  const auto tell = [&](const auto& fact) {
    if (const Result<void> told = product_.upsert(fact); !told) text += told.error().message + "\n";
  };
  Node node;
  node.name = "churn";
  CapacityQuota quota;
  quota.name = "churn";
  switch (step.churn) {
    case Churn::kKeys:
      for (int i = 0; i < 40; ++i) {
        quota.selector.push_back({"churn-" + std::to_string(i), "Exists", {}});
      }
      tell(quota);
      break;
    case Churn::kClasses:
      quota.selector = {{"churn", "Exists", {}}};
      tell(quota);
      for (int i = 0; i < kTimes; ++i) {
        node.labels = {{"churn", std::to_string(i)}};
        if (!product_.check(node, 1)) text += "churn: check\n";
        // Who asks makes no class; none of a kind fits, whatever the quotas say, and makes one.
        const PlanItem none{&node, 0};
        const auto held = product_.reserve("churn", {&none, 1}, product_.now_us() + 1);
        if (!held || !held->accepted || !product_.release("churn")) text += "churn: reserve\n";
      }
      break;
    case Churn::kResources:
      for (int i = 0; i < kTimes; ++i) {
        node.capacity.clear();
        for (int r = 0; r < 4; ++r) {
          node.capacity.emplace_back("churn-" + std::to_string(i) + "-" + std::to_string(r),
                                     Quantity::from_value(1));
        }
        tell(node);
      }
      break;
    case Churn::kLabelSets:
      for (int i = 0; i < kTimes; ++i) {
        node.labels = {{"churn-" + std::to_string(i), ""}};
        tell(node);
      }
      break;
  }
  product_.remove_node("churn");
  product_.remove_capacity_quota("churn");
  if (!product_.check(node, 1) && step.churn != Churn::kResources) text += "churn: check\n";
  return with_state(unchanged(text));
}

std::string CapacityQuotaRun::perform(const ReplayStep& step) {
  const oracle::CapacityQuotas::Facts& facts = oracle_.facts();
  Draws draws(step.seed);
  CapacityQuotas again(options_);
  const auto must = [](const auto& result) {
    return result ? std::string() : "replay: " + result.error().message + "\n";
  };
  std::string text = must(again.advance(facts.now_us));

  // Nodes that name a live reservation and took nothing off were there before it.
  std::set<std::string> came_first;
  for (const auto& [name, node] : facts.nodes) {
    const auto live = facts.reservations.find(reservation_of(node));
    if (live == facts.reservations.end() || live->second.registered.contains(name)) continue;
    came_first.insert(name);
    text += must(again.upsert(node));
  }
  for (const auto& [id, reservation] : facts.reservations) {
    const Held& held = held_.at(id);
    // One name took off one reservation, and came first to another: no short order makes that.
    for (const Node& taker : held.takers) {
      if (came_first.contains(taker.name)) return "";
    }
    text += must(again.reserve(id, plan_items(held.items), reservation.expires_us));
  }
  for (const auto& [id, reservation] : facts.reservations) {
    for (const Node& taker : held_.at(id).takers) {
      text += must(again.upsert(taker));
      if (draws.one_in(2)) again.remove_node(taker.name);
      // Another reservation may wait for the same name.
      if (facts.reservations.size() > 1) again.remove_node(taker.name);
    }
  }

  std::vector<const Node*> nodes;
  std::vector<const oracle::CapacityQuotas::CapacityQuotaFact*> quotas;
  std::vector<CapacityQuotaClass> classes;
  std::vector<std::size_t> order;
  std::set<std::string> takers;
  for (const auto& [id, held] : held_) {
    for (const Node& taker : held.takers) takers.insert(taker.name);
  }
  for (const std::string& name : takers) {
    if (!facts.nodes.contains(name)) again.remove_node(name);
  }
  for (const auto& [name, node] : facts.nodes) nodes.push_back(&node);
  for (const auto& [key, fact] : facts.quotas) {
    quotas.push_back(&fact);
    classes.push_back(static_cast<CapacityQuotaClass>(key.first));
  }
  for (std::size_t i = 0; i < nodes.size() + quotas.size(); ++i) order.push_back(i);
  shuffle(order, draws);
  for (const std::size_t at : order) {
    if (at < nodes.size()) {
      if (draws.one_in(3)) {
        Node other = *nodes[draws.below(nodes.size())];
        other.name = nodes[at]->name;
        other.annotations.clear();
        text += must(again.upsert(other));
      }
      text += must(again.upsert(*nodes[at]));
      continue;
    }
    const auto& fact = *quotas[at - nodes.size()];
    const CapacityQuotaClass quota_class = classes[at - nodes.size()];
    if (fact.in_force) text += must(again.upsert(*fact.in_force, quota_class));
    if (draws.one_in(3)) {
      CapacityQuota passing = fact.seen;
      passing.name = "passing";
      text += must(again.upsert(passing, CapacityQuotaClass::kNodeGroup));
      again.remove_capacity_quota("passing", CapacityQuotaClass::kNodeGroup);
    }
    text += must(again.upsert(fact.seen, quota_class));
  }
  again.fork();
  if (!nodes.empty()) again.remove_node(nodes[0]->name);
  for (const auto& [id, reservation] : facts.reservations) again.release(id);
  again.rollback();
  text += must(again.validate());
  return text + difference("digest of the same facts", product_.digest(), again.digest()) +
         capacity_quota_difference("status of the same facts", oracle_.status(), again.status());
}

}  // namespace headroom
