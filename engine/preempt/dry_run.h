// DryRun: who would have to go from one node so that a preemptor has its place there.
//
// Source, mode Upstream: scheduler-plugins SelectVictimsOnNode with kube-scheduler's
// filterPodsWithPDBViolation. Mode Proposal: all that may go are collected, least important first,
// those that break no budget before those that do, and taken back in the reverse order as long as
// everything holds. Both: a victim taken back is reprieved.
// Thread safety: one thread each, over a preemptor that several share; the memory is kept from one
// node to the next. Cost: the pods of the node, twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/preempt/preemptor.h"

namespace headroom {

enum class DryRunOutcome : std::uint8_t {
  kVictims,  // the pod would fit once they are gone
  kNobody,   // no pod may go
  kFilters,  // not even then; code() says which filters
  kElasticQuotas,
  kReprievedTwice,  // mode Upstream: its own bookkeeping fails, the node answers Error
  kNotNeeded,       // mode Proposal: everything holds without a victim
  kOutranked,       // victims would be more important than another node's
};

// What the five criteria compare, the smaller the better in each.
struct VictimsRank {
  std::int64_t broken = 0;  // budgets' violations
  std::int32_t highest_priority = INT32_MIN;
  std::int64_t priority_sum = 0;  // of priority + 2^31 each
  std::int64_t count = 0;
  std::int64_t start_us = INT64_MIN;  // the earliest of the highest; minus: later is better
  std::uint32_t row = kNoRow;
  friend auto operator<=>(const VictimsRank&, const VictimsRank&) = default;
};

// `victims` most important first.
VictimsRank rank_of(std::span<const RankedPod* const> victims, std::int64_t broken,
                    std::uint32_t row);

class DryRun {
 public:
  explicit DryRun(const Preemptor& preemptor) : preemptor_(preemptor) {}

  // A node whose victims' highest priority would be above `bar` is kOutranked, or as without a bar.
  DryRunOutcome run(std::uint32_t row, std::int64_t bar = INT64_MAX);
  // After kVictims: most important first.
  std::span<const RankedPod* const> victims() const { return victims_; }
  VictimsRank rank() const { return rank_of(victims_, broken_, row_); }
  // After kFilters: as filter_code(). After kReprievedTwice: the pod.
  std::uint32_t code() const { return code_; }
  const RankedPod* failed() const { return failed_; }

  // --- Steps, for explanations and for victims on several nodes ---
  void begin(std::uint32_t row);
  bool may_go(const RankedPod& pod) const;
  bool breaks_budget(const RankedPod& pod);
  void remove(const RankedPod& pod, bool on_this_node = true) { move(pod, -1, on_this_node); }
  void put_back(const RankedPod& pod, bool on_this_node = true) { move(pod, 1, on_this_node); }
  // Mode Proposal: removes all pods of the row that may go, least important first, those that break
  // no budget before those that do. False where pods up to `bar` are not enough.
  bool collect(std::int64_t bar = INT64_MAX);
  // In that order; those from first_breaking() on break a budget.
  std::span<const RankedPod* const> collected() const { return collected_; }
  std::size_t first_breaking() const { return harmless_; }
  bool fits() const;
  bool within_elastic_quotas() const;
  // The first filter that does not pass, as filters' kernels write it or a rejection; 0: all pass.
  std::uint32_t filter_code() const;
  // Whether it was a victim before pods were reprieved.
  bool collected(const RankedPod& pod) const;
  void take_from_budgets(const RankedPod& pod, int sign);
  // Victims beyond what budgets allow, of all that were taken from them.
  std::int64_t broken_budgets() const;

 private:
  struct UsedNow {
    NamespaceId namespace_id;
    bool over_min;
    std::size_t amounts;  // where they begin in amounts_, by ResourceId
  };
  struct BudgetLeft {
    BudgetId budget;
    std::int64_t left;
  };

  DryRunOutcome run_upstream(std::int64_t bar);
  DryRunOutcome run_proposal(std::int64_t bar);
  bool enough_so_far() const;
  bool fits(std::size_t term) const;
  bool fits_by_columns() const;
  std::uint32_t application_code() const;
  // The node is rejected for what no pod's going changes.
  bool is_hopeless();
  void take(const RankedPod& pod);
  void move(const RankedPod& pod, int sign, bool on_this_node);
  void count_conflicts();
  std::uint32_t conflicts_of(PodId id) const;
  // Without nominated pods, as mode Upstream looks first.
  bool within_elastic_quotas_by_itself() const;
  void split_by_budgets_upstream();
  UsedNow& used_now(NamespaceId id);
  const UsedNow* find_used(NamespaceId id) const;
  void change_used(const RankedPod& pod, int sign);
  std::int64_t& budget_left(BudgetId id);
  bool counts_in(BudgetId id, const RankedPod& pod) const;

  const Preemptor& preemptor_;
  std::uint32_t row_ = kNoRow;
  std::uint32_t code_ = 0;
  const RankedPod* failed_ = nullptr;
  std::int64_t broken_ = 0;
  std::size_t harmless_ = 0;         // of collected_
  std::vector<std::int64_t> bases_;  // by term
  std::vector<Int128> sums_;         // by term
  // Ports of pods that the preemptor asks for as well, before any pod goes and now.
  std::uint32_t conflicts_before_ = 0, conflicts_ = 0;
  // The pods that have gone, for the preemptor's application; and with nominated pods, if there are
  // some.
  RowChange change_, expected_;
  bool expects_ = false;
  std::vector<Int128> left_;  // by bound
  std::vector<UsedNow> used_;
  std::vector<Int128> amounts_;
  std::vector<BudgetLeft> budgets_;
  std::vector<const RankedPod*> collected_, breaking_, victims_;
};

}  // namespace headroom
