// What both modes of preemption share: importance of pods, victims, and the choice of a node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/facts.h"
#include "oracle/pod_resources.h"

namespace oracle {

// A live pod as preemption sees it.
struct PodView {
  std::string key;    // namespace/name
  std::string space;  // the namespace
  std::string uid;
  std::string node;  // where it is, or is nominated to be
  std::int64_t priority = 0;
  Int128 start = 0;                // status.startTime; without one later than every other
  bool terminating = false;        // has a deletionTimestamp
  Amounts elastic_quota_requests;  // what its quota counts
  const Json* pod = nullptr;
};

// `node` is left empty. Upstream counts by the quota plugin's own sum, Proposal by PodRequests.
PodView view_pod(const Facts& facts, Mode mode, const Json& pod);

// proposal-rules.md: "priority, then earlier start, then namespace/name".
bool more_important(const PodView& a, const PodView& b);
void sort_most_important_first(std::vector<PodView>& pods);

// What preemption found for one node.
struct NodeVictims {
  Status status;                 // Success: the node is a candidate
  std::vector<PodView> victims;  // in the order in which the rules return them
  std::int64_t pdb_violations = 0;
};

// pickOneNodeForPreemption: fewest violations, lowest priority of the first victim, lowest sum of
// priorities, fewest victims, latest start of the earliest of the highest priority; ties to the
// first of `order`. "" without a candidate.
std::string pick_node(const std::vector<std::string>& order,
                      const std::map<std::string, NodeVictims>& nodes);

}  // namespace oracle
