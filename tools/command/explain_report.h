// What `headroom explain` says: one decision, and nodes with every filter and score behind it; as
// text for a person, who can redo each line on paper, or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "objects/error.h"
#include "objects/objects.h"
#include "simulation/input/dump.h"

namespace headroom {

inline constexpr std::uint32_t kExplainedCandidates = 5;

struct ExplainedNode {
  std::string node;
  std::string why;  // why this node is explained: "the winner", a reason for rejecting; or empty
  Explanation explanation;
};

struct ExplainReport {
  std::string pod;           // "default/web-1"
  std::string present_node;  // where the pod is in the facts and was not counted; or empty
  std::int64_t now_us = 0;
  Profile profile;
  std::optional<Decision> decision;     // absent when one node was asked for
  std::vector<std::string> candidates;  // the names of the decision's candidates
  std::vector<ExplainedNode> nodes;
  // For a pod that no node takes, where the profile has CapacityScheduling: who would have to go,
  // and every pod of the node that was chosen.
  std::optional<PostFilter> post_filter;
  std::string nominated_node;
  std::vector<PodVerdict> verdicts;
  std::vector<InputWarning> warnings;
  NotConsideredSet not_considered;  // what the pod asks for, or nodes say, beyond all this
};

// Takes `pod` out of the engine, as if it were to be scheduled anew, and explains it on `node`; or,
// without one, explains the decision, its winner, for every reason one node that gave it, and where
// no node takes the pod, whom it could preempt.
Result<ExplainReport> explain_pod(Engine& engine, Pod pod, const std::optional<std::string>& node);

std::string explain_text(const ExplainReport& report);
std::string explain_json(const ExplainReport& report);

}  // namespace headroom
