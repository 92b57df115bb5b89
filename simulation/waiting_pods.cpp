#include "simulation/waiting_pods.h"

#include <algorithm>

#include "simulation/autoscaler/pods_that_ask.h"

namespace headroom {
namespace {

// Pods that no decision can tell apart have the same.
Result<std::string> alike(Engine& engine, PendingPod& pending) {
  const Pod& pod = pending.pod;
  if (!pending.shape) {
    const Result<ShapeIndex> shape = engine.shape_of(pod);
    if (!shape) return tl::unexpected(shape.error());
    pending.shape = *shape;
  }
  return pod_key(pod.namespace_name, pod.priority_class_name) + ' ' +
         (pod.priority ? std::to_string(*pod.priority) : std::string()) + ' ' +
         pod.preemption_policy + ' ' + pod.nominated_node_name + ' ' +
         std::to_string(static_cast<std::uint32_t>(*pending.shape));
}

}  // namespace

Result<WaitingPods::Line*> WaitingPods::add(Engine& engine, PendingPod&& pending,
                                            Decision&& decision, PodQueue& queue) {
  Result<std::string> key = alike(engine, pending);
  if (!key) return tl::unexpected(key.error());
  const bool was_here = pending.alike == *key;
  // Whom its node did not take is like others than before.
  if (!was_here && !pending.alike.empty()) remove(pending, queue);
  Line& line = lines_[*key];
  if (was_here) {
    line.is_tried = false;
  } else {
    ++size_;
    pending.alike = std::move(*key);
  }
  line.priority = pending.priority;
  line.waits_for_others = waits_for_others(pending.pod, engine.profile());
  line.failed_in = round_;
  line.decision = std::move(decision);
  line.pods.emplace(pending.turn, std::move(pending));
  return &line;
}

void WaitingPods::remove(const PendingPod& pending, PodQueue& queue) {
  --size_;
  const auto found = lines_.find(pending.alike);
  Line& line = found->second;
  line.is_tried = false;
  if (line.pods.empty()) {
    lines_.erase(found);
  } else {
    try_one(line, line.pods.upper_bound(pending.turn), queue);
  }
}

void WaitingPods::try_one(Line& line, Turn turn, PodQueue& queue) {
  if (line.is_tried || turn == line.pods.end()) return;
  queue.push(std::move(turn->second));
  line.pods.erase(turn);
  line.is_tried = true;
}

void WaitingPods::try_again(PodQueue& queue) {
  for (auto& [key, line] : lines_) try_one(line, line.pods.begin(), queue);
}

void WaitingPods::try_after(const PendingPod& pending, PodQueue& queue) {
  for (auto& [key, line] : lines_) {
    if (line.failed_in != round_ || line.priority > pending.priority) continue;
    const bool same = line.priority == pending.priority;
    try_one(line, same ? line.pods.upper_bound(pending.turn) : line.pods.begin(), queue);
  }
}

void WaitingPods::try_near(PodQueue& queue) {
  for (auto& [key, line] : lines_) {
    if (line.waits_for_others) try_one(line, line.pods.begin(), queue);
  }
}

std::vector<std::pair<const PendingPod*, const Decision*>> WaitingPods::all() const {
  std::vector<std::pair<const PendingPod*, const Decision*>> all;
  for (const auto& [key, line] : lines_) {
    for (const auto& [turn, pending] : line.pods) all.emplace_back(&pending, &line.decision);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first->turn < b.first->turn; });
  return all;
}

}  // namespace headroom
