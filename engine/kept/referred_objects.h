// ReferredObjects: the objects that nodes and pods refer to (namespaces, services, claims, ...),
// the latest of each kind and key.
//
// Facts, as nodes and pods are: whatever order they come in. Only kinds that some plugin of the
// profile reads are kept. Thread safety: one writer, or any number of readers; a pointer is valid
// until its object changes. Cost: O(log objects of the kind).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/profile/profile.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// Of all kinds.
inline constexpr std::uint32_t kReferredObjectsMax = 10'000'000;

class ReferredObjects {
 public:
  using Map = std::map<std::string, std::shared_ptr<const ReferredObject>, std::less<>>;

  explicit ReferredObjects(const Profile& profile);

  bool reads(ReferredKind kind) const { return reads_[index(kind)]; }
  // kInvalid without a name; kLimitExceeded.
  Result<void> check(const ReferredObject& object) const;
  // What was there before; nullptr: nothing, for either.
  std::shared_ptr<const ReferredObject> put(ReferredKind kind, std::string_view key,
                                            std::shared_ptr<const ReferredObject> object);

  // nullptr: there is none. Of a WorkloadController the kind is asked for too.
  template <typename T>
  const T* find(ReferredKind kind, std::string_view key) const {
    const auto found = of(kind).find(key);
    return found == of(kind).end() ? nullptr : &std::get<T>(*found->second);
  }
  std::shared_ptr<const ReferredObject> at(ReferredKind kind, std::string_view key) const;
  // By key.
  const Map& of(ReferredKind kind) const { return objects_[index(kind)]; }
  // Calls visit(object) for each in the namespace, by name.
  template <typename T, typename Visit>
  void each_in_namespace(ReferredKind kind, std::string_view namespace_name, Visit visit) const {
    const std::string prefix = std::string(namespace_name) + "/";
    const Map& map = of(kind);
    for (auto at = map.lower_bound(prefix); at != map.end() && at->first.starts_with(prefix);
         ++at) {
      visit(std::get<T>(*at->second));
    }
  }
  std::uint32_t count() const { return count_; }
  // Kept with each change: audits ask for it in every turn.
  std::uint64_t digest() const { return digest_; }
  // kConflict if it is not what the objects come to.
  Result<void> validate() const;

 private:
  static std::size_t index(ReferredKind kind) { return static_cast<std::size_t>(kind); }

  std::array<bool, kReferredKindCount> reads_{};
  std::array<Map, kReferredKindCount> objects_;
  std::uint32_t count_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace headroom
