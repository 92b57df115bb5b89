#include "simulation/simulated_queue.h"

#include <algorithm>
#include <iterator>

#include "simulation/input/simulation_input.h"

namespace headroom {

Result<void> SimulatedQueue::wait(Engine& engine, PendingPod& pending, Decision&& decision) {
  if (!pending.waits_since_us) {
    pending.waits_since_us = engine.now_us();
    ++growth_.waited;
  }
  const std::uint64_t turn = pending.turn;
  Result<WaitingPods::Line*> line =
      waiting_.add(engine, std::move(pending), std::move(decision), turns_);
  if (!line) return tl::unexpected(line.error());
  tell_autoscaler(**line, turn);
  return {};
}

// Nodes do not help who may not have them, nor those that are like it.
void SimulatedQueue::tell_autoscaler(WaitingPods::Line& line, std::uint64_t turn) {
  const Decision& decision = line.decision;
  const bool help = decision.code == Code::kUnschedulable && decision.pre_filter.empty();
  const bool changed = std::exchange(line.nodes_help, help) != help;
  const auto first = changed ? line.pods.begin() : line.pods.find(turn);
  const auto end = changed ? line.pods.end() : std::next(first);
  for (auto at = first; at != end; ++at) {
    const PendingPod& pending = at->second;
    if (help) {
      autoscaler_->add(pending.origin, pending.pod);
    } else {
      autoscaler_->remove(pending.origin);
    }
  }
}

void SimulatedQueue::end_wait(PendingPod& pending, std::int64_t now_us) {
  const std::int64_t waited_us = now_us - *pending.waits_since_us;
  growth_.waits_us.push_back(waited_us);
  if (pending.departure_us != kNeverUs) pending.departure_us += waited_us;
  autoscaler_->remove(pending.origin);
  waiting_.remove(pending, turns_);
}

GrowthReport SimulatedQueue::report(std::int64_t begin_us, std::int64_t end_us) {
  growth_.begin_us = begin_us;
  growth_.end_us = end_us;
  growth_.autoscaler = autoscaler_->report(end_us);
  growth_.waiting_at_end = waiting_.size();
  std::sort(growth_.waits_us.begin(), growth_.waits_us.end());
  return std::move(growth_);
}

}  // namespace headroom
