// See capacity_scheduling.h.
#include "oracle/quotas/capacity_scheduling.h"

#include <algorithm>

namespace oracle {

// RunFilterPluginsWithNominatedPods. A node that passes with them passes without them, too.
NodeStatus filter_with_nominated(const CapacityCycle& cycle, const Situation& situation,
                                 const PodView& incoming, const std::string& node) {
  std::vector<PodView> nominated;
  for (const PodView& pod : situation.nominated) {
    if (pod.node == node && pod.priority >= incoming.priority) nominated.push_back(pod);
  }
  return cycle.filters(node, situation.pods.at(node), nominated);
}

bool waits_for_victims(const Situation& situation, const PodView& incoming,
                       const std::function<bool(const PodView&)>& may_take) {
  const auto pods = situation.pods.find(text(child(*incoming.pod, "status"), "nominatedNodeName"));
  if (pods == situation.pods.end()) return false;
  return std::any_of(pods->second.begin(), pods->second.end(),
                     [&](const PodView& pod) { return pod.terminating && may_take(pod); });
}

void choose_candidate(const Situation& situation, const std::map<std::string, NodeVictims>& nodes,
                      PostFilter& answer) {
  answer.nominated_node = pick_node(situation.node_names, nodes);
  if (answer.nominated_node.empty()) return;
  for (const PodView& victim : nodes.at(answer.nominated_node).victims) {
    answer.victims.push_back(victim.key);
  }
  std::sort(answer.victims.begin(), answer.victims.end());
  answer.status = {};
}

}  // namespace oracle
