// SimulatedMetrics: what every node reports when metrics are simulated, which is the usage of the
// pods that are on it.
//
// Thread safety: one thread at a time. Cost: O(pods of the node) per pod.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class SimulatedMetrics {
 public:
  // `seed`: of simulated_usage().
  SimulatedMetrics(const std::vector<Node>& nodes, std::int64_t every_seconds, std::uint64_t seed);

  void add_node(const std::string& name);

  bool due(std::int64_t now_us) const { return now_us >= next_us_; }
  // Reports are made every so often, whether a pod arrives or not; only the last one before `now`
  // can change a decision.
  std::vector<NodeMetric>& report(std::int64_t now_us);

  // A node that is not known reports nothing.
  void add(const Pod& pod, std::string_view node_name);
  // `node`: position among the nodes, in the order of their coming.
  void remove(std::string_view namespace_name, std::string_view name, std::uint32_t node);

 private:
  const std::int64_t every_seconds_, every_us_;
  const std::uint64_t seed_;
  std::int64_t next_us_ = std::numeric_limits<std::int64_t>::min();
  std::vector<NodeMetric> metrics_;  // by position among the nodes
  std::unordered_map<std::string, std::size_t, BytesHash, std::equal_to<>> ids_;
};

}  // namespace headroom
