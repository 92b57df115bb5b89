// CapacityQuotaTable: the quotas in force and not, what each of their limits has used and reserved,
// and which limits the nodes of a class touch.
//
// Per class of labels it keeps what its nodes have in all, so that a new selector or limit is
// summed over classes. A node's event adds its amounts to its class and to the limits that the
// class touches.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "autoscaling/capacity_quota_spec.h"
#include "autoscaling/label_classes.h"
#include "autoscaling/resource_amounts.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"

namespace headroom {

using CapacityQuotaKey = std::pair<CapacityQuotaClass, std::string>;

// A quota as its events left it.
struct CapacityQuotaState {
  CapacityQuota object;                       // the last one seen
  std::optional<CapacityQuotaSpec> in_force;  // of the last object whose spec could be used
  std::int64_t generation_in_force = 0;
  std::string invalid;  // why the last one cannot be used; empty: it can
};

struct CountedCapacityQuota;

struct LimitSums {
  Int128 limit = 0, used = 0, reserved = 0;
  Int128 headroom() const { return limit - used - reserved; }
};

// One limit of a quota in force.
struct alignas(64) CapacityQuotaEntry : LimitSums {
  std::string_view id;         // of the quota
  std::string_view name;       // of the limit
  std::uint32_t resource = 0;  // that it counts
  std::uint32_t number = 0;    // its own among all limits in force, below limits()
  const CountedCapacityQuota* quota = nullptr;
};

struct CountedCapacityQuota {
  CapacityQuotaKey key;
  std::string id;
  CapacityQuotaState state;
  std::vector<CapacityQuotaEntry> entries;  // by name
};

// A limit that nodes touch where they have the resource.
struct LimitTouch {
  CapacityQuotaEntry* entry = nullptr;
  std::uint32_t resource = 0;
};
using LimitTouches = std::vector<LimitTouch>;  // in the order of answers

// The nodes of one class, and the limits that they touch.
struct NodeClassSums {
  std::uint64_t nodes = 0;
  std::vector<Int128> used, reserved;  // by resource
  LimitTouches touches;
};

// Labels that no class has are matched once, and what they touch is kept for who asks again; with
// more of them than this, or more bytes of both, all begins anew.
inline constexpr std::size_t kAskedLabelsMax = 1024;
inline constexpr std::size_t kAskedLabelsBytesMax = std::size_t{64} << 20;

class CapacityQuotaTable {
 public:
  using ByKey = std::map<CapacityQuotaKey, std::unique_ptr<CountedCapacityQuota>>;

  // nullopt: the quota is gone. `resources` are the numbers that the limits count, by limit.
  void set(const CapacityQuotaKey& key, std::optional<CapacityQuotaState> state,
           const std::vector<std::uint32_t>& resources, const LabelClasses& labels);
  const ByKey& capacity_quotas() const { return quotas_; }
  const CountedCapacityQuota* find(const CapacityQuotaKey& key) const;
  void list_skipped(std::vector<SkippedCapacityQuota>& skipped) const;  // that are not in force
  std::size_t skipped() const { return skipped_; }                      // so many
  std::size_t invalid() const { return invalid_; }  // quotas whose last spec cannot be used
  std::uint32_t limits() const { return limits_; }  // numbers of limits so far

  // Sums for a class that `labels` has added; split: its nodes were in `parent` so far, which no
  // quota tells apart from it.
  void add_class(const LabelClasses& labels);
  void add_class(std::uint32_t parent);
  std::uint32_t classes() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::uint32_t classes_with_nodes() const { return classes_with_nodes_; }
  const NodeClassSums& at(std::uint32_t label_class) const { return classes_[label_class]; }

  // The limits that nodes of no class would touch: `labels` are those of the keys that selectors in
  // force read.
  // Valid until the next is asked for.
  const LimitTouches& touches_of(const StringMap& labels);

  // `times`: 1 or -1.
  void add_node(std::uint32_t label_class, const ResourceAmounts& amounts, int times);
  void add_reserved(std::uint32_t label_class, const ResourceAmounts& amounts, std::int64_t times);
  // The same for the class's sums alone: the limits have counted it already.
  void add_counted_node(std::uint32_t label_class, const ResourceAmounts& amounts);
  void add_counted_reserved(std::uint32_t label_class, const ResourceAmounts& amounts,
                            std::int64_t times);
  // For nodes that move between classes of equal touches.
  void move_node(std::uint32_t from, std::uint32_t to, const ResourceAmounts& amounts);
  // All nodes of the class at once, to one that has none.
  void move_nodes(std::uint32_t from, std::uint32_t to);
  void move_reserved(std::uint32_t from, std::uint32_t to, const ResourceAmounts& amounts,
                     std::int64_t times);

  // `limit(entry, amount)` for each limit that such a node touches, in the order of answers.
  template <typename Limit>
  void for_each_touched(const LimitTouches& touches, const ResourceAmounts& amounts,
                        const Limit& limit);
  // As LabelClasses::keep_only() has numbered them; nobody is in those that are dropped. Where
  // memory ends nothing is changed.
  void keep_only(const std::vector<std::uint32_t>& numbers);
  // Drops all classes, whose nodes and reservations come again as counted ones. `number(resource)`
  // is what the limits count from now on.
  template <typename Number>
  void clear_classes(const Number& number);

 private:
  LimitTouches matched(const StringMap& labels) const;
  void forget_asked();
  void count_node(NodeClassSums& sums, int times);
  void attach(CountedCapacityQuota& quota, const LabelClasses& labels);
  void detach(const CountedCapacityQuota& quota);
  void read_amounts(const ResourceAmounts& amounts);
  void forget_amounts(const ResourceAmounts& amounts);
  // In amounts_ while it lives, whatever `limit` throws.
  class AmountsAtHand {
   public:
    AmountsAtHand(CapacityQuotaTable& table, const ResourceAmounts& amounts)
        : table_(table), amounts_(amounts) {
      table_.read_amounts(amounts_);
    }
    ~AmountsAtHand() { table_.forget_amounts(amounts_); }
    AmountsAtHand(const AmountsAtHand&) = delete;
    AmountsAtHand& operator=(const AmountsAtHand&) = delete;

   private:
    CapacityQuotaTable& table_;
    const ResourceAmounts& amounts_;
  };

  ByKey quotas_;
  std::size_t skipped_ = 0, invalid_ = 0;
  std::uint32_t limits_ = 0;
  FreeNumbers numbers_;                        // of limits
  BytesMap<std::string, LimitTouches> asked_;  // by labels
  std::size_t asked_bytes_ = 0;
  std::vector<NodeClassSums> classes_;
  std::uint32_t classes_with_nodes_ = 0;
  std::vector<std::int64_t> amounts_;  // by resource, of the node that is being looked at; else 0
};

template <typename Number>
void CapacityQuotaTable::clear_classes(const Number& number) {
  classes_.clear();
  classes_with_nodes_ = 0;
  forget_asked();
  for (const auto& [key, quota] : quotas_) {
    for (CapacityQuotaEntry& entry : quota->entries) entry.resource = number(entry.resource);
  }
}

template <typename Limit>
void CapacityQuotaTable::for_each_touched(const LimitTouches& touches,
                                          const ResourceAmounts& amounts, const Limit& limit) {
  const AmountsAtHand at_hand(*this, amounts);
  for (const LimitTouch& touch : touches) {
    const std::int64_t amount = touch.resource < amounts_.size() ? amounts_[touch.resource] : 0;
    if (amount != 0) limit(*touch.entry, amount);
  }
}

}  // namespace headroom
