#include "autoscaling/capacity_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "objects/annotations.h"
#include "objects/assert.h"
#include "objects/labels.h"

namespace headroom {

namespace {

// More keys than twice those in use, and this: time to drop the others.
constexpr std::size_t kIdleKeysMax = 8;

bool is_deleting(const Node& node) {
  return node.deleting ||
         std::any_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) {
           return taint.key == "ToBeDeletedByClusterAutoscaler" ||
                  taint.key == "karpenter.sh/disrupted";
         });
}

tl::unexpected<Error> in_template(const Node& node, const Error& error) {
  return fail(error.code, fmt::format("template {}: {}", node.name, error.message));
}

bool alike(const StringMap& a, const StringMap& b) {
  const auto without_hostname = [](const StringMap& labels) {
    StringMap rest = labels;
    std::erase_if(rest, [](const auto& label) { return label.first == kHostnameLabel; });
    return rest;
  };
  return without_hostname(a) == without_hostname(b);
}

}  // namespace

bool CapacityFacts::is_virtual(const StringMap& labels) {
  const std::string* type = find(labels, "type");
  return type != nullptr && *type == "virtual-kubelet";
}

// --- Nodes ---

bool CapacityFacts::is_counted(const Node& node) const {
  return !is_virtual(node.labels) && !(options_.ignore_deleting && is_deleting(node));
}

const CountedNode* CapacityFacts::find_node(std::string_view name) const {
  const std::uint32_t row = row_of(name, NameIndex::hash(name));
  return row == NameIndex::kNone ? nullptr : &nodes_[row];
}

std::uint32_t CapacityFacts::row_of(std::string_view name, NameIndex::Hash hash) const {
  return rows_.find(hash, [&](std::uint32_t row) { return nodes_[row].name == name; });
}

void CapacityFacts::reserve_nodes(std::uint32_t count) {
  rows_.reserve(count);
  nodes_.reserve(count);
}

Result<void> CapacityFacts::upsert(const Node& node) {
  if (node.name.empty()) return fail(ErrorCode::kInvalid, "Node: metadata.name is empty");
  tidy();
  const bool is_new = find_node(node.name) == nullptr;
  if (is_new && node_count() >= kCapacityQuotaNodesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Node {}: kCapacityQuotaNodesMax ({}) nodes are known", node.name,
                            kCapacityQuotaNodesMax));
  }
  CountedNode facts;
  Result<void> read = resources_.read(node.capacity, facts.amounts);
  if (!read && resources_.size() >= kCapacityResourcesMax) {
    rebuild();  // drops the numbers of resources that are not in use
    read = resources_.read(node.capacity, facts.amounts);
  }
  if (!read) {
    return fail(read.error().code, fmt::format("Node {}: {}", node.name, read.error().message));
  }
  facts.labels = labels_.keep(node.labels);
  facts.counts = is_counted(node);
  if (const std::string* id = find(node.annotations, kReservationAnnotation)) {
    facts.reservation = *id;
    if (is_new) take_off(node.name, node.labels, facts.amounts, *id);
  }
  set_node(node.name, std::move(facts));
  return {};
}

void CapacityFacts::take_off(std::string_view node_name, const StringMap& labels,
                             const ResourceAmounts& amounts, std::string_view reservation_id) {
  const auto it = reservations_.find(reservation_id);
  if (it == reservations_.end() || it->second.registered.contains(node_name)) return;
  std::vector<ReservedItem>& items = it->second.items;
  const auto has_left = [](const ReservedItem& item) { return item.left > 0; };
  auto item = std::find_if(items.begin(), items.end(), [&](const ReservedItem& held) {
    return has_left(held) && held.node.amounts == amounts && alike(held.node.labels, labels);
  });
  if (item == items.end()) item = std::find_if(items.begin(), items.end(), has_left);
  if (item == items.end()) return;
  set_registered(it->first, static_cast<std::size_t>(item - items.begin()), node_name, true);
}

void CapacityFacts::set_registered(std::string_view id, std::size_t item,
                                   std::string_view node_name, bool registered) {
  NodeReservation& reservation = reservations_.find(id)->second;
  // First, as the sums tell where memory ends behind it.
  if (registered) {
    reservation.registered.emplace(node_name);
  } else {
    reservation.registered.erase(reservation.registered.find(node_name));
  }
  auto& [node, left] = reservation.items[item];
  left += registered ? -1 : 1;
  if (node.label_class != kNoClass) {
    table_.add_reserved(node.label_class, node.amounts, registered ? -1 : 1);
  }
  if (forked()) changes_.push_back(Registration{std::string(id), item, std::string(node_name)});
}

