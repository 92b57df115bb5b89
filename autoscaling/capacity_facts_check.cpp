// Digest and validation of CapacityFacts: from the nodes alone.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "autoscaling/capacity_facts.h"

namespace headroom {

namespace {

class Hash {
 public:
  Hash& add(std::uint64_t number) {
    value_ = mix(value_ ^ number);
    return *this;
  }
  Hash& add(std::string_view text) { return add(hash_bytes(text)); }
  Hash& add(Int128 number) {
    return add(static_cast<std::uint64_t>(number)).add(static_cast<std::uint64_t>(number >> 64));
  }
  Hash& add(const StringMap& map) {
    add(std::uint64_t{map.size()});
    for (const auto& [key, text] : map) add(key).add(text);
    return *this;
  }
  // In the order of capacities, which is by name.
  Hash& add(const ResourceAmounts& amounts, const CapacityResources& resources) {
    add(std::uint64_t{amounts.size()});
    for (const ResourceAmount& had : amounts) {
      add(resources.name(had.resource)).add(static_cast<std::uint64_t>(had.amount));
    }
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::string text_of(Int128 number) {
  return Quantity::from_nanos(number * 1'000'000'000).canonical();
}

Result<void> differ(const std::string& what, Int128 kept, Int128 counted) {
  return fail(ErrorCode::kConflict,
              fmt::format("{}: kept {}, counted {}", what, text_of(kept), text_of(counted)));
}

}  // namespace

std::uint64_t CapacityFacts::digest_of_node(const CountedNode& node) const {
  if (node.name.empty()) return 0;
  return Hash()
      .add(node.name)
      .add(labels_.map_of(node.labels))
      .add(node.amounts, resources_)
      .add(node.reservation)
      .add(std::uint64_t{node.counts})
      .value();
}

std::uint64_t CapacityFacts::digest() const {
  // Sums of hashes: nodes lie in no order.
  std::uint64_t sum = digest_of_rest();
  for (const CountedNode& node : nodes_) sum += digest_of_node(node);
  return sum;
}

std::uint64_t CapacityFacts::digest_of_rest() const {
  std::uint64_t sum = mix(static_cast<std::uint64_t>(now_us_));
  for (const auto& [key, quota] : table_.capacity_quotas()) {
    Hash hash;
    hash.add(quota->id).add(quota->state.invalid);
    hash.add(static_cast<std::uint64_t>(quota->state.object.generation));
    hash.add(static_cast<std::uint64_t>(quota->state.generation_in_force));
    if (quota->state.in_force) {
      hash.add(std::uint64_t{quota->state.in_force->selector.size()});
      for (const NodeSelectorRequirement& asked : quota->state.in_force->selector) {
        hash.add(asked.key).add(asked.op).add(std::uint64_t{asked.values.size()});
        for (const std::string& value : asked.values) hash.add(value);
      }
      for (const CapacityQuotaLimit& limit : quota->state.in_force->limits) {
        hash.add(limit.resource).add(limit.amount);
      }
    }
    sum += hash.value();
  }
  for (const auto& [id, held] : reservations_) {
    Hash hash;
    hash.add(id).add(static_cast<std::uint64_t>(held.expires_us));
    for (const ReservedItem& item : held.items) {
      hash.add(item.node.labels).add(item.node.amounts, resources_);
      hash.add(static_cast<std::uint64_t>(item.left));
    }
    for (const std::string& name : held.registered) hash.add(name);
    sum += hash.value();
  }
  return sum;
}

Result<void> CapacityFacts::validate_node(const CountedNode& node) const {
  if (node.name.empty()) return {};
  if (find_node(node.name) != &node) {
    return fail(ErrorCode::kConflict, "node " + node.name + " is not found by its name");
  }
  if (!node.counts) {
    if (node.label_class == kNoClass) return {};
    return differ("class of node " + node.name, node.label_class, kNoClass);
  }
  if (node.label_class >= table_.classes() ||
      !labels_.is_of(node.label_class, labels_.map_of(node.labels))) {
    return fail(ErrorCode::kConflict, "node " + node.name + " is of another class");
  }
  return {};
}

Result<void> CapacityFacts::validate_whole() const {
  if (!dropped_) return {};
  return fail(ErrorCode::kInternal, "memory ended while classes were numbered: all was dropped");
}

Result<void> CapacityFacts::validate() const {
  if (auto checked = validate_whole(); !checked) return checked;
  for (const CountedNode& node : nodes_) {
    if (auto checked = validate_node(node); !checked) return checked;
  }
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    if (auto checked = validate_touches(c); !checked) return checked;
  }
  if (auto checked = validate_sums(); !checked) return checked;
  return validate_rest();
}

namespace {

Int128 at(const std::vector<Int128>& sums, std::uint32_t resource) {
  return resource < sums.size() ? sums[resource] : Int128{0};
}

}  // namespace

Result<void> CapacityFacts::validate_sums() const {
  CapacityQuotaTable counted;
  while (counted.classes() < table_.classes()) counted.add_class(labels_);
  std::size_t nodes = 0;
  for (const CountedNode& node : nodes_) {
    nodes += !node.name.empty();
    if (!node.name.empty() && node.counts) counted.add_node(node.label_class, node.amounts, 1);
  }
  if (nodes != rows_.size()) {
    return differ("nodes", static_cast<Int128>(rows_.size()), static_cast<Int128>(nodes));
  }
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    if (table_.at(c).nodes != counted.at(c).nodes) {
      return differ(fmt::format("nodes of class {}", c), static_cast<Int128>(table_.at(c).nodes),
                    static_cast<Int128>(counted.at(c).nodes));
    }
    for (std::uint32_t r = 0; r < resources_.size(); ++r) {
      if (at(table_.at(c).used, r) != at(counted.at(c).used, r)) {
        return differ(fmt::format("used {} of class {}", resources_.name(r), c),
                      at(table_.at(c).used, r), at(counted.at(c).used, r));
      }
    }
  }
  return {};
}

Result<void> CapacityFacts::validate_rest() const {
  CapacityQuotaTable counted;
  while (counted.classes() < table_.classes()) counted.add_class(labels_);
  for (const auto& [id, held] : reservations_) {
    for (const ReservedItem& item : held.items) {
      if (item.node.label_class == kNoClass && is_virtual(item.node.labels)) continue;
      if (item.node.label_class >= table_.classes() ||
          !labels_.is_of(item.node.label_class, item.node.labels)) {
        return fail(ErrorCode::kConflict, "reservation " + id + " is of another class");
      }
      counted.add_reserved(item.node.label_class, item.node.amounts, item.left);
    }
    if (!expiries_.contains({held.expires_us, id}) || held.expires_us <= now_us_) {
      return differ("expiry of reservation " + id, now_us_, held.expires_us);
    }
  }
  if (expiries_.size() != reservations_.size()) {
    return differ("expiries", static_cast<Int128>(expiries_.size()),
                  static_cast<Int128>(reservations_.size()));
  }
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    for (std::uint32_t r = 0; r < resources_.size(); ++r) {
      if (at(table_.at(c).reserved, r) != at(counted.at(c).reserved, r)) {
        return differ(fmt::format("reserved {} of class {}", resources_.name(r), c),
                      at(table_.at(c).reserved, r), at(counted.at(c).reserved, r));
      }
    }
  }
  return validate_capacity_quotas();
}

// The limits that nodes of the class touch.
Result<void> CapacityFacts::validate_touches(std::uint32_t label_class) const {
  const NodeClassSums& nodes = table_.at(label_class);
  auto touch = nodes.touches.begin();
  for (const auto& [key, quota] : table_.capacity_quotas()) {
    if (!quota->state.in_force ||
        !matches(quota->state.in_force->selector, labels_.labels(label_class))) {
      continue;
    }
    for (const CapacityQuotaEntry& entry : quota->entries) {
      if (touch == nodes.touches.end() || touch->entry != &entry ||
          touch->resource != entry.resource) {
        return differ(
            fmt::format("{} {} among the limits of class {}", quota->id, entry.name, label_class),
            0, 1);
      }
      ++touch;
    }
  }
  if (touch == nodes.touches.end()) return {};
  return differ(fmt::format("limits of class {}", label_class),
                static_cast<Int128>(nodes.touches.size()), touch - nodes.touches.begin());
}

// What the limits use against the sums of the classes that touch them.
Result<void> CapacityFacts::validate_capacity_quotas() const {
  std::unordered_map<const CapacityQuotaEntry*, std::pair<Int128, Int128>> sums;  // used, reserved
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    const NodeClassSums& nodes = table_.at(c);
    for (const LimitTouch& touch : nodes.touches) {
      auto& [used, reserved] = sums[touch.entry];
      used += at(nodes.used, touch.resource);
      reserved += at(nodes.reserved, touch.resource);
    }
  }
  std::size_t skipped = 0, invalid = 0;
  std::map<std::string, std::uint32_t, std::less<>> uses;  // of keys
  for (const auto& [key, quota] : table_.capacity_quotas()) {
    const std::optional<CapacityQuotaSpec>& in_force = quota->state.in_force;
    skipped += in_force ? 0 : 1;
    invalid += quota->state.invalid.empty() ? 0 : 1;
    const std::size_t limits = in_force ? in_force->limits.size() : 0;
    if (quota->key != key || quota->entries.size() != limits) {
      return differ("limits of " + quota->id, static_cast<Int128>(quota->entries.size()),
                    static_cast<Int128>(limits));
    }
    if (in_force) {
      for (const NodeSelectorRequirement& asked : in_force->selector) ++uses[asked.key];
    }
    for (const CapacityQuotaEntry& entry : quota->entries) {
      const std::string what = fmt::format("{} {}", quota->id, entry.name);
      const auto& [used, reserved] = sums[&entry];
      if (entry.used != used) return differ(what + " used", entry.used, used);
      if (entry.reserved != reserved) return differ(what + " reserved", entry.reserved, reserved);
    }
  }
  if (skipped != table_.skipped()) {
    return differ("quotas that are not in force", static_cast<Int128>(table_.skipped()),
                  static_cast<Int128>(skipped));
  }
  if (invalid != table_.invalid()) {
    return differ("quotas that are invalid", static_cast<Int128>(table_.invalid()),
                  static_cast<Int128>(invalid));
  }
  if (uses == key_uses_) return {};
  return differ("keys that selectors read", static_cast<Int128>(key_uses_.size()),
                static_cast<Int128>(uses.size()));
}

// --- In turns ---

void CapacityFacts::watch(const std::shared_ptr<CapacityAuditNotes>& notes) {
  std::erase_if(audits_, [](const auto& held) { return held.expired(); });
  audits_.push_back(notes);
}

void CapacityFacts::tell_audits(const std::function<void(CapacityAuditNotes&)>& what) {
  for (const auto& held : audits_) {
    if (const auto notes = held.lock(); notes != nullptr) what(*notes);
  }
  std::erase_if(audits_, [](const auto& held) { return held.expired(); });
}

}  // namespace headroom
