#include "autoscaling/capacity_quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "autoscaling/capacity_facts.h"
#include "autoscaling/capacity_planning.h"
#include "autoscaling/capacity_quota_rows.h"
#include "autoscaling/max_total.h"
#include "objects/all_or_none.h"
#include "objects/labels.h"
#include "objects/limits.h"

namespace headroom {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

const auto kNeverPause = [] { return false; };

}  // namespace

struct CapacityQuotas::Impl {
  explicit Impl(CapacityQuotasOptions options) : facts(std::move(options)) {}

  Result<std::vector<AskedTemplate>> look_at(std::span<const PlanItem> items) {
    if (Result<void> ok = check_items(items); !ok) return tl::unexpected<Error>(ok.error());
    std::vector<AskedTemplate> asked(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      Result<void> looked = facts.look_at(*items[i].node, asked[i]);
      if (!looked) return tl::unexpected<Error>(std::move(looked.error()));
    }
    return asked;
  }

  // The template's rows for `count` nodes, and how many are allowed.
  std::int64_t rows_of(const AskedTemplate& asked, std::int64_t count,
                       std::vector<CapacityQuotaRow>& rows) {
    std::int64_t allowed = count;
    rows.clear();
    facts.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
      allowed = std::min(allowed, rows.emplace_back(row_of(entry, entry, amount, count)).max_nodes);
    });
    if (allowed < count) {
      for (CapacityQuotaRow& row : rows) row.binding = row.max_nodes == allowed;
    }
    return allowed;
  }

  std::int64_t max_nodes(const AskedTemplate& asked) {
    std::int64_t most = kMost;
    facts.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
      most = std::min(most, times(entry.headroom(), amount));
    });
    return most;
  }

  Result<WhatIf> what_if(std::span<const CapacityQuotaChange> changes,
                         std::span<const Node> templates);

  CapacityFacts facts;
  AskedTemplate scratch;  // of check()
};

CapacityQuotas::CapacityQuotas(CapacityQuotasOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
CapacityQuotas::~CapacityQuotas() = default;
CapacityQuotas::CapacityQuotas(CapacityQuotas&&) noexcept = default;
CapacityQuotas& CapacityQuotas::operator=(CapacityQuotas&&) noexcept = default;

// --- Facts ---

Result<void> CapacityQuotas::upsert(const Node& node) { return impl_->facts.upsert(node); }
void CapacityQuotas::remove_node(std::string_view name) { impl_->facts.remove_node(name); }
Result<void> CapacityQuotas::upsert(const CapacityQuota& quota, CapacityQuotaClass quota_class) {
  return impl_->facts.upsert(quota, quota_class);
}
void CapacityQuotas::remove_capacity_quota(std::string_view name, CapacityQuotaClass quota_class) {
  impl_->facts.remove_capacity_quota(name, quota_class);
}
Result<void> CapacityQuotas::advance(std::int64_t now_us) { return impl_->facts.advance(now_us); }
void CapacityQuotas::correct_clock(std::int64_t now_us) { impl_->facts.correct_clock(now_us); }
std::int64_t CapacityQuotas::now_us() const { return impl_->facts.now_us(); }

// --- Questions ---

Result<CapacityCheck> CapacityQuotas::check(const Node& node_template, std::int64_t count) {
  CapacityCheck answer;
  const Result<void> checked = check(node_template, count, answer);
  if (!checked) return tl::unexpected<Error>(checked.error());
  return answer;
}

Result<void> CapacityQuotas::check(const Node& node_template, std::int64_t count,
                                   CapacityCheck& answer) {
  if (Result<void> ok = check_count(node_template, count); !ok) return ok;
  AskedTemplate& asked = impl_->scratch;
  if (Result<void> looked = impl_->facts.look_at(node_template, asked); !looked) return looked;
  answer.allowed = impl_->rows_of(asked, count, answer.rows);
  impl_->facts.table().list_skipped(answer.skipped);
  return {};
}

Result<PlanAnswer> CapacityQuotas::plan(const Plan& plan) {
  CapacityPlanning planning(impl_->facts,
                            {.count = plan.add.size(),
                             .item = [&plan](std::size_t item) { return plan.add[item]; },
                             .remove = {plan.remove.begin(), plan.remove.end()}});
  if (const Result<bool> done = planning.turn(kNeverPause); !done) {
    return tl::unexpected<Error>(done.error());
  }
  return std::move(planning.answer());
}

std::unique_ptr<CapacityPlanning> CapacityQuotas::planning(PlanningRequest request) {
  return std::make_unique<CapacityPlanning>(impl_->facts, std::move(request));
}

Result<MaxTotal> CapacityQuotas::max_total(std::span<const PlanItem> items) {
  const Result<std::vector<AskedTemplate>> asked = impl_->look_at(items);
  if (!asked) return tl::unexpected<Error>(asked.error());
  std::vector<std::int64_t> counts_max;
  std::map<const CapacityQuotaEntry*, std::size_t> numbers;
  std::vector<MaxTotalLimit> limits;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    counts_max.push_back(items[i].count);
    impl_->facts.for_each_touched(
        (*asked)[i], [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
          const auto [it, added] = numbers.try_emplace(&entry, limits.size());
          if (added) limits.push_back({entry.headroom(), {}});
          limits[it->second].items.emplace_back(i, amount);
        });
  }
  MaxTotal answer = headroom::max_total(std::move(counts_max), std::move(limits));
  impl_->facts.table().list_skipped(answer.skipped);
  return answer;
}

