// SimulatedQueue: whose turn it is in a simulation, who waits, and who is tried again.
//
// Pods that arrive and victims that come back have a turn each (PodQueue), in rounds: one is over
// when nobody is left. With an autoscaler those that found no place wait on (WaitingPods), and it
// knows of them as long as nodes would help. They have another turn when there may be room; who
// then finds a place leaves as much later as it has waited. Thread safety: one thread at a time.
// Cost: that of PodQueue and WaitingPods; O(pods of a line) where nodes begin or cease to help it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"
#include "simulation/autoscaler/cluster_autoscaler.h"
#include "simulation/figures/growth_report.h"
#include "simulation/pod_queue.h"
#include "simulation/waiting_pods.h"

namespace headroom {

class SimulatedQueue {
 public:
  // `classes`: of priority. Without an autoscaler nobody waits.
  SimulatedQueue(std::span<const PriorityClass> classes,
                 std::optional<ClusterAutoscaler> autoscaler)
      : autoscaler_(std::move(autoscaler)), turns_(classes) {}

  // nullptr: none.
  ClusterAutoscaler* autoscaler() { return autoscaler_ ? &*autoscaler_ : nullptr; }

  // It has a turn in this round.
  void push(PendingPod&& pending) { turns_.push(std::move(pending)); }
  bool empty() const { return turns_.empty(); }
  PendingPod pop() { return turns_.pop(); }  // not empty
  // It is empty.
  void end_round() { waiting_.end_round(); }

  // With an autoscaler: the pod found no place, by this decision of the engine's. Errors: what
  // Engine::shape_of() refuses.
  Result<void> wait(Engine& engine, PendingPod& pending, Decision&& decision);
  // One that waited has found a place.
  void end_wait(PendingPod& pending, std::int64_t now_us);
  std::size_t waiting() const { return waiting_.size(); }  // with those that are being tried
  // Between rounds: who waits, in the order of their coming, as decided.
  std::vector<std::pair<const PendingPod*, const Decision*>> all_waiting() const {
    return waiting_.all();
  }

  // Room may have come.
  void note_room() { room_came_ = true; }
  // Before a round: if it has since the last one, all that wait are tried again.
  void try_again() {
    if (std::exchange(room_came_, false)) waiting_.try_again(turns_);
  }
  // It has come on this pod's turn: so are, in this round, those that come after it.
  void try_after(const PendingPod& pending) { waiting_.try_after(pending, turns_); }
  // A pod was placed: so are those that may have waited for it.
  void try_near() { waiting_.try_near(turns_); }

  // With an autoscaler, at the end of the simulation.
  GrowthReport report(std::int64_t begin_us, std::int64_t end_us);

 private:
  void tell_autoscaler(WaitingPods::Line& line, std::uint64_t turn);

  std::optional<ClusterAutoscaler> autoscaler_;
  PodQueue turns_;
  WaitingPods waiting_;
  bool room_came_ = false;
  GrowthReport growth_;
};

}  // namespace headroom
