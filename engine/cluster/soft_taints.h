// SoftTaints: the PreferNoSchedule taints that nodes have, each once. No decision looks at them
// yet: answers say so of a pod that does not tolerate one.
//
// Thread safety: one writer, or any number of readers. Cost: O(log taints) for a node's taint; a
// question ends at the first taint that is not tolerated, and is O(1) where no node has one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "objects/objects.h"

namespace headroom {

class SoftTaints {
 public:
  // A node's. sign: 1 when it comes, -1 when it goes.
  void count(const std::vector<Taint>& taints, int sign);
  bool all_tolerated(const std::vector<Toleration>& tolerations) const;

 private:
  std::map<std::pair<std::string, std::string>, std::uint32_t> nodes_;  // by key and value
};

}  // namespace headroom