Result<std::vector<TemplateHeadroom>> CapacityQuotas::headroom(std::span<const Node> templates) {
  std::vector<TemplateHeadroom> answers;
  for (const Node& node : templates) {
    AskedTemplate asked;
    if (Result<void> looked = impl_->facts.look_at(node, asked); !looked) {
      return tl::unexpected<Error>(std::move(looked.error()));
    }
    TemplateHeadroom& answer = answers.emplace_back();
    answer.max_nodes = impl_->max_nodes(asked);
    impl_->facts.table().list_skipped(answer.skipped);
    impl_->facts.for_each_touched(asked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
      const std::int64_t most = times(entry.headroom(), amount);
      answer.rows.push_back({entry.id, entry.name, entry.headroom(),
                             entry.headroom() - static_cast<Int128>(amount) * answer.max_nodes,
                             most, most == answer.max_nodes && most < kMost});
    });
  }
  return answers;
}

// --- What if ---

namespace {

using AmountsByLimit = std::map<std::pair<CapacityQuotaKey, std::string>, WhatIf::Amounts>;

AmountsByLimit amounts_of(const CapacityQuotaTable& table) {
  AmountsByLimit amounts;
  for (const auto& [key, quota] : table.capacity_quotas()) {
    for (const CapacityQuotaEntry& entry : quota->entries) {
      amounts[{key, std::string(entry.name)}] = {entry.limit, entry.used, entry.reserved};
    }
  }
  return amounts;
}

void compare(const AmountsByLimit& before, const AmountsByLimit& after,
             std::vector<WhatIf::Row>& rows) {
  std::set<std::pair<CapacityQuotaKey, std::string>> limits;
  for (const auto& [limit, amounts] : before) limits.insert(limit);
  for (const auto& [limit, amounts] : after) limits.insert(limit);
  const auto find = [](const AmountsByLimit& all, const auto& limit) {
    const auto it = all.find(limit);
    return it == all.end() ? std::nullopt : std::optional(it->second);
  };
  for (const auto& limit : limits) {
    const auto& [key, resource] = limit;
    WhatIf::Row row{capacity_quota_id(key.first, key.second), resource, find(before, limit),
                    find(after, limit)};
    if (row.before == row.after) continue;
    row.newly_over = row.after && row.after->over() && !(row.before && row.before->over());
    rows.push_back(std::move(row));
  }
}

}  // namespace

