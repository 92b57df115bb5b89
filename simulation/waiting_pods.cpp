#include "simulation/waiting_pods.h"

#include <utility>

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
         std::to_string(pod.priority.value_or(0)) + ' ' + pod.preemption_policy + ' ' +
         pod.nominated_node_name + ' ' + std::to_string(static_cast<std::uint32_t>(*pending.shape));
}

}  // namespace

Result<const Decision*> WaitingPods::keep(Engine& engine, PendingPod& pending) {
  Result<std::string> key = alike(engine, pending);
  if (!key) return tl::unexpected(key.error());
  const auto found = failed_.find(*key);
  if (found == failed_.end()) return nullptr;
  waiting_.push_back({std::move(pending), found->second});
  return found->second.get();
}

Result<void> WaitingPods::add(Engine& engine, PendingPod&& pending, Decision&& decision) {
  Result<std::string> key = alike(engine, pending);
  if (!key) return tl::unexpected(key.error());
  auto kept = std::make_shared<const Decision>(std::move(decision));
  failed_[*key] = kept;
  waiting_.push_back({std::move(pending), std::move(kept)});
  return {};
}

void WaitingPods::try_again(PodQueue& queue) {
  forget_failures();
  for (Waiting& waiting : waiting_) queue.push(std::move(waiting.pending));
  waiting_.clear();
}

}  // namespace headroom
