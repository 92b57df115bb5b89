#include "simulation/pod_queue.h"

#include <algorithm>

namespace headroom {
namespace {

bool is_later(const std::unique_ptr<PendingPod>& a, const std::unique_ptr<PendingPod>& b) {
  return a->priority != b->priority ? a->priority < b->priority : a->turn > b->turn;
}

}  // namespace

void make_pending(Pod& pod) {
  pod.node_name.clear();
  pod.phase = "Pending";
  pod.scheduled.reset();
  pod.initialized.reset();
  pod.start_us.reset();
  pod.resize_infeasible = false;
  const auto forget_status = [](auto& of) {
    of.actuated_requests.reset();
    of.allocated_requests.clear();
  };
  forget_status(pod);
  std::for_each(pod.containers.begin(), pod.containers.end(), forget_status);
  std::for_each(pod.init_containers.begin(), pod.init_containers.end(), forget_status);
}

PodQueue::PodQueue(std::span<const PriorityClass> classes) {
  bool has_default = false;
  for (const PriorityClass& priority_class : classes) {
    classes_[priority_class.name] = priority_class.value;
    if (!priority_class.global_default) continue;
    // Of several the lowest counts.
    default_priority_ =
        has_default ? std::min(default_priority_, priority_class.value) : priority_class.value;
    has_default = true;
  }
}

std::int32_t PodQueue::priority_of(const Pod& pod) const {
  if (pod.priority) return *pod.priority;
  if (pod.priority_class_name.empty()) return default_priority_;
  const auto found = classes_.find(pod.priority_class_name);
  return found == classes_.end() ? 0 : found->second;
}

void PodQueue::push(PendingPod&& pod) {
  if (pod.turn == 0) {
    pod.priority = priority_of(pod.pod);
    pod.turn = ++turns_;
  }
  heap_.push_back(std::make_unique<PendingPod>(std::move(pod)));
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

PendingPod PodQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  PendingPod first = std::move(*heap_.back());
  heap_.pop_back();
  return first;
}

}  // namespace headroom
