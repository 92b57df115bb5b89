// CapacityScheduling: ElasticQuotas before the filters, preemption after them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/quotas/elastic_quota.h"

namespace oracle {

// The cycle's filters over one node that holds these pods and has these nominated to it.
using RunFilters =
    std::function<NodeStatus(const std::string& node, const std::vector<PodView>& pods,
                             const std::vector<PodView>& nominated)>;

struct CapacityCycle {
  const Facts* facts = nullptr;
  const Json* pod = nullptr;
  const Json* args = nullptr;
  RunFilters filters;
};

struct PostFilter {
  Status status;
  std::string nominated_node;
  std::vector<std::string> victims;  // namespace/name, sorted
  // What was found for every node that was tried; Proposal keeps candidates only. nullopt: the pod
  // may not preempt, or the victims are on several nodes.
  std::optional<std::map<std::string, NodeVictims>> candidates;
  // Proposal, where no single node works: what was found for every node with victims anywhere.
  std::map<std::string, NodeVictims> across;
  // Proposal: no single node works, and victims on several nodes would (only where it is off).
  std::optional<bool> cross_node_would_help;
};

struct CapacityAnswer {
  Status pre_filter;
  std::map<std::string, NodeStatus> nodes;  // the filters' answers; empty when pre_filter rejects
  std::optional<PostFilter> post_filter;    // when no node is feasible
};

// The nodes that pass the filters with the nominated pods of at least the incoming one's priority.
NodeStatus filter_with_nominated(const CapacityCycle& cycle, const Situation& situation,
                                 const PodView& incoming, const std::string& node);

// PodEligibleToPreemptOthers and proposal-rules.md: "a nominated node whose victims still
// terminate: no preemption". `may_take` says which pods the incoming one could take.
bool waits_for_victims(const Situation& situation, const PodView& incoming,
                       const std::function<bool(const PodView&)>& may_take);

// Choice of the node and its victims, by name.
void choose_candidate(const Situation& situation, const std::map<std::string, NodeVictims>& nodes,
                      PostFilter& answer);

CapacityAnswer capacity_upstream(const CapacityCycle& cycle);
CapacityAnswer capacity_proposal(const CapacityCycle& cycle);

}  // namespace oracle
