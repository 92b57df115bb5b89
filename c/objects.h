// The plain structs of headroom.h as the objects of objects/objects.h.
//
// Checked as the object reader checks what it reads: names and lists within its limits, no amount
// below 0; and no name twice, because a struct has no order in which the last could win. Errors
// name the object, the field and the value. Thread safety: one thread at a time for a PodRoom.
// Cost: linear in the object.
#pragma once

#include <span>
#include <vector>

#include "c/headroom.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

Result<Node> node_of(const headroom_node& from);

// Pods in memory that is used again: reading a plain pod where another was read allocates nothing.
class PodRoom {
 public:
  // Valid until the next call.
  Result<const Pod*> read(const headroom_pod* pod);
  // Errors also name the place in the list.
  Result<std::span<const Pod>> read(const headroom_pod* pods, std::size_t count);

 private:
  Result<void> read(const headroom_pod& from, Pod& pod);

  std::vector<Pod> pods_;
  bool plain_ = true;  // no pod has fields beyond those of a plain one
};

}  // namespace headroom
