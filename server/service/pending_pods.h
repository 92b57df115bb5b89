// PendingPods: the pods that wait for a node, as they were fed last; requests name them by uid.
//
// A pod is found by its key (namespace/name) as long as it waits. A uid finds the pod that was put
// last with it, as long as that one waits and has that uid; uids should be unique, but a feeder may
// say anything. Both maps own their names and share the pod: nothing points into anything that can
// go away. A call that throws (std::bad_alloc) has changed nothing.
//
// Thread safety: one thread at a time. Cost: two look-ups, and a copy of the pod that is put.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "objects/error.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class PendingPods {
 public:
  // The pod waits from now on, instead of the one that had the key. A uid that another pod has
  // finds this one now. `key` is that of the pod.
  void put(std::string_view key, const Pod& pod);
  // It waits no more, whatever its uid.
  void remove(std::string_view key);

  const Pod* of_key(std::string_view key) const;  // nullptr: it does not wait
  const Pod* of_uid(std::string_view uid) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(by_key_.size()); }

  // Every uid finds a pod that waits and has it. Errors name the uid. O(pods).
  Result<void> validate() const;

 private:
  void forget_uid(const Pod& pod);

  BytesMap<std::string, std::shared_ptr<const Pod>> by_key_;
  BytesMap<std::string, std::shared_ptr<const Pod>> by_uid_;
};

}  // namespace headroom