Result<WhatIf> CapacityQuotas::Impl::what_if(std::span<const CapacityQuotaChange> changes,
                                             std::span<const Node> templates) {
  const AmountsByLimit before = amounts_of(facts.table());
  // A change may renumber classes: templates are looked at anew.
  const auto most = [&]() -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> counts;
    for (const Node& node : templates) {
      AskedTemplate item;
      if (Result<void> looked = facts.look_at(node, item); !looked) {
        return tl::unexpected<Error>(std::move(looked.error()));
      }
      counts.push_back(max_nodes(item));
    }
    return counts;
  };
  const Result<std::vector<std::int64_t>> most_before = most();
  if (!most_before) return tl::unexpected<Error>(most_before.error());
  WhatIf answer;
  for (const CapacityQuotaChange& change : changes) {
    Result<void> applied;
    if (const auto* upsert = std::get_if<CapacityQuotaUpsert>(&change)) {
      applied = facts.upsert(upsert->quota, upsert->quota_class);
    } else if (const auto* removal = std::get_if<CapacityQuotaRemoval>(&change)) {
      facts.remove_capacity_quota(removal->name, removal->quota_class);
    } else {
      applied = facts.upsert(std::get<NodeUpsert>(change).node);
    }
    if (!applied) return tl::unexpected<Error>(std::move(applied.error()));
  }
  compare(before, amounts_of(facts.table()), answer.rows);
  const Result<std::vector<std::int64_t>> most_after = most();
  if (!most_after) return tl::unexpected<Error>(most_after.error());
  for (std::size_t i = 0; i < templates.size(); ++i) {
    if ((*most_before)[i] == (*most_after)[i]) continue;
    WhatIf::Template item{templates[i].name, (*most_before)[i], (*most_after)[i], {}};
    if (item.newly_blocked()) {
      AskedTemplate looked;
      if (!facts.look_at(templates[i], looked)) continue;
      facts.for_each_touched(looked, [&](const CapacityQuotaEntry& entry, std::int64_t amount) {
        std::vector<std::string>& by = item.blocked_by;
        if (times(entry.headroom(), amount) > 0) return;
        if (by.empty() || by.back() != entry.id) by.emplace_back(entry.id);
      });
    }
    answer.templates.push_back(std::move(item));
  }
  for (const auto& [key, quota] : facts.table().capacity_quotas()) {
    if (!quota->state.in_force) answer.skipped.emplace_back(quota->id, quota->state.invalid);
  }
  return answer;
}

Result<WhatIf> CapacityQuotas::what_if(std::span<const CapacityQuotaChange> changes,
                                       std::span<const Node> templates) {
  const std::vector<Node> kinds = templates.empty() ? node_kinds() : std::vector<Node>();
  const TriedFork fork(*this);
  return impl_->what_if(changes, templates.empty() ? kinds : templates);
}

// But for `nodes`.
static CapacityQuotaStatus amounts_of(const CountedCapacityQuota& quota) {
  CapacityQuotaStatus status;
  const CapacityQuotaState& state = quota.state;
  status.id = quota.id;
  status.name = quota.key.second;
  status.quota_class = quota.key.first;
  status.generation = state.object.generation;
  status.generation_in_force = state.generation_in_force;
  status.in_force = state.in_force.has_value();
  status.invalid = state.invalid;
  for (const CapacityQuotaEntry& entry : quota.entries) {
    status.amounts.push_back({std::string(entry.name), entry.limit, entry.used, entry.reserved});
  }
  return status;
}

std::vector<CapacityQuotaStatus> CapacityQuotas::amounts(std::size_t most) const {
  std::vector<CapacityQuotaStatus> first;
  for (const auto& [key, quota] : impl_->facts.table().capacity_quotas()) {
    if (first.size() == most) break;
    first.push_back(amounts_of(*quota));
  }
  return first;
}

std::vector<CapacityQuotaStatus> CapacityQuotas::status(
    const std::optional<std::pair<CapacityQuotaClass, std::string>>& after,
    std::size_t most) const {
  const CapacityFacts& facts = impl_->facts;
  const CapacityQuotaTable::ByKey& quotas = facts.table().capacity_quotas();
  std::vector<CapacityQuotaStatus> page;
  for (auto at = after ? quotas.upper_bound(*after) : quotas.begin();
       at != quotas.end() && page.size() < most; ++at) {
    CapacityQuotaStatus& status = page.emplace_back(amounts_of(*at->second));
    for (std::uint32_t c = 0; status.in_force && c < facts.table().classes(); ++c) {
      if (facts.table().at(c).nodes > 0 &&
          matches(at->second->state.in_force->selector, facts.labels().labels(c))) {
        status.nodes += facts.table().at(c).nodes;
      }
    }
  }
  return page;
}