void CapacityFacts::remove_node(std::string_view name) {
  if (find_node(name) != nullptr) set_node(name, std::nullopt);
}

void CapacityFacts::set_node(std::string_view name, std::optional<CountedNode> facts) {
  if (facts) {
    facts->name = name;
    facts->label_class = facts->counts ? classify(facts->labels) : kNoClass;
  }
  const NameIndex::Hash hash = NameIndex::hash(name);
  std::uint32_t row = row_of(name, hash);
  const bool known = row != NameIndex::kNone;
  if (forked()) changes_.push_back(NodeBefore{std::string(name), std::nullopt});
  if (known) {
    CountedNode& was = nodes_[row];
    if (was.counts) table_.add_node(was.label_class, was.amounts, -1);
    if (forked()) std::get<NodeBefore>(changes_.back()).facts = std::move(was);
  }
  if (!facts) {
    if (!known) return;
    note_node(row);
    rows_.erase(hash, row);
    nodes_[row] = {};
    free_rows_.give(row);
    return;
  }
  if (facts->counts) table_.add_node(facts->label_class, facts->amounts, 1);
  if (known) {
    note_node(row);
    nodes_[row] = std::move(*facts);
    return;
  }
  row = free_rows_.take([this] {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  });
  note_node(row);
  nodes_[row] = std::move(*facts);
  rows_.insert(hash, row);
}

// --- Quotas ---

CapacityQuotaState CapacityFacts::read_state(const CapacityQuota& quota,
                                             const CapacityQuotaKey& key) {
  const CountedCapacityQuota* before = table_.find(key);
  CapacityQuotaState state;
  if (before != nullptr) state = before->state;
  state.object = quota;
  Result<CapacityQuotaSpec> spec = read_capacity_quota_spec(quota, options_.aliases);
  if (!spec) {
    state.invalid = std::move(spec.error().message);
    return state;
  }
  state.in_force = std::move(*spec);
  state.generation_in_force = quota.generation;
  state.invalid.clear();
  return state;
}

Result<void> CapacityFacts::upsert(const CapacityQuota& quota, CapacityQuotaClass quota_class) {
  const bool named = quota_class == CapacityQuotaClass::kNodeGroup ||
                     quota_class == CapacityQuotaClass::kCapacityQuota;
  if (named && quota.name.empty()) {
    return fail(ErrorCode::kInvalid, "CapacityQuota: metadata.name is empty");
  }
  const CapacityQuotaKey key{quota_class, named ? quota.name : std::string()};
  if (table_.find(key) == nullptr && table_.capacity_quotas().size() >= kCapacityQuotasMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: kCapacityQuotasMax ({}) quotas are known",
                            capacity_quota_id(quota_class, quota.name), kCapacityQuotasMax));
  }
  // Who has begun to ask need not begin again.
  if (const auto* known = table_.find(key); known != nullptr && known->state.object == quota) {
    return {};
  }
  CapacityQuotaState state = read_state(quota, key);
  if (state.in_force && !number_limits(*state.in_force, key)) {
    rebuild();  // drops the numbers of resources that are not in use
    if (auto numbered = number_limits(*state.in_force, key); !numbered) return numbered;
  }
  set_capacity_quota(key, std::move(state));
  return {};
}

Result<void> CapacityFacts::number_limits(const CapacityQuotaSpec& in_force,
                                          const CapacityQuotaKey& key) {
  for (const CapacityQuotaLimit& limit : in_force.limits) {
    if (const Result<std::uint32_t> number = resources_.number(limit.counted); !number) {
      return fail(number.error().code, fmt::format("{}: spec.limits.resources.{}: {}",
                                                   capacity_quota_id(key.first, key.second),
                                                   limit.resource, number.error().message));
    }
  }
  return {};
}

void CapacityFacts::remove_capacity_quota(std::string_view name, CapacityQuotaClass quota_class) {
  const bool named = quota_class == CapacityQuotaClass::kNodeGroup ||
                     quota_class == CapacityQuotaClass::kCapacityQuota;
  const CapacityQuotaKey key{quota_class, named ? std::string(name) : std::string()};
  if (table_.find(key) != nullptr) set_capacity_quota(key, std::nullopt);
}

