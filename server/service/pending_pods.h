// PendingPods: the pods that wait for a node, as they were fed last; requests name them by uid.
//
// A pod is found by its key (namespace/name) as long as it waits. A uid finds the pod that was put
// last with it, as long as that one waits and has that uid; uids should be unique, but a feeder may
// say anything. A call that throws (std::bad_alloc) has changed nothing.
//
// Thread safety: one thread at a time. Cost: two look-ups, and a copy of the pod that is put; a
// table that is full grows in one piece, so that who knows how many will come reserves room.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "layout/chunked.h"
#include "layout/free_numbers.h"
#include "layout/name_index.h"
#include "objects/error.h"
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
  std::uint32_t size() const { return by_key_.size(); }
  void reserve(std::uint32_t pods);

  // Each pod is found by its key, and each uid finds a pod that waits and has it. Errors name what
  // does not. O(pods).
  Result<void> validate() const;

 private:
  std::uint32_t find_key(std::string_view key, NameIndex::Hash hash) const;
  std::uint32_t find_uid(std::string_view uid, NameIndex::Hash hash) const;
  void forget_uid(std::uint32_t number);

  Chunked<std::unique_ptr<const Pod>> pods_;  // by number; nullptr: it is free
  FreeNumbers free_;
  NameIndex by_key_, by_uid_;
};

}  // namespace headroom