std::vector<Node> CapacityQuotas::node_kinds() const {
  const CapacityFacts& facts = impl_->facts;
  std::vector<StringMap> read;  // by class
  for (std::uint32_t c = 0; c < facts.labels().size(); ++c) read.push_back(facts.labels_in_use(c));
  // By labels and amounts: the first name.
  std::map<std::pair<StringMap, std::vector<std::pair<std::uint32_t, std::int64_t>>>,
           std::string_view>
      kinds;
  facts.for_each_node([&](const std::string& name, const CountedNode& node) {
    if (!node.counts) return;
    std::vector<std::pair<std::uint32_t, std::int64_t>> amounts;
    for (const ResourceAmount& had : node.amounts) amounts.emplace_back(had.resource, had.amount);
    const auto [it, added] = kinds.try_emplace({read[node.label_class], std::move(amounts)}, name);
    if (!added && name < it->second) it->second = name;
  });
  std::vector<Node> nodes;
  for (const auto& [kind, name] : kinds) {
    const CountedNode& facts_of = *facts.find_node(name);
    Node& node = nodes.emplace_back();
    node.name = name;
    node.labels = facts.labels().map_of(facts_of.labels);
    std::erase_if(node.labels, [](const auto& label) { return label.first == kHostnameLabel; });
    for (const ResourceAmount& had : facts_of.amounts) {
      const std::string_view resource = facts.resources().name(had.resource);
      if (resource == kNodesResource) continue;
      node.capacity.emplace_back(resource, quantity_of(resource, had.amount));
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return a.name < b.name; });
  return nodes;
}

// --- Reservations ---

Result<ReserveAnswer> CapacityQuotas::reserve(std::string_view id, std::span<const PlanItem> items,
                                              std::int64_t expires_us, ReserveMode mode) {
  CapacityReserving reserving(impl_->facts, {id, items, expires_us, mode});
  if (const Result<bool> done = reserving.turn(kNeverPause); !done) {
    return tl::unexpected<Error>(done.error());
  }
  return std::move(reserving.answer());
}

std::unique_ptr<CapacityReserving> CapacityQuotas::reserving(const ReservingRequest& request) {
  return std::make_unique<CapacityReserving>(impl_->facts, request);
}

bool CapacityQuotas::release(std::string_view id) { return impl_->facts.release(id); }

std::vector<ReservationStatus> CapacityQuotas::reservations(std::string_view after,
                                                            std::size_t most) const {
  const CapacityFacts::Reservations& reservations = impl_->facts.reservations();
  std::vector<ReservationStatus> page;
  for (auto at = reservations.upper_bound(after); at != reservations.end() && page.size() < most;
       ++at) {
    const auto& [id, held] = *at;
    ReservationStatus& status = page.emplace_back();
    status.id = id;
    status.expires_us = held.expires_us;
    for (const ReservedItem& item : held.items) status.nodes_left += item.left;
    status.nodes_registered = static_cast<std::int64_t>(held.registered.size());
  }
  return page;
}

bool CapacityQuotas::is_reserved(std::string_view id) const {
  return impl_->facts.reservations().contains(id);
}

void CapacityQuotas::reserve_nodes(std::uint32_t count) {
  impl_->facts.reserve_nodes(std::min(count, kCapacityQuotaNodesMax));
}

void CapacityQuotas::adopt(const CapacityQuotas& former) {
  impl_->facts.adopt(former.impl_->facts);
}

void CapacityQuotas::fork() { impl_->facts.fork(); }
void CapacityQuotas::rollback() { impl_->facts.rollback(); }
void CapacityQuotas::commit() { impl_->facts.commit(); }

// --- Looking ---

CapacityQuotasStats CapacityQuotas::stats() const {
  const CapacityFacts& facts = impl_->facts;
  CapacityQuotasStats stats;
  stats.nodes = facts.node_count();
  stats.quotas = static_cast<std::uint32_t>(facts.table().capacity_quotas().size());
  stats.invalid_quotas = static_cast<std::uint32_t>(facts.table().invalid());
  stats.reservations = static_cast<std::uint32_t>(facts.reservations().size());
  stats.node_classes = facts.labels().size();
  return stats;
}

std::uint64_t CapacityQuotas::digest() const { return impl_->facts.digest(); }
Result<void> CapacityQuotas::validate() const { return impl_->facts.validate(); }
std::unique_ptr<CapacityAudit> CapacityQuotas::audit(AuditOptions options) const {
  return std::make_unique<CapacityAudit>(impl_->facts, options);
}

}  // namespace headroom