void CapacityFacts::use_keys(const CapacityQuotaState* state, int times) {
  if (state == nullptr || !state->in_force) return;
  for (const NodeSelectorRequirement& asked : state->in_force->selector) {
    std::uint32_t& uses = key_uses_[asked.key];
    uses += static_cast<std::uint32_t>(times);
    if (uses == 0) key_uses_.erase(asked.key);
  }
}

void CapacityFacts::set_capacity_quota(const CapacityQuotaKey& key,
                                       std::optional<CapacityQuotaState> state) {
  ++edition_;  // before what may end half way, as memory may
  const CountedCapacityQuota* before = table_.find(key);
  if (forked()) {
    changes_.push_back(
        CapacityQuotaBefore{key, before == nullptr ? std::nullopt : std::optional(before->state)});
  }
  use_keys(state ? &*state : nullptr, 1);
  use_keys(before == nullptr ? nullptr : &before->state, -1);
  std::vector<std::uint32_t> counted;
  if (state && state->in_force) {
    read_keys(state->in_force->selector);
    for (const CapacityQuotaLimit& limit : state->in_force->limits) {
      counted.push_back(resources_.add(limit.counted));
    }
  }
  table_.set(key, std::move(state), counted, labels_);
  tell_audits([](CapacityAuditNotes& notes) { notes.classes = 0; });
  if (labels_.keys_read() > 2 * key_uses_.size() + kIdleKeysMax) rebuild();
}

StringMap CapacityFacts::labels_in_use(std::uint32_t label_class) const {
  StringMap labels = labels_.labels(label_class);
  std::erase_if(labels, [&](const auto& label) { return !key_uses_.contains(label.first); });
  return labels;
}

Result<void> CapacityFacts::look_at(const Node& node_template, AskedTemplate& asked) {
  asked.label_class = kNoClass;
  asked.labels.reset();
  count_new_classes();
  if (auto read = resources_.read_known(node_template.capacity, asked.amounts); !read) {
    return in_template(node_template, read.error());
  }
  if (is_virtual(node_template.labels)) return {};
  if (const auto known = labels_.find_class(node_template.labels)) {
    asked.label_class = *known;
  } else {
    asked.labels = labels_.read_of(node_template.labels);
  }
  return {};
}

void CapacityFacts::add_class_of(const Node& node_template) {
  if (!is_virtual(node_template.labels)) classify(node_template.labels);
}

// --- Reservations and time ---

Result<std::vector<ReservedItem>> CapacityFacts::hold(std::span<const PlanItem> items) {
  std::vector<ReservedItem> held(items.size());
  for (bool again = false;; again = true) {
    Result<void> read;
    for (std::size_t i = 0; i < items.size() && read; ++i) {
      read = resources_.read(items[i].node->capacity, held[i].node.amounts);
      held[i].node.labels = items[i].node->labels;
      if (!read) read = in_template(*items[i].node, read.error());
    }
    if (read) return held;
    if (again || resources_.size() < kCapacityResourcesMax) {
      return tl::unexpected<Error>(std::move(read.error()));
    }
    rebuild();
  }
}

void CapacityFacts::add_reserved(NodeReservation& reservation, int times) {
  if (times > 0) {
    // Of none until they are counted there.
    for (ReservedItem& item : reservation.items) item.node.label_class = kNoClass;
  }
  for (auto& [node, left] : reservation.items) {
    if (times > 0 && !is_virtual(node.labels)) node.label_class = classify(node.labels);
    if (node.label_class == kNoClass) continue;
    table_.add_reserved(node.label_class, node.amounts, times * left);
  }
}

void CapacityFacts::set_reservation(std::string_view id,
                                    std::optional<NodeReservation> reservation) {
  const auto it = reservations_.find(id);
  std::optional<NodeReservation> before;
  if (it != reservations_.end()) {
    expiries_.erase({it->second.expires_us, it->first});
    add_reserved(it->second, -1);
    if (forked()) before = std::move(it->second);
  }
  if (forked()) changes_.push_back(ReservationBefore{std::string(id), std::move(before)});
  if (!reservation) {
    if (it != reservations_.end()) reservations_.erase(it);
    return;
  }
  NodeReservation& held = it != reservations_.end() ? it->second : reservations_[std::string(id)];
  held = std::move(*reservation);
  expiries_.emplace(held.expires_us, id);
  add_reserved(held, 1);
}

