// DefaultPreemption: which pods of lower priority would have to go, and from which node, so that a
// pod for which no node passes has one. Every node that might help is tried.
#pragma once

#include "oracle/default/default_profile.h"
#include "oracle/preemption.h"

namespace oracle::defaults {

struct PreemptionAnswer {
  Status status;  // Success: the two below are set
  std::string nominated_node;
  std::vector<std::string> victims;               // namespace/name, most important first
  std::map<std::string, NodeVictims> candidates;  // every node that was tried, as long as the facts
};

// `before`: what schedule() said of the pod over the same facts, without a best node.
PreemptionAnswer preempt(const DefaultProfile& profile, const Facts& facts, const Pod& pod,
                         const ProfileAnswer& before);

}  // namespace oracle::defaults
