#include "simulation/autoscaler/capacity_quota_blocks.h"

#include <algorithm>

namespace headroom {

void CapacityQuotaBlocks::set(std::uint32_t node_template, std::int64_t now_us,
                              const std::vector<Limit>& limits, std::int64_t nodes,
                              const std::unordered_set<std::uint32_t>& pods,
                              std::span<const std::uint32_t> new_pods) {
  for (auto& [limit, entry] : entries_) {
    if (nodes == 0 || std::find(limits.begin(), limits.end(), limit) == limits.end()) {
      stop(entry, node_template, now_us);
    }
  }
  if (nodes == 0) return;
  for (const Limit& limit : limits) {
    Entry& entry = entries_[limit];
    if (entry.nodes_now.contains(node_template)) {
      entry.pods.insert(new_pods.begin(), new_pods.end());
    } else {
      entry.pods.insert(pods.begin(), pods.end());
      if (entry.nodes_now.empty()) {
        if (entry.block.stretches++ == 0) entry.block.first_us = now_us;
        entry.block.last_us = now_us;
      }
    }
    entry.nodes_now[node_template] = nodes;
    std::int64_t& most = entry.block.nodes[node_template];
    most = std::max(most, nodes);
  }
}

// While it blocks, last_us is when the stretch began.
void CapacityQuotaBlocks::stop(Entry& entry, std::uint32_t node_template, std::int64_t now_us) {
  if (entry.nodes_now.erase(node_template) == 0 || !entry.nodes_now.empty()) return;
  entry.block.blocked_us += now_us - entry.block.last_us;
  entry.block.last_us = now_us;
}

void CapacityQuotaBlocks::end(std::int64_t now_us) {
  for (auto& [limit, entry] : entries_) {
    while (!entry.nodes_now.empty()) stop(entry, entry.nodes_now.begin()->first, now_us);
  }
}

CapacityQuotaBlock CapacityQuotaBlocks::find(const Limit& limit) const {
  const auto found = entries_.find(limit);
  if (found == entries_.end()) return {};
  CapacityQuotaBlock block = found->second.block;
  block.pods = found->second.pods.size();
  return block;
}

std::int64_t CapacityQuotaBlocks::refused_now(const Limit& limit) const {
  const auto found = entries_.find(limit);
  std::int64_t most = 0;
  if (found == entries_.end()) return most;
  for (const auto& [node_template, nodes] : found->second.nodes_now) most = std::max(most, nodes);
  return most;
}

}  // namespace headroom