void CapacityFacts::reserve(std::string_view id, NodeReservation reservation) {
  set_reservation(id, std::move(reservation));
}

bool CapacityFacts::release(std::string_view id) {
  if (reservations_.find(id) == reservations_.end()) return false;
  set_reservation(std::string(id), std::nullopt);
  return true;
}

void CapacityFacts::set_now(std::int64_t now_us) {
  if (forked()) changes_.push_back(ClockBefore{now_us_});
  now_us_ = now_us;
}

Result<void> CapacityFacts::advance(std::int64_t now_us) {
  if (now_us < now_us_) {
    return fail(ErrorCode::kInvalid,
                fmt::format("advance: {} us is before {} us", now_us, now_us_));
  }
  if (now_us == now_us_) return {};
  set_now(now_us);
  while (!expiries_.empty() && expiries_.begin()->first <= now_us) {
    const std::string id = expiries_.begin()->second;
    set_reservation(id, std::nullopt);
  }
  return {};
}

void CapacityFacts::correct_clock(std::int64_t now_us) {
  if (now_us > now_us_) {
    (void)advance(now_us);
  } else {
    set_now(now_us);
  }
}

void CapacityFacts::adopt(const CapacityFacts& former) {
  HEADROOM_ASSERT(reservations_.empty() && !forked());
  for (const auto& [id, held] : former.reservations_) {
    if (held.expires_us <= now_us_) continue;
    NodeReservation adopted = held;
    for (ReservedItem& item : adopted.items) {
      for (ResourceAmount& had : item.node.amounts) {
        had.resource = resources_.add(former.resources_.name(had.resource));
      }
    }
    set_reservation(id, std::move(adopted));
  }
  std::map<std::string_view, std::uint32_t> arrived;
  for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
    const CountedNode& node = nodes_[row];
    if (node.reservation.empty() || former.find_node(node.name) != nullptr) continue;
    arrived.emplace(node.name, row);
  }
  for (const auto& [name, row] : arrived) {
    const CountedNode& node = nodes_[row];
    take_off(name, labels_.map_of(node.labels), node.amounts, node.reservation);
  }
  std::vector<std::pair<CapacityQuotaKey, CapacityQuotaState>> adopted;
  for (const auto& [key, quota] : table_.capacity_quotas()) {
    const CountedCapacityQuota* was = former.table_.find(key);
    if (quota->state.in_force || was == nullptr || !was->state.in_force) continue;
    CapacityQuotaState state = quota->state;
    state.in_force = was->state.in_force;
    state.generation_in_force = was->state.generation_in_force;
    adopted.emplace_back(key, std::move(state));
  }
  for (auto& [key, state] : adopted) set_capacity_quota(key, std::move(state));
}

// --- Forks ---

void CapacityFacts::fork() { forks_.push_back(changes_.size()); }

void CapacityFacts::commit() {
  HEADROOM_ASSERT(forked());
  forks_.pop_back();
  if (!forked()) changes_.clear();
}

void CapacityFacts::rollback() {
  HEADROOM_ASSERT(forked());
  const std::size_t kept = forks_.back();
  forks_.pop_back();
  // Taking back is no change to remember.
  std::vector<std::size_t> outer = std::exchange(forks_, {});
  while (changes_.size() > kept) {
    Before before = std::move(changes_.back());
    changes_.pop_back();
    if (auto* node = std::get_if<NodeBefore>(&before)) {
      set_node(node->name, std::move(node->facts));
    } else if (auto* quota = std::get_if<CapacityQuotaBefore>(&before)) {
      set_capacity_quota(quota->key, std::move(quota->state));
    } else if (auto* held = std::get_if<ReservationBefore>(&before)) {
      set_reservation(held->id, std::move(held->reservation));
    } else if (auto* taken = std::get_if<Registration>(&before)) {
      set_registered(taken->id, taken->item, taken->node_name, false);
    } else {
      set_now(std::get<ClockBefore>(before).now_us);
    }
  }
  forks_ = std::move(outer);
}

}  // namespace headroom
