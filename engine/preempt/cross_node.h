// CrossNode: victims on several nodes, where no single node's victims help (mode Proposal).
//
// For a node: the victims that make room there, then pods anywhere, least important first, until
// the quotas hold, but for those without which the node rejects the pod; then every one of them
// without which both still hold is reprieved, most important first. The node is chosen by the five
// criteria over the whole set. Greedy, so a set may have more victims than it must;
// victims_at_least() says how many there have to be at least.
// Thread safety: const after construction; each thread brings its DryRun. Cost: construction sorts
// all pods that may go; a node costs its own pods and the pods that are walked, at most
// kCrossNodeStepsMax for all nodes together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/preempt/dry_run.h"

namespace headroom {

// Pods walked for one question. Beyond its share a node counts as one that does not help.
inline constexpr std::uint64_t kCrossNodeStepsMax = 16'000'000;

class CrossNode {
 public:
  struct Found {
    VictimsRank rank;
    std::vector<PodId> victims;  // most important first; none: the node does not help
    bool gave_up = false;        // at its share of kCrossNodeStepsMax
  };

  explicit CrossNode(const Preemptor& preemptor);

  // False if no node can help, whatever its victims.
  bool may_help() const { return may_help_; }
  Found run(std::uint32_t row, DryRun& dry_run) const;
  // However the victims are chosen.
  std::uint32_t victims_at_least() const;

 private:
  struct Taken {
    const RankedPod* pod;
    bool breaks, here;
  };

  bool less_important(const RankedPod& a, const RankedPod& b) const;
  // Reprieves those without which `fits`, and where asked the quotas, still hold.
  static void reprieve(DryRun& dry_run, std::vector<Taken>& taken, bool quotas);

  const Preemptor& preemptor_;
  struct Anywhere {
    const RankedPod* pod;
    std::uint32_t row;
  };
  std::vector<Anywhere> pods_;  // that may go, least important first
  bool may_help_ = true;
  std::uint64_t steps_of_a_node_ = 0;
};

}  // namespace headroom
