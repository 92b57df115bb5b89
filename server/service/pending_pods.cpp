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

std::uint32_t PendingPods::find_key(std::string_view key) const {
  return by_key_.find(NameIndex::hash(key),
                      [&](std::uint32_t number) { return is_key_of(key, *pods_[number]); });
}

std::uint32_t PendingPods::find_uid(std::string_view uid) const {
  return by_uid_.find(NameIndex::hash(uid),
                      [&](std::uint32_t number) { return pods_[number]->uid == uid; });
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
  std::uint32_t number = find_key(key);
  const bool is_new = number == NameIndex::kNone;
  if (is_new && free_.empty()) {
    if (free_.capacity() == pods_.size()) free_.reserve(2 * std::size_t{pods_.size()} + 1);
    free_.push_back(pods_.grow());
  }

  if (is_new) {
    number = free_.back();
    free_.pop_back();
    by_key_.insert(NameIndex::hash(key), number);
  } else {
    forget_uid(number);
  }
  const NameIndex::Hash uid_hash = NameIndex::hash(pod.uid);
  if (const std::uint32_t other = find_uid(pod.uid); other != NameIndex::kNone) {
    by_uid_.erase(uid_hash, other);
  }
  by_uid_.insert(uid_hash, number);
  pods_[number] = std::move(kept);
}

void PendingPods::remove(std::string_view key) {
  const std::uint32_t number = find_key(key);
  if (number == NameIndex::kNone) return;
  forget_uid(number);
  by_key_.erase(NameIndex::hash(key), number);
  pods_[number] = nullptr;
  free_.push_back(number);
}

// Unless it finds another pod by now.
void PendingPods::forget_uid(std::uint32_t number) {
  const std::string& uid = pods_[number]->uid;
  if (find_uid(uid) == number) by_uid_.erase(NameIndex::hash(uid), number);
}

const Pod* PendingPods::of_key(std::string_view key) const {
  const std::uint32_t number = find_key(key);
  return number == NameIndex::kNone ? nullptr : pods_[number].get();
}

const Pod* PendingPods::of_uid(std::string_view uid) const {
  const std::uint32_t number = find_uid(uid);
  return number == NameIndex::kNone ? nullptr : pods_[number].get();
}

Result<void> PendingPods::validate() const {
  std::uint32_t by_key = 0, by_uid = 0;
  for (std::uint32_t number = 0; number < pods_.size(); ++number) {
    const Pod* pod = pods_[number].get();
    if (pod == nullptr) continue;
    ++by_key;
    if (find_key(pod_key(pod->namespace_name, pod->name)) != number) {
      return fail(ErrorCode::kInternal,
                  fmt::format("pending pods: {}/{} is not found", pod->namespace_name, pod->name));
    }
    by_uid += find_uid(pod->uid) == number;
  }
  if (by_key != by_key_.size() || by_uid != by_uid_.size()) {
    return fail(ErrorCode::kInternal,
                fmt::format("pending pods: {} keys and {} uids find {} and {}", by_key_.size(),
                            by_uid_.size(), by_key, by_uid));
  }
  return {};
}

}  // namespace headroom
