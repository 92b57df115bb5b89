#include "server/service/pending_pods.h"

#include <fmt/format.h>

#include <utility>

namespace headroom {

void PendingPods::put(std::string_view key, const Pod& pod) {
  // All that can fail comes first.
  auto kept = std::make_shared<const Pod>(pod);
  const auto [uid, new_uid] = by_uid_.try_emplace(pod.uid);
  decltype(by_key_)::iterator at;
  try {
    at = by_key_.try_emplace(std::string(key)).first;
  } catch (...) {
    if (new_uid) by_uid_.erase(uid);
    throw;
  }
  const std::shared_ptr<const Pod> former = std::exchange(at.value(), kept);
  uid.value() = std::move(kept);
  if (former != nullptr) forget_uid(*former);
}

void PendingPods::remove(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  forget_uid(*found->second);
  by_key_.erase(found);
}

// Unless it finds another pod by now.
void PendingPods::forget_uid(const Pod& pod) {
  const auto found = by_uid_.find(pod.uid);
  if (found != by_uid_.end() && found->second.get() == &pod) by_uid_.erase(found);
}

const Pod* PendingPods::of_key(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second.get();
}

const Pod* PendingPods::of_uid(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second.get();
}

Result<void> PendingPods::validate() const {
  for (const auto& [uid, pod] : by_uid_) {
    if (pod->uid != uid || of_key(pod_key(pod->namespace_name, pod->name)) != pod.get()) {
      return fail(ErrorCode::kInternal,
                  fmt::format("pending pods: uid {} finds {}/{}, which does not wait", uid,
                              pod->namespace_name, pod->name));
    }
  }
  return {};
}

}  // namespace headroom
