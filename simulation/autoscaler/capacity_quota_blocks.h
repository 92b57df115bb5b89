// CapacityQuotaBlocks: which limits of capacity quotas keep nodes away, for how long, and whose
// pods wait.
//
// A limit blocks while it binds for a template of which nodes are refused. Pods and templates are
// whatever the caller numbers them by. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace headroom {

// What one limit did, up to the last end().
struct CapacityQuotaBlock {
  std::int64_t blocked_us = 0;             // in all
  std::int64_t first_us = 0, last_us = 0;  // from, and to; meaningful where stretches > 0
  std::uint64_t stretches = 0;
  std::uint64_t pods = 0;                       // that waited on it
  std::map<std::uint32_t, std::int64_t> nodes;  // by template: refused at one moment at most
};

class CapacityQuotaBlocks {
 public:
  // A quota's id and a resource.
  using Limit = std::pair<std::string, std::string>;

  // From now on `limits` keep `nodes` nodes of the template away, on which `pods` wait; no nodes or
  // no limits: nothing does. `new_pods`: those of `pods` that were not there when this template was
  // last set. Cost: O(limits + new pods), for limits that did not bind before O(pods).
  void set(std::uint32_t node_template, std::int64_t now_us, const std::vector<Limit>& limits,
           std::int64_t nodes, const std::unordered_set<std::uint32_t>& pods,
           std::span<const std::uint32_t> new_pods);
  // Nothing is refused from now on.
  void end(std::int64_t now_us);
  CapacityQuotaBlock find(const Limit& limit) const;  // all 0 where it never blocked
  // Nodes that the limit keeps away now, of the template of which they are most.
  std::int64_t refused_now(const Limit& limit) const;

 private:
  struct Entry {
    CapacityQuotaBlock block;
    std::unordered_set<std::uint32_t> pods;
    std::map<std::uint32_t, std::int64_t> nodes_now;  // by template for which it binds now
  };

  void stop(Entry& entry, std::uint32_t node_template, std::int64_t now_us);

  std::map<Limit, Entry> entries_;
};

}  // namespace headroom
