#include "server/service/pending_pods.h"

#include <fmt/format.h>

#include <utility>

#include "objects/assert.h"

namespace headroom {

namespace {

bool is_key_of(std::string_view key, const Pod& pod) {
  const std::size_t slash = pod.namespace_name.size();
  return key.size() == slash + 1 + pod.name.size() && key.substr(0, slash) == pod.namespace_name &&
         key[slash] == '/' && key.substr(slash + 1) == pod.name;
}

}  // namespace

std::uint32_t PendingPods::find_key(std::string_view key, NameIndex::Hash hash) const {
  return by_key_.find(hash, [&](std::uint32_t number) { return is_key_of(key, *pods_[number]); });
}

std::uint32_t PendingPods::find_uid(std::string_view uid, NameIndex::Hash hash) const {
  return by_uid_.find(hash, [&](std::uint32_t number) { return pods_[number]->uid == uid; });
}

void PendingPods::reserve(std::uint32_t pods) {
  by_key_.reserve(pods);
  by_uid_.reserve(pods);
}

void PendingPods::put(std::string_view key, const Pod& pod) {
  HEADROOM_ASSERT(is_key_of(key, pod));
  // All that can fail comes first.
  auto kept = std::make_unique<const Pod>(pod);
  reserve(size() + 1);
  const NameIndex::Hash key_hash = NameIndex::hash(key), uid_hash = NameIndex::hash(pod.uid);
  std::uint32_t number = find_key(key, key_hash);
  const bool is_new = number == NameIndex::kNone;
  if (is_new) number = free_.next([this] { return pods_.grow(); });

  if (is_new) {
    free_.take();
    by_key_.insert(key_hash, number);
  } else {
    forget_uid(number);
  }
  if (const std::uint32_t other = find_uid(pod.uid, uid_hash); other != NameIndex::kNone) {
    by_uid_.erase(uid_hash, other);
  }
  by_uid_.insert(uid_hash, number);
  pods_[number] = std::move(kept);
}

void PendingPods::remove(std::string_view key) {
  const NameIndex::Hash hash = NameIndex::hash(key);
  const std::uint32_t number = find_key(key, hash);
  if (number == NameIndex::kNone) return;
  forget_uid(number);
  by_key_.erase(hash, number);
  pods_[number] = nullptr;
  free_.give(number);
}

// Unless it finds another pod by now.
void PendingPods::forget_uid(std::uint32_t number) {
  const std::string& uid = pods_[number]->uid;
  const NameIndex::Hash hash = NameIndex::hash(uid);
  if (find_uid(uid, hash) == number) by_uid_.erase(hash, number);
}

const Pod* PendingPods::of_key(std::string_view key) const {
  const std::uint32_t number = find_key(key, NameIndex::hash(key));
  return number == NameIndex::kNone ? nullptr : pods_[number].get();
}

const Pod* PendingPods::of_uid(std::string_view uid) const {
  const std::uint32_t number = find_uid(uid, NameIndex::hash(uid));
  return number == NameIndex::kNone ? nullptr : pods_[number].get();
}

Result<void> PendingPods::validate() const {
  std::uint32_t by_key = 0, by_uid = 0;
  for (std::uint32_t number = 0; number < pods_.size(); ++number) {
    const Pod* pod = pods_[number].get();
    if (pod == nullptr) continue;
    ++by_key;
    const std::string key = pod_key(pod->namespace_name, pod->name);
    if (find_key(key, NameIndex::hash(key)) != number) {
      return fail(ErrorCode::kInternal, fmt::format("pending pods: {} is not found", key));
    }
    by_uid += find_uid(pod->uid, NameIndex::hash(pod->uid)) == number;
  }
  if (by_key != by_key_.size() || by_uid != by_uid_.size()) {
    return fail(ErrorCode::kInternal,
                fmt::format("pending pods: {} keys and {} uids find {} and {}", by_key_.size(),
                            by_uid_.size(), by_key, by_uid));
  }
  return {};
}

}  // namespace headroom
