#include "autoscaling/capacity_quota_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "objects/assert.h"

namespace headroom {

namespace {

// The order of answers.
bool before(const CapacityQuotaEntry& a, const CapacityQuotaEntry& b) {
  return a.quota == b.quota ? a.name < b.name : a.quota->key < b.quota->key;
}

void add(std::vector<Int128>& sums, const ResourceAmounts& amounts, std::int64_t times) {
  for (const ResourceAmount& had : amounts) {
    if (had.resource >= sums.size()) sums.resize(had.resource + 1);
    sums[had.resource] += static_cast<Int128>(had.amount) * times;
  }
}

// Of no two lists of labels the same.
std::string key_of(const StringMap& labels) {
  std::string key;
  for (const auto& [name, value] : labels) {
    for (const std::string& text : {std::cref(name), std::cref(value)}) {
      const std::size_t size = text.size();
      key.append(reinterpret_cast<const char*>(&size), sizeof size);
      key += text;
    }
  }
  return key;
}

Int128 sum_of(const std::vector<Int128>& sums, std::uint32_t resource) {
  return resource < sums.size() ? sums[resource] : 0;
}

}  // namespace

const CountedCapacityQuota* CapacityQuotaTable::find(const CapacityQuotaKey& key) const {
  const auto it = quotas_.find(key);
  return it == quotas_.end() ? nullptr : it->second.get();
}

void CapacityQuotaTable::list_skipped(std::vector<SkippedCapacityQuota>& skipped) const {
  skipped.clear();
  if (skipped_ == 0) return;
  for (const auto& [key, quota] : quotas_) {
    if (!quota->state.in_force) skipped.push_back({quota->id, quota->state.invalid});
  }
}

void CapacityQuotaTable::read_amounts(const ResourceAmounts& amounts) {
  std::size_t size = amounts_.size();
  for (const ResourceAmount& had : amounts) size = std::max<std::size_t>(size, had.resource + 1);
  amounts_.resize(size);
  for (const ResourceAmount& had : amounts) amounts_[had.resource] = had.amount;
}

void CapacityQuotaTable::forget_amounts(const ResourceAmounts& amounts) {
  for (const ResourceAmount& had : amounts) amounts_[had.resource] = 0;
}

void CapacityQuotaTable::set(const CapacityQuotaKey& key, std::optional<CapacityQuotaState> state,
                             const std::vector<std::uint32_t>& resources,
                             const LabelClasses& labels) {
  auto it = quotas_.find(key);
  forget_asked();
  if (it != quotas_.end()) {
    detach(*it->second);
    for (const CapacityQuotaEntry& entry : it->second->entries) numbers_.give(entry.number);
    skipped_ -= it->second->state.in_force ? 0 : 1;
    invalid_ -= it->second->state.invalid.empty() ? 0 : 1;
    if (!state) {
      quotas_.erase(it);
      return;
    }
  } else {
    if (!state) return;
    auto made = std::make_unique<CountedCapacityQuota>();
    made->key = key;
    made->id = capacity_quota_id(key.first, key.second);
    it = quotas_.emplace(key, std::move(made)).first;
  }
  CountedCapacityQuota& quota = *it->second;
  quota.state = std::move(*state);
  // Last, so that what memory ended on is not taken for what it was to be.
  CapacityQuota object = std::exchange(quota.state.object, {});
  quota.entries.clear();
  invalid_ += quota.state.invalid.empty() ? 0 : 1;
  if (!quota.state.in_force) {
    ++skipped_;
    quota.state.object = std::move(object);
    return;
  }
  const std::vector<CapacityQuotaLimit>& limits = quota.state.in_force->limits;
  quota.entries.reserve(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::uint32_t number = numbers_.take([this] { return limits_++; });
    CapacityQuotaEntry& entry = quota.entries.emplace_back();
    entry.number = number;
    entry.quota = &quota;
    entry.id = quota.id;
    entry.name = limits[i].resource;
    entry.resource = resources[i];
    entry.limit = limits[i].amount;
  }
  attach(quota, labels);
  quota.state.object = std::move(object);
}

void CapacityQuotaTable::attach(CountedCapacityQuota& quota, const LabelClasses& labels) {
  for (std::uint32_t c = 0; c < classes(); ++c) {
    if (!matches(quota.state.in_force->selector, labels.labels(c))) continue;
    NodeClassSums& sums = classes_[c];
    for (CapacityQuotaEntry& entry : quota.entries) {
      entry.used += sum_of(sums.used, entry.resource);
      entry.reserved += sum_of(sums.reserved, entry.resource);
      const auto at = std::upper_bound(
          sums.touches.begin(), sums.touches.end(), entry,
          [](const CapacityQuotaEntry& a, const LimitTouch& b) { return before(a, *b.entry); });
      sums.touches.insert(at, {&entry, entry.resource});
    }
  }
}

void CapacityQuotaTable::detach(const CountedCapacityQuota& quota) {
  if (quota.entries.empty()) return;
  for (NodeClassSums& sums : classes_) {
    std::erase_if(sums.touches,
                  [&](const LimitTouch& touch) { return touch.entry->quota == &quota; });
  }
}

void CapacityQuotaTable::add_class(const LabelClasses& labels) {
  const StringMap& its = labels.labels(classes());
  classes_.emplace_back().touches = matched(its);
}

LimitTouches CapacityQuotaTable::matched(const StringMap& labels) const {
  LimitTouches touches;
  for (const auto& [key, quota] : quotas_) {
    if (!quota->state.in_force || !matches(quota->state.in_force->selector, labels)) continue;
    for (CapacityQuotaEntry& entry : quota->entries) touches.push_back({&entry, entry.resource});
  }
  return touches;
}

const LimitTouches& CapacityQuotaTable::touches_of(const StringMap& labels) {
  std::string key = key_of(labels);
  if (const auto known = asked_.find(key); known != asked_.end()) return known->second;
  LimitTouches touches = matched(labels);
  const std::size_t bytes = key.size() + touches.size() * sizeof(LimitTouch);
  if (asked_.size() >= kAskedLabelsMax || asked_bytes_ + bytes > kAskedLabelsBytesMax) {
    forget_asked();
  }
  const LimitTouches& kept = asked_.emplace(std::move(key), std::move(touches)).first->second;
  asked_bytes_ += bytes;
  return kept;
}

void CapacityQuotaTable::forget_asked() {
  asked_.clear();
  asked_bytes_ = 0;
}

void CapacityQuotaTable::add_class(std::uint32_t parent) {
  LimitTouches touches = classes_[parent].touches;
  classes_.emplace_back().touches = std::move(touches);
}

void CapacityQuotaTable::keep_only(const std::vector<std::uint32_t>& numbers) {
  std::vector<NodeClassSums> kept;
  kept.reserve(classes_.size());
  for (std::uint32_t c = 0; c < classes(); ++c) {
    if (numbers[c] != LabelClasses::kDropped) kept.push_back(std::move(classes_[c]));
  }
  classes_ = std::move(kept);
}

void CapacityQuotaTable::count_node(NodeClassSums& sums, int times) {
  const bool had = sums.nodes > 0;
  sums.nodes += static_cast<std::uint64_t>(static_cast<std::int64_t>(times));
  classes_with_nodes_ += static_cast<std::uint32_t>((sums.nodes > 0) - had);
}

void CapacityQuotaTable::add_node(std::uint32_t label_class, const ResourceAmounts& amounts,
                                  int times) {
  NodeClassSums& sums = classes_[label_class];
  count_node(sums, times);
  add(sums.used, amounts, times);
  for_each_touched(
      classes_[label_class].touches, amounts,
      [&](CapacityQuotaEntry& entry, std::int64_t amount) { entry.used += times * amount; });
}

void CapacityQuotaTable::add_reserved(std::uint32_t label_class, const ResourceAmounts& amounts,
                                      std::int64_t times) {
  add(classes_[label_class].reserved, amounts, times);
  for_each_touched(classes_[label_class].touches, amounts,
                   [&](CapacityQuotaEntry& entry, std::int64_t amount) {
                     entry.reserved += static_cast<Int128>(amount) * times;
                   });
}

void CapacityQuotaTable::add_counted_node(std::uint32_t label_class,
                                          const ResourceAmounts& amounts) {
  count_node(classes_[label_class], 1);
  add(classes_[label_class].used, amounts, 1);
}

void CapacityQuotaTable::add_counted_reserved(std::uint32_t label_class,
                                              const ResourceAmounts& amounts, std::int64_t times) {
  add(classes_[label_class].reserved, amounts, times);
}

void CapacityQuotaTable::move_nodes(std::uint32_t from, std::uint32_t to) {
  HEADROOM_ASSERT(classes_[to].nodes == 0);
  std::swap(classes_[from].nodes, classes_[to].nodes);
  std::swap(classes_[from].used, classes_[to].used);
}

void CapacityQuotaTable::move_node(std::uint32_t from, std::uint32_t to,
                                   const ResourceAmounts& amounts) {
  count_node(classes_[from], -1);
  count_node(classes_[to], 1);
  add(classes_[from].used, amounts, -1);
  add(classes_[to].used, amounts, 1);
}

void CapacityQuotaTable::move_reserved(std::uint32_t from, std::uint32_t to,
                                       const ResourceAmounts& amounts, std::int64_t times) {
  add(classes_[from].reserved, amounts, -times);
  add(classes_[to].reserved, amounts, times);
}

}  // namespace headroom
