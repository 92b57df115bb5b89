// CapacityWalk: templates one after the other against the limits as they were at one moment.
//
// Its own copy of every limit's sums is told of what is only planned, so that facts may change
// while it lasts. It holds as long as the facts' edition() is the one that it was begun in.
//
// Thread safety: that of the facts. Cost: begin() and still_fits() O(limits); all else O(limits
// that the template touches).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autoscaling/capacity_facts.h"

namespace headroom {

// kInvalid: a count below 0; kLimitExceeded: see CapacityQuotas::plan(). `sum`: of the counts so
// far.
Result<void> check_count(const Node& node_template, std::int64_t count);
Result<void> check_item_count(std::size_t items);
Result<void> add_count(const PlanItem& item, std::int64_t& sum);
Result<void> check_items(std::span<const PlanItem> items);

class CapacityWalk {
 public:
  explicit CapacityWalk(CapacityFacts& facts) : facts_(facts) {}

  struct Limit : LimitSums {
    Int128 added = 0, removed = 0;
    bool touched = false;  // by what was added, as little as that may be, or removed
    // As if the removed nodes were gone.
    LimitSums planned() const { return {limit, used - removed, reserved + added}; }
  };

  void begin();
  // As many nodes as fit, at most the item's count. The first item of which fewer fit is stopped().
  std::int64_t fits(const AskedTemplate& asked, std::size_t item, std::int64_t count);
  void add(const AskedTemplate& asked, std::int64_t count);
  void remove(const AskedTemplate& node);
  // Nothing is added any more, and nothing stopped.
  void take_back_added();

  std::optional<PlanBreak>& stopped() { return stopped_; }
  const Limit& at(const CapacityQuotaEntry& entry) const { return limits_[entry.number]; }
  std::size_t bytes() const { return limits_.capacity() * sizeof(Limit); }
  // Whether what was added fits beside what is used and reserved now.
  bool still_fits() const;

 private:
  CapacityFacts& facts_;
  std::vector<Limit> limits_;  // by the entries' numbers
  std::optional<PlanBreak> stopped_;
};

}  // namespace headroom
