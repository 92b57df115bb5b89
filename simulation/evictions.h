// Evictions: the pods of a simulation that had to go for others, what that came to, and what it
// changes of their disruption budgets.
//
// Who comes back, and where, is the caller's matter; the engine is told of the budgets. Thread
// safety: one thread at a time. Cost: that of SimulatedBudgets and Intervals.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"
#include "simulation/figures/intervals.h"
#include "simulation/simulated_budgets.h"

namespace headroom {

inline constexpr std::uint32_t kEvictionsPerPodMax = 8;

struct PreemptionReport {
  std::uint64_t preemptors = 0;  // pods that have their place because others went
  // Pods that had to go, each time that they had to. Those that were terminating are not counted.
  std::uint64_t victims = 0;
  std::uint64_t victims_placed_again = 0, victims_not_placed = 0;
  std::uint64_t budgets_broken = 0;  // victims beyond what budgets allowed
  std::uint64_t cross_node = 0;      // preemptors with victims on other nodes
  std::uint64_t cross_node_would_help = 0;
  std::uint64_t evictions_max_hit = 0;  // victims that did not come back: kEvictionsPerPodMax
  // Preemptors whose place was not there once the victims had gone; a violation of the rules.
  std::uint64_t without_place = 0;
  std::vector<IntervalReport> intervals;  // kReportIntervals; empty without victims
};

class Evictions {
 public:
  // `engine` outlives it, and has the budgets.
  Evictions(Engine& engine, std::span<const PodDisruptionBudget> budgets)
      : engine_(engine), budgets_(budgets) {}

  // The pod had to go. False: as often as it may at one moment, so that it does not come back.
  // `origin`: what the caller knows it by.
  bool evict(const Pod& pod, std::uint32_t origin);
  // The next moment begins.
  void end_moment() { at_this_moment_.clear(); }
  // One that was evicted has come back, and found a place or none.
  void come_back(const Pod& pod, bool placed);

  // The victims of `answer` have gone; a preemptor has its place then, or a rule is broken.
  void count_preemptor(const PostFilter& answer, bool has_place);
  void count_cross_node_would_help() { ++report_.cross_node_would_help; }

  PreemptionReport report(std::int64_t begin_us, std::int64_t end_us) const;

 private:
  void change_budgets(const Pod& pod, int by);

  Engine& engine_;
  SimulatedBudgets budgets_;
  std::unordered_map<std::uint32_t, std::uint32_t> at_this_moment_;  // how often, by origin
  Intervals intervals_;
  PreemptionReport report_;
};

}  // namespace headroom
