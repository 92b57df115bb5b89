// Usage, what is left, and the check; see upstream_tracker.h.
#include "tools/conformance/upstream/upstream_tracker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "autoscaling/capacity_quota_spec.h"
#include "tools/conformance/upstream/upstream_quantity.h"

namespace headroom {

namespace {

// int64 as Go computes with it.
std::int64_t wrap(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return wrap(bits(a) + bits(b)); }
std::int64_t minus(std::int64_t a, std::int64_t b) { return wrap(bits(a) - bits(b)); }
std::int64_t times(std::int64_t a, std::int64_t b) { return wrap(bits(a) * bits(b)); }

// The named object in an error's field.
std::string field(const UpstreamNode& node, std::string_view list, std::string_view resource) {
  return "Node " + node.name + ": status." + std::string(list) + "." + std::string(resource);
}

Result<UpstreamValue> value_of(const std::string& text, const std::string& where) {
  Result<UpstreamValue> value = upstream_value(text);
  if (!value) return fail(value.error().code, where + ": " + value.error().message);
  return value;
}

Result<std::int64_t> capacity_of(const UpstreamNode& node, std::string_view resource) {
  const std::string* text = find(node.capacity, resource);
  if (text == nullptr) return 0;
  const Result<UpstreamValue> value = value_of(*text, field(node, "capacity", resource));
  if (!value) return tl::unexpected<Error>(value.error());
  return std::max<std::int64_t>(value->units, 0);
}

Result<UpstreamAmounts> limits_of(const CapacityQuota& quota) {
  UpstreamAmounts limits;
  for (const auto& [resource, text] : quota.limits) {
    const Result<UpstreamValue> value =
        value_of(text, "CapacityQuota " + quota.name + ": spec.limits.resources." + resource);
    if (!value) return tl::unexpected<Error>(value.error());
    limits[resource] = value->units;
  }
  return limits;
}

// Minima of 0 or less are none; a resource with a maximum alone has a minimum of 0.
UpstreamAmounts minima(const UpstreamSnapshot& snapshot) {
  UpstreamAmounts limits;
  for (const auto& [resource, amount] : snapshot.max) limits[resource] = 0;
  for (const auto& [resource, amount] : snapshot.min) {
    if (amount > 0) limits[resource] = amount;
  }
  return limits;
}

// As one after another.
void add(const UpstreamAmounts& amounts, std::int64_t count, UpstreamAmounts& sum) {
  for (const auto& [resource, amount] : amounts) {
    sum[resource] = plus(sum[resource], times(amount, count));
  }
}

template <typename T, typename Name>
std::vector<const T*> sorted(std::span<const T> list, const Name& name) {
  std::vector<const T*> result;
  for (const T& entry : list) result.push_back(&entry);
  std::sort(result.begin(), result.end(),
            [&](const T* a, const T* b) { return name(*a) < name(*b); });
  return result;
}

}  // namespace

Result<UpstreamTracker> UpstreamTracker::create(const UpstreamSnapshot& snapshot, Mode mode) {
  UpstreamTracker tracker;
  tracker.gpu_label_ = snapshot.gpu_label;
  tracker.dra_gpu_types_ = snapshot.dra_gpu_types;
  for (const UpstreamNodeGroup& group : snapshot.node_groups) tracker.groups_[group.id] = group;
  tracker.quotas_.push_back({std::string(kClusterWideCapacityQuota),
                             {},
                             mode == Mode::kMax ? snapshot.max : minima(snapshot),
                             {},
                             {}});
  if (mode == Mode::kMax) {
    const auto name = [](const UpstreamCapacityQuota& quota) -> const std::string& {
      return quota.spec.name;
    };
    for (const UpstreamCapacityQuota* quota : sorted(snapshot.quotas, name)) {
      if (!is_marked_valid(quota->status) || !check_selector(quota->spec.selector)) continue;
      Result<UpstreamAmounts> limits = limits_of(quota->spec);
      if (!limits) return tl::unexpected<Error>(limits.error());
      tracker.quotas_.push_back(
          {"CapacityQuota/" + quota->spec.name, quota->spec.selector, std::move(*limits), {}, {}});
    }
  }
  if (Result<void> counted = tracker.count_nodes(snapshot); !counted) {
    return tl::unexpected<Error>(counted.error());
  }
  for (TrackedCapacityQuota& quota : tracker.quotas_) {
    for (const auto& [resource, limit] : quota.limits) {
      const auto used = quota.usage.find(resource);
      const std::int64_t usage = used == quota.usage.end() ? 0 : used->second;
      const std::int64_t left = mode == Mode::kMax ? minus(limit, usage) : minus(usage, limit);
      quota.left[resource] = std::max<std::int64_t>(left, 0);
    }
  }
  return tracker;
}

// Registered nodes by name, then those that are expected, by group.
Result<void> UpstreamTracker::count_nodes(const UpstreamSnapshot& snapshot) {
  const auto count = [&](const UpstreamNode& node, std::int64_t copies) -> Result<void> {
    if (is_virtual_node(node)) return {};
    const Result<UpstreamAmounts> amounts = amounts_of(node);
    if (!amounts) return tl::unexpected<Error>(amounts.error());
    for (TrackedCapacityQuota& quota : quotas_) {
      if (matches(quota.selector, node.labels)) add(*amounts, copies, quota.usage);
    }
    return {};
  };
  const std::set<std::string_view> replaced(snapshot.upcoming.not_started.begin(),
                                            snapshot.upcoming.not_started.end());
  const auto name = [](const UpstreamNode& node) -> const std::string& { return node.name; };
  for (const UpstreamNode* node : sorted(snapshot.nodes, name)) {
    if (replaced.contains(node->name)) continue;
    if (Result<void> counted = count(*node, 1); !counted) return counted;
  }
  for (const auto& [id, copies] : snapshot.upcoming.counts) {
    const auto group = groups_.find(id);
    if (copies <= 0 || group == groups_.end() || !group->second.node_template) continue;
    UpstreamNode placeholder = *group->second.node_template;
    placeholder.node_group = id;
    if (Result<void> counted = count(placeholder, copies); !counted) return counted;
  }
  return {};
}

Result<UpstreamAmounts> UpstreamTracker::amounts_of(const UpstreamNode& node) {
  const auto group = groups_.find(node.node_group);
  if (group == groups_.end()) return own_amounts(node, nullptr);
  const auto known = group_amounts_.find(node.node_group);
  if (known != group_amounts_.end()) return known->second;
  Result<UpstreamAmounts> amounts = own_amounts(node, &group->second);
  if (amounts) group_amounts_[node.node_group] = *amounts;
  return amounts;
}

Result<UpstreamAmounts> UpstreamTracker::own_amounts(const UpstreamNode& node,
                                                     const UpstreamNodeGroup* group) const {
  UpstreamAmounts amounts{{std::string(kNodesResource), 1}};
  for (const char* resource : {"cpu", "memory"}) {
    const Result<std::int64_t> amount = capacity_of(node, resource);
    if (!amount) return tl::unexpected<Error>(amount.error());
    amounts[resource] = *amount;
  }
  if (Result<void> added = add_gpus(node, group, amounts); !added) {
    return tl::unexpected<Error>(added.error());
  }
  return amounts;
}

Result<void> UpstreamTracker::add_gpus(const UpstreamNode& node, const UpstreamNodeGroup* group,
                                       UpstreamAmounts& amounts) const {
  const std::string* type = find(node.labels, gpu_label_);
  if (type == nullptr) return {};
  if (std::find(dra_gpu_types_.begin(), dra_gpu_types_.end(), *type) != dra_gpu_types_.end()) {
    return {};
  }
  const auto set = [&](const UpstreamValue& value) {
    if (!type->empty() && value.units > 0) amounts[*type] = value.units;
  };
  for (const std::string_view resource : kGpuResources) {
    const std::string* text = find(node.allocatable, resource);
    if (text == nullptr) continue;
    const Result<UpstreamValue> value = value_of(*text, field(node, "allocatable", resource));
    if (!value) return tl::unexpected<Error>(value.error());
    if (value->is_zero) continue;
    set(*value);
    return {};
  }
  const std::string what = "failed to get custom resources: ";
  if (group == nullptr) {
    return fail(ErrorCode::kNotFound, what +
                                          "node without with gpu label, without capacity not "
                                          "belonging to autoscaled node group");
  }
  if (!group->node_template) {
    return fail(ErrorCode::kNotFound, what + "no template declared for " + group->id);
  }
  for (const std::string_view resource : kGpuResources) {
    const std::string* text = find(group->node_template->capacity, resource);
    if (text == nullptr) continue;
    const Result<UpstreamValue> value =
        value_of(*text, field(*group->node_template, "capacity", resource));
    if (!value) return tl::unexpected<Error>(value.error());
    set(*value);
    return {};
  }
  return {};
}

Result<UpstreamCheck> UpstreamTracker::check(const UpstreamNode& node, std::int64_t count) {
  if (count < 0) return fail(ErrorCode::kInvalid, "negative nodeDelta received");
  const Result<UpstreamAmounts> amounts = amounts_of(node);
  if (!amounts) return tl::unexpected<Error>(amounts.error());
  UpstreamCheck check;
  check.allowed = count;
  for (const TrackedCapacityQuota& quota : quotas_) {
    if (!matches(quota.selector, node.labels)) continue;
    ExceededCapacityQuota exceeded{quota.id, {}};
    for (const auto& [resource, amount] : *amounts) {
      const auto left = quota.left.find(resource);
      if (amount <= 0 || left == quota.left.end()) continue;
      if (left->second >= times(amount, count)) continue;
      check.allowed = std::min(check.allowed, left->second / amount);
      exceeded.resources.push_back(resource);
    }
    if (!exceeded.resources.empty()) check.exceeded.push_back(std::move(exceeded));
  }
  return check;
}

Result<UpstreamCheck> UpstreamTracker::consume(const UpstreamNode& node, std::int64_t count) {
  Result<UpstreamCheck> checked = check(node, count);
  if (!checked || checked->allowed != count) return checked;
  checked->applied = true;
  const Result<UpstreamAmounts> amounts = amounts_of(node);
  for (TrackedCapacityQuota& quota : quotas_) {
    if (!matches(quota.selector, node.labels)) continue;
    for (const auto& [resource, amount] : *amounts) {
      const auto left = quota.left.find(resource);
      if (left == quota.left.end()) continue;
      left->second = std::max<std::int64_t>(minus(left->second, times(amount, count)), 0);
    }
  }
  return checked;
}

}  // namespace headroom
