// Cluster: nominations, which are pods that wait for room on a node, and the preemption that makes
// room for one.
#include <span>
#include <string>
#include <vector>

#include "engine/cluster/cluster.h"

namespace headroom {

// A pod on no node that names one waits for room there; it counts while the node exists.
void Cluster::nominate(PodId id) {
  note_row(facts_.pods[id].rank.nominated_row);
  PodRank& rank = facts_.pods[id].rank;
  rank.nominated = true;
  NodeFacts& node = facts_.nodes[rank.nominated_row];
  if (node.nominated.empty()) {
    nominated_rows_.push_back(rank.nominated_row);
  }
  node.nominated.push_back(id);
  if (node.node != nullptr) {
    count_nominated(id, 1);
  }
}

std::uint32_t Cluster::nominated_row_of(const Pod& pod) const {
  std::uint32_t row = kNoRow;
  if (!pod.nominated_node_name.empty()) {
    row = find_row(pod.nominated_node_name);
  } else if (!nominated_rows_.empty()) {
    const PodId id = find_pod(pod_key(pod));
    if (id != kNoPod && facts_.pods[id].uid == pod.uid && facts_.pods[id].rank.nominated) {
      row = facts_.pods[id].rank.nominated_row;
    }
  }
  return row != kNoRow && facts_.nodes[row].node != nullptr ? row : kNoRow;
}

void Cluster::withdraw_nomination(PodId id) {
  note_row(facts_.pods[id].rank.nominated_row);
  PodRank& rank = facts_.pods[id].rank;
  rank.nominated = false;
  NodeFacts& node = facts_.nodes[rank.nominated_row];
  std::erase(node.nominated, id);
  if (node.nominated.empty()) {
    std::erase(nominated_rows_, rank.nominated_row);
  }
  if (node.node != nullptr) {
    count_nominated(id, -1);
  }
}

void Cluster::count_nominated(PodId id, int sign) {
  note_pod(id);
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->count_nominated(id, sign);
  }
}

// kube-scheduler's prepareCandidate.
std::vector<std::string> Cluster::preempt(const Pod& pod, std::uint32_t row,
                                          std::span<const std::string> victims) {
  const std::int32_t priority = priorities_.of(pod).value;
  const PodId own = find_pod(pod_key(pod));
  std::vector<std::string> lesser;
  for (const PodId id : std::vector<PodId>(facts_.nodes[row].nominated)) {
    if (id != own && facts_.pods[id].rank.priority < priority) {
      remember(id);
      withdraw_nomination(id);
      move_to(facts_.pods[id].rank.nominated_row, kNoRow);
      lesser.push_back(facts_.pods[id].key);
    }
  }
  for (const std::string& victim : victims) {
    const PodId id = find_pod(victim);
    PodFacts& facts = facts_.pods[id];
    const std::uint32_t counted_before = facts.counted_row;
    remember(id);
    uncount(id);
    facts.rank.deleting = true;
    // What spread constraints count no more.
    applications_.peers().give(facts, applications_.peers().of_deleted(facts.peer));
    recount(id, counted_before);
  }
  Pod waits = pod;
  waits.nominated_node_name = facts_.nodes[row].name;
  // Its shape is known and there is room for it: nothing is refused.
  (void)upsert(waits);
  return lesser;
}

}  // namespace headroom
