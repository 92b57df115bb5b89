// CapacityPlanning and CapacityReserving: CapacityQuotas::plan() and reserve() in turns, for
// callers whose thread serves others too.
//
// An answer is that of one moment, at which the limits' sums were copied (CapacityWalk), whatever
// facts come between the turns. Only where a quota changes, or classes are numbered anew, all
// begins again. A reservation is made whole in the last turn, if what was found still fits; else it
// begins again, too. What is asked belongs to the caller and stays as it is; of a plan's templates
// only what quotas read of them is kept. One that outlives its CapacityQuotas must not have another
// turn. An installed package does not bring what this header includes.
//
// Thread safety: that of the CapacityQuotas. Cost: a piece O(limits that a template or a removed
// node touches, or that a quota has); the copy O(limits + removed nodes), the end of a reservation
// O(limits, and those that its items touch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "autoscaling/capacity_walk.h"

namespace headroom {

// What begins more often than that is made in one piece then, whatever `pause` says, so that
// changes which come faster than an answer keep nobody waiting for ever.
inline constexpr std::uint64_t kPlanningBeginningsMax = 4;

struct PlanningRequest {
  std::size_t count = 0;  // of items
  // Valid until the next one is asked for: in their order, and again when all begins again.
  std::function<Result<PlanItem>(std::size_t item)> item;
  std::vector<std::string_view> remove;
};

class CapacityPlanning {
 public:
  CapacityPlanning(CapacityFacts& facts, PlanningRequest request);
  CapacityPlanning(const CapacityPlanning&) = delete;
  CapacityPlanning& operator=(const CapacityPlanning&) = delete;

  // Up to where `pause` says so, at least a piece; true when the answer is complete. Another turn
  // after that begins again if what the answer says of quotas is out of date, and else is true.
  Result<bool> turn(const std::function<bool()>& pause);
  PlanAnswer& answer() { return answer_; }
  std::uint64_t begun() const { return begun_; }  // how often
  // Of how many beginnings the sums were copied: in the turn in which it grows, to the moment that
  // the answer is of.
  std::uint64_t copied() const { return copied_; }
  // What it takes of the heap, but for what it was given and what quotas read of templates.
  std::size_t bytes() const { return walk_.bytes() + answer_.rows.capacity() * sizeof(PlanRow); }

 private:
  enum class Stage { kLook, kCopy, kPeak, kRemove, kNet, kAll, kRows, kDone };
  Result<void> begin();
  Result<bool> stage(const std::function<bool()>& pause);
  Result<void> look_at(std::size_t item);
  Result<void> copy();
  void write(const CountedCapacityQuota& quota);

  CapacityFacts& facts_;
  const PlanningRequest request_;
  std::uint64_t begun_ = 0, copied_ = 0, edition_ = 0;
  Stage stage_ = Stage::kLook;
  std::size_t next_ = 0;  // item, node or quota of the stage
  std::vector<AskedTemplate> asked_, removed_;
  std::vector<std::int64_t> counts_;  // of items
  std::int64_t sum_ = 0;              // of those
  CapacityWalk walk_;
  CapacityQuotaTable::ByKey::const_iterator quota_;
  PlanAnswer answer_;
};

struct ReservingRequest {
  std::string_view id;
  std::span<const PlanItem> items;
  std::int64_t expires_us = 0;
  ReserveMode mode = ReserveMode::kAll;
};

class CapacityReserving {
 public:
  CapacityReserving(CapacityFacts& facts, const ReservingRequest& request);
  CapacityReserving(const CapacityReserving&) = delete;
  CapacityReserving& operator=(const CapacityReserving&) = delete;

  // As above; true: where it is accepted it is held from now on. No turn comes after that.
  Result<bool> turn(const std::function<bool()>& pause);
  ReserveAnswer& answer() { return answer_; }

 private:
  enum class Stage { kLook, kWalk, kAccept, kClasses, kHold, kDone };
  Result<void> begin();
  Result<bool> stage(const std::function<bool()>& pause);
  Result<void> check() const;
  Result<void> hold();

  CapacityFacts& facts_;
  const ReservingRequest request_;
  std::uint64_t begun_ = 0, edition_ = 0;
  Stage stage_ = Stage::kLook;
  std::size_t next_ = 0;  // item of the stage
  std::vector<AskedTemplate> asked_;
  CapacityWalk walk_;
  ReserveAnswer answer_;
};

}  // namespace headroom
