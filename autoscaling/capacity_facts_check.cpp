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
    for (const auto& [key, text] : map) add(key).add(text);
    return *this;
  }
  // In the order of capacities, which is by name.
  Hash& add(const ResourceAmounts& amounts, const CapacityResources& resources) {
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

std::uint64_t CapacityFacts::digest() const {
  // Sums of hashes: nodes lie in no order.
  std::uint64_t sum = mix(static_cast<std::uint64_t>(now_us_));
  for (const auto& [name, row] : rows_) {
    const CountedNode& node = nodes_[row];
    sum += Hash()
               .add(name)
               .add(labels_.map_of(node.labels))
               .add(node.amounts, resources_)
               .add(node.reservation)
               .add(std::uint64_t{node.counts})
               .value();
  }
  for (const auto& [key, quota] : table_.quotas()) {
    Hash hash;
    hash.add(quota->id).add(quota->state.invalid);
    hash.add(static_cast<std::uint64_t>(quota->state.object.generation));
    hash.add(static_cast<std::uint64_t>(quota->state.generation_in_force));
    if (quota->state.in_force) {
      for (const NodeSelectorRequirement& asked : quota->state.in_force->selector) {
        hash.add(asked.key).add(asked.op);
        for (const std::string& value : asked.values) hash.add(value);
      }
      for (const QuotaLimit& limit : quota->state.in_force->limits) {
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

Result<void> CapacityFacts::validate() const {
  QuotaTable counted;
  LabelClasses labels = labels_;
  while (counted.classes() < labels.size()) counted.add_class(labels);
  for (const auto& [name, row] : rows_) {
    const CountedNode& node = nodes_[row];
    if (!node.counts) {
      if (node.label_class == kNoClass) continue;
      return differ("class of node " + name, node.label_class, kNoClass);
    }
    const std::uint32_t label_class = labels.classify(labels_.map_of(node.labels));
    if (label_class != node.label_class || labels.size() != labels_.size()) {
      return differ("class of node " + name, node.label_class, label_class);
    }
    counted.add_node(label_class, node.amounts, 1);
  }
  for (const auto& [id, held] : reservations_) {
    for (const ReservedItem& item : held.items) {
      if (item.node.label_class == kNoClass) continue;
      const std::uint32_t label_class = labels.classify(item.node.labels);
      if (label_class != item.node.label_class) {
        return differ("class of reservation " + id, item.node.label_class, label_class);
      }
      counted.add_reserved(label_class, item.node.amounts, item.left);
    }
    if (!expiries_.contains({held.expires_us, id}) || held.expires_us <= now_us_) {
      return differ("expiry of reservation " + id, now_us_, held.expires_us);
    }
  }
  if (expiries_.size() != reservations_.size()) {
    return differ("expiries", static_cast<Int128>(expiries_.size()),
                  static_cast<Int128>(reservations_.size()));
  }
  const auto at = [](const std::vector<Int128>& sums, std::uint32_t resource) {
    return resource < sums.size() ? sums[resource] : Int128{0};
  };
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    if (table_.at(c).nodes != counted.at(c).nodes) {
      return differ(fmt::format("nodes of class {}", c), static_cast<Int128>(table_.at(c).nodes),
                    static_cast<Int128>(counted.at(c).nodes));
    }
    for (std::uint32_t r = 0; r < resources_.size(); ++r) {
      const std::string what = fmt::format("{} of class {}", resources_.name(r), c);
      if (at(table_.at(c).used, r) != at(counted.at(c).used, r)) {
        return differ("used " + what, at(table_.at(c).used, r), at(counted.at(c).used, r));
      }
      if (at(table_.at(c).reserved, r) != at(counted.at(c).reserved, r)) {
        return differ("reserved " + what, at(table_.at(c).reserved, r),
                      at(counted.at(c).reserved, r));
      }
    }
  }
  return validate_quotas();
}

Result<void> CapacityFacts::validate_quotas() const {
  std::unordered_map<const QuotaEntry*, std::pair<Int128, Int128>> sums;  // used, reserved
  for (std::uint32_t c = 0; c < table_.classes(); ++c) {
    const NodeClassSums& nodes = table_.at(c);
    auto touch = nodes.touches.begin();
    for (const auto& [key, quota] : table_.quotas()) {
      if (!quota->state.in_force || !matches(quota->state.in_force->selector, labels_.labels(c))) {
        continue;
      }
      for (const QuotaEntry& entry : quota->entries) {
        if (touch == nodes.touches.end() || touch->entry != &entry ||
            touch->resource != entry.resource) {
          return differ(fmt::format("{} {} among the limits of class {}", quota->id, entry.name, c),
                        0, 1);
        }
        ++touch;
        auto& [used, reserved] = sums[&entry];
        if (entry.resource < nodes.used.size()) used += nodes.used[entry.resource];
        if (entry.resource < nodes.reserved.size()) reserved += nodes.reserved[entry.resource];
      }
    }
    if (touch != nodes.touches.end()) {
      return differ(fmt::format("limits of class {}", c), static_cast<Int128>(nodes.touches.size()),
                    touch - nodes.touches.begin());
    }
  }
  for (const auto& [key, quota] : table_.quotas()) {
    for (const QuotaEntry& entry : quota->entries) {
      const std::string what = fmt::format("{} {}", quota->id, entry.name);
      const auto& [used, reserved] = sums[&entry];
      if (entry.used != used) return differ(what + " used", entry.used, used);
      if (entry.reserved != reserved) return differ(what + " reserved", entry.reserved, reserved);
      if (entry.added != 0 || entry.removed != 0) {
        return differ(what + " planned", entry.added, entry.removed);
      }
    }
  }
  return {};
}

}  // namespace headroom
