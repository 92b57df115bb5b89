// ClusterUsage: the sums of requests and limits, by resource, for a cluster and for each node, and
// their peaks.
//
// Sums are exact; what is reported of one beyond int64 is the nearest that int64 has. Thread
// safety: one thread at a time. Cost: O(resources) per pod.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects/hash.h"
#include "objects/int128.h"
#include "objects/objects.h"

namespace headroom {

// Sums at the moment at which each was highest.
struct ResourceReport {
  std::string name;              // cpu in thousandths, everything else whole
  std::int64_t allocatable = 0;  // of all nodes that were ever there
  std::int64_t requested = 0;    // peak of the cluster's sum of requests
  std::int64_t limits = 0;       // peak of the sum of limits, as LimitAware counts them
  std::string hottest_node;      // the node whose limits came highest against its allocatable
  std::int64_t hottest_limits = 0, hottest_allocatable = 0;
};

class ClusterUsage {
 public:
  // A pod's share of the sums: where it is and what it counts there.
  struct Holding {
    struct Need {
      std::uint32_t resource;
      std::int64_t request, limit;
    };
    std::uint32_t node = 0;  // position among the nodes, in the order of their coming
    std::vector<Need> needs;
  };

  // `templates`: nodes like those that may be added later.
  explicit ClusterUsage(std::span<const Node> nodes, std::span<const Node> templates = {});

  // Its resources are those of the constructor's nodes and templates.
  void add_node(const Node& node);

  Holding holding(const Pod& pod, std::string_view node_name) const;
  void add(const Holding& holding);
  void remove(const Holding& holding);
  // Resources that some pod asked for.
  std::vector<ResourceReport> peaks() const;

  // Nodes and resources by their positions, as Holding has them.
  std::size_t node_count() const { return node_names_.size(); }
  std::size_t resource_count() const { return peaks_.size(); }
  const std::string& resource_name(std::size_t resource) const { return peaks_[resource].name; }
  std::int64_t allocatable(std::size_t node, std::size_t resource) const {
    return allocatable_[node * peaks_.size() + resource];
  }

 private:
  std::map<std::string, std::uint32_t> resource_ids_;
  std::unordered_map<std::string, std::uint32_t, BytesHash, std::equal_to<>> node_ids_;
  std::vector<std::string> node_names_;
  std::vector<ResourceReport> peaks_;       // by resource
  std::vector<Int128> total_;               // by resource: allocatable of all nodes
  std::vector<Int128> requested_, limits_;  // by resource, now
  std::vector<std::int64_t> allocatable_;   // [node * resources + resource]
  std::vector<Int128> node_limits_;         // the same, now
};

}  // namespace headroom
