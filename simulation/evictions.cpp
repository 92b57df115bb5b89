#include "simulation/evictions.h"

namespace headroom {

bool Evictions::evict(const Pod& pod, std::uint32_t origin) {
  ++report_.victims;
  ++intervals_.at(engine_.now_us()).victims;
  change_budgets(pod, -1);
  if (++at_this_moment_[origin] < kEvictionsPerPodMax) return true;
  ++report_.evictions_max_hit;
  ++report_.victims_not_placed;
  return false;
}

void Evictions::come_back(const Pod& pod, bool placed) {
  ++(placed ? report_.victims_placed_again : report_.victims_not_placed);
  if (!placed) return;
  ++intervals_.at(engine_.now_us()).victims_placed_again;
  change_budgets(pod, 1);
}

void Evictions::count_preemptor(const PostFilter& answer, bool has_place) {
  report_.budgets_broken += static_cast<std::uint64_t>(answer.pdb_violations);
  if (!has_place) {
    ++report_.without_place;
    return;
  }
  ++report_.preemptors;
  report_.cross_node += answer.cross_node;
  ++intervals_.at(engine_.now_us()).preemptors;
}

PreemptionReport Evictions::report(std::int64_t begin_us, std::int64_t end_us) const {
  PreemptionReport report = report_;
  if (report.victims > 0) report.intervals = intervals_.over(begin_us, end_us);
  return report;
}

void Evictions::change_budgets(const Pod& pod, int by) {
  for (const PodDisruptionBudget& budget : budgets_.change(pod, by)) {
    (void)engine_.upsert(budget);  // it has one of that name, so that no limit can be in the way
  }
}

}  // namespace headroom
