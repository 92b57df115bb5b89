// See capacity_quota.h: facts, the limits with their sums, the check of one template, status.
#include "oracle/quotas/capacity_quota.h"

#include <algorithm>

#include "oracle/label_selector.h"
#include "oracle/quotas/capacity_quota_rows.h"

namespace oracle {
namespace {

CapacityQuotas::CapacityQuotaKey key_of(const std::string& name, CapacityQuotaClass quota_class) {
  const bool alone = quota_class == CapacityQuotaClass::kClusterWide ||
                     quota_class == CapacityQuotaClass::kMaxNodes;
  return {quota_class, alone ? "" : name};
}

}  // namespace

std::string CapacityQuotas::capacity_quota_id(const CapacityQuotaKey& key) {
  switch (key.first) {
    case CapacityQuotaClass::kClusterWide:
      return "cluster-wide";
    case CapacityQuotaClass::kMaxNodes:
      return "max-nodes";
    case CapacityQuotaClass::kNodeGroup:
      return "NodeGroup/" + key.second;
    default:
      return "CapacityQuota/" + key.second;
  }
}

headroom::Result<void> CapacityQuotas::upsert(const headroom::Node& node) {
  if (!node_amounts(node)) return headroom::fail(headroom::ErrorCode::kLimitExceeded, node.name);
  if (facts_.nodes.insert_or_assign(node.name, node).second) {
    register_node(facts_.reservations, node);
  }
  return {};
}

void CapacityQuotas::remove_node(const std::string& name) { facts_.nodes.erase(name); }

void CapacityQuotas::upsert(const headroom::CapacityQuota& quota, CapacityQuotaClass quota_class) {
  CapacityQuotaFact& fact = facts_.quotas[key_of(quota.name, quota_class)];
  fact.seen = quota;
  if (spec_limits(quota, aliases_)) fact.in_force = quota;
}

void CapacityQuotas::remove_capacity_quota(const std::string& name,
                                           CapacityQuotaClass quota_class) {
  facts_.quotas.erase(key_of(name, quota_class));
}

headroom::Result<void> CapacityQuotas::advance(std::int64_t now_us) {
  if (now_us < facts_.now_us) return headroom::fail(headroom::ErrorCode::kInvalid, "backwards");
  facts_.now_us = now_us;
  expire(facts_.reservations, now_us);
  return {};
}

bool CapacityQuotas::release(const std::string& id) { return facts_.reservations.erase(id) != 0; }

std::vector<LiveReservation> CapacityQuotas::reservations() const {
  std::vector<LiveReservation> list;
  for (const auto& [id, held] : facts_.reservations) {
    list.push_back(
        {id, held.expires_us, held.left(), static_cast<std::int64_t>(held.registered.size())});
  }
  return list;
}

void CapacityQuotas::adopt(const CapacityQuotas& former) {
  facts_.reservations = former.facts_.reservations;
  expire(facts_.reservations, facts_.now_us);
  for (const auto& [name, node] : facts_.nodes) {
    if (!former.facts_.nodes.contains(name)) register_node(facts_.reservations, node);
  }
  for (auto& [key, fact] : facts_.quotas) {
    const auto there = former.facts_.quotas.find(key);
    if (there == former.facts_.quotas.end() || spec_limits(fact.seen, aliases_)) continue;
    fact.in_force = there->second.in_force;
  }
}

void CapacityQuotas::rollback() {
  facts_ = forks_.back();
  forks_.pop_back();
}

bool CapacityQuotas::counts(const headroom::Node& node) const {
  return !is_virtual(node) && !(ignore_deleting_ && is_marked_for_deletion(node));
}

std::vector<std::string> CapacityQuotas::skipped() const {
  std::vector<std::string> ids;
  for (const auto& [key, fact] : facts_.quotas) {
    if (!fact.in_force) ids.push_back(capacity_quota_id(key));
  }
  return ids;
}

std::int64_t CapacityQuotas::Limit::amount(const headroom::Node& node) const {
  if (is_virtual(node) || !selects(*selector, node.labels)) return 0;
  const auto amounts = node_amounts(node);
  const auto found = amounts->find(counted);
  return found == amounts->end() ? 0 : found->second;
}

std::vector<CapacityQuotas::Limit> CapacityQuotas::limits() const {
  std::vector<Limit> list;
  for (const auto& [key, fact] : facts_.quotas) {
    if (!fact.in_force) continue;
    const auto specs = spec_limits(*fact.in_force, aliases_);
    for (const auto& [resource, spec] : *specs) {
      Limit limit{capacity_quota_id(key),
                  resource,
                  spec.counted,
                  &fact.in_force->selector,
                  spec.limit,
                  0,
                  0};
      for (const auto& [name, node] : facts_.nodes) {
        if (counts(node)) limit.used += limit.amount(node);
      }
      for (const auto& [id, reservation] : facts_.reservations) {
        for (const HeldNodes& item : reservation.items) {
          limit.reserved += static_cast<Int128>(item.left) * limit.amount(item.node);
        }
      }
      list.push_back(limit);
    }
  }
  return list;
}

headroom::Result<CapacityQuotaCheck> CapacityQuotas::check(const headroom::Node& node_template,
                                                           std::int64_t count) const {
  if (count < 0) return headroom::fail(headroom::ErrorCode::kInvalid, "count");
  if (!node_amounts(node_template)) {
    return headroom::fail(headroom::ErrorCode::kLimitExceeded, node_template.name);
  }
  CapacityQuotaCheck answer = check_rows(limits(), node_template, count);
  answer.skipped = skipped();
  return answer;
}

std::vector<CapacityQuotaStatus> CapacityQuotas::status() const {
  std::vector<CapacityQuotaStatus> list;
  const std::vector<Limit> all = limits();
  for (const auto& [key, fact] : facts_.quotas) {
    CapacityQuotaStatus status;
    status.id = capacity_quota_id(key);
    status.name = key.second;
    status.quota_class = key.first;
    status.generation = fact.seen.generation;
    status.invalid = !spec_limits(fact.seen, aliases_);
    status.in_force = fact.in_force.has_value();
    if (status.in_force) {
      status.generation_in_force = fact.in_force->generation;
      // Those that count: virtual ones, and those that an option ignores, are not among them.
      for (const auto& [name, node] : facts_.nodes) {
        if (counts(node) && selects(fact.in_force->selector, node.labels)) ++status.nodes;
      }
    }
    for (const Limit& limit : all) {
      if (limit.quota != status.id) continue;
      status.amounts.push_back({limit.resource, limit.limit, limit.used, limit.reserved});
    }
    list.push_back(status);
  }
  return list;
}

}  // namespace oracle
