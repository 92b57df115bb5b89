#include "engine/kept/referred_objects.h"

#include <fmt/format.h>

#include <utility>

#include "engine/kept/digest.h"
#include "engine/kept/value_bytes.h"

namespace headroom {

namespace {

// nullptr: there is none.
std::uint64_t digest_of(const ReferredObject* object) {
  Digest digest;
  if (object != nullptr) {
    ValueWriter bytes;
    bytes(*object);
    digest.add("referred", bytes.bytes());
  }
  return digest.total();
}

}  // namespace

ReferredObjects::ReferredObjects(const Profile& profile) {
  const auto read = [this](std::initializer_list<ReferredKind> kinds) {
    for (const ReferredKind kind : kinds) {
      reads_[index(kind)] = true;
    }
  };
  if (profile.uses({PluginId::kInterPodAffinity})) {
    read({ReferredKind::kNamespace});
  }
  if (profile.uses({PluginId::kPodTopologySpread})) {
    read({ReferredKind::kService, ReferredKind::kReplicationController, ReferredKind::kReplicaSet,
          ReferredKind::kStatefulSet});
  }
  if (profile.uses({PluginId::kVolumeRestrictions, PluginId::kNodeVolumeLimits,
                    PluginId::kVolumeBinding, PluginId::kVolumeZone})) {
    read({ReferredKind::kPersistentVolume, ReferredKind::kPersistentVolumeClaim,
          ReferredKind::kStorageClass, ReferredKind::kCsiNode, ReferredKind::kCsiDriver,
          ReferredKind::kCsiStorageCapacity});
  }
}

Result<void> ReferredObjects::check(const ReferredObject& object) const {
  const ReferredKind kind = kind_of(object);
  const std::string key = key_of(object);
  if (key.empty() || key.ends_with('/')) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: metadata.name is empty", to_string(kind)));
  }
  if (count_ >= kReferredObjectsMax && !of(kind).contains(key)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{} {}: kReferredObjectsMax ({}) objects are known", to_string(kind),
                            key, kReferredObjectsMax));
  }
  return {};
}

std::shared_ptr<const ReferredObject> ReferredObjects::put(
    ReferredKind kind, std::string_view key, std::shared_ptr<const ReferredObject> object) {
  Map& map = objects_[index(kind)];
  const auto found = map.find(key);
  std::shared_ptr<const ReferredObject> before = found == map.end() ? nullptr : found->second;
  const std::uint64_t more = digest_of(object.get()) - digest_of(before.get());
  if (object == nullptr) {
    if (before != nullptr) {
      map.erase(found);
      --count_;
    }
  } else if (before == nullptr) {
    map.emplace(key, std::move(object));
    ++count_;
  } else {
    found->second = std::move(object);
  }
  digest_ += more;
  return before;
}

std::shared_ptr<const ReferredObject> ReferredObjects::at(ReferredKind kind,
                                                          std::string_view key) const {
  const auto found = of(kind).find(key);
  return found == of(kind).end() ? nullptr : found->second;
}

Result<void> ReferredObjects::validate() const {
  std::uint64_t digest = 0;
  for (const Map& map : objects_) {
    for (const auto& its : map) {
      digest += digest_of(its.second.get());
    }
  }
  return digest == digest_ ? Result<void>()
                           : fail(ErrorCode::kConflict,
                                  "validate: the digest of what is referred to differs from the "
                                  "objects");
}

}  // namespace headroom
