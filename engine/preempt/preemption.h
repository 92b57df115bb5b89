// Preemption: who must go so that a pod has its place (PostFilter).
//
// Looks at every node: a bound rules out those where all that may go is not enough, dry runs tell
// of the others, five criteria choose. TBB takes stretches of rows; the answer is the same for any
// number of threads, because the criteria end with the row.
// Thread safety: one thread at a time.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <vector>

#include "engine/answers.h"
#include "engine/cluster/cluster.h"
#include "engine/decide/evaluator.h"
#include "engine/options.h"
#include "engine/preempt/dry_run.h"
#include "engine/preempt/preemptor.h"
#include "engine/preempt/victim_columns.h"

namespace headroom {

class Preemption {
 public:
  Preemption(Cluster& cluster, Evaluator& evaluator, const Kernels& kernels,
             const EngineOptions& options);

  Result<PostFilter> post_filter(const Pod& pod, const PostFilterOptions& options);
  // A turn of it; see Engine.
  Result<bool> post_filter(const Pod& pod, const PostFilterOptions& options, const Pause& pause,
                           PostFilterTurns& turns, PostFilter& answer);
  Result<std::vector<PodVerdict>> explain_victims(const Pod& pod, std::uint32_t row);

  // The best node of a stretch of rows, and what its dry runs came to.
  struct Best {
    VictimsRank rank;
    std::vector<PodId> victims;  // most important first
    std::uint32_t dry_runs = 0;
    bool failed = false;   // some node answered Error
    bool gave_up = false;  // some node was not looked at to the end
  };

 private:
  bool look(const Pod& pod, PodShape& shape, const PostFilterOptions& options, const Pause& pause,
            PostFilterTurns& turns, PostFilter& answer);
  bool may_preempt(const Pod& pod, const Preemptor& preemptor, AskedPod& asked,
                   std::string& why_not);
  // A need that all rows of a group's victims may fall short of.
  struct Constraint {
    const float* headroom;
    float need_low;
    std::vector<const float*> given_back;
  };

  NodeDetail status_of(const AskedPod& asked, std::uint32_t row);
  std::vector<std::uint32_t> rows_of(PodShape& shape, const std::vector<std::string>& named);
  std::vector<Constraint> constraints(const Preemptor& preemptor);
  // Of the rows those that no constraint rules out.
  std::vector<std::uint32_t> within_bounds(const Preemptor& preemptor,
                                           const std::vector<std::uint32_t>& rows);
  void look_across(const Preemptor& preemptor, const std::vector<std::uint32_t>& rows,
                   PostFilter& answer);
  void choose_node(const Preemptor& preemptor, AskedPod& asked, bool bound, PostFilter& answer);
  void choose(const Best& best, PostFilter& answer) const;
  void look_at(std::uint32_t row, const Preemptor& preemptor, DryRun& dry_run,
               std::atomic<std::int64_t>& bar, Best& best) const;
  void describe_rows(const Pod& pod, const Preemptor& preemptor, AskedPod& asked, std::uint32_t end,
                     PostFilterTurns& turns, PostFilter& answer);

  Cluster& cluster_;
  Evaluator& evaluator_;
  const Kernels& kernels_;
  GivenBack given_back_;
  tbb::task_arena arena_;
  VictimColumns victim_columns_;
  std::vector<std::uint64_t> kept_;  // scratch: a bit per row
};

}  // namespace headroom
