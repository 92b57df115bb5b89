// Whether the answers of one engine about one pod fit each other: what must follow from every
// node's.
// "" where they do, else what is wrong.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace headroom {

// A decision with an error has no scores: kube-scheduler ends such a cycle.
bool has_error(const std::vector<NodeDetail>& details);

// What a decision must be.
struct Expected {
  std::vector<const NodeDetail*> ranked;  // feasible, best first, ties by row
  std::map<std::string, std::uint32_t> reasons;
  Code code = Code::kSuccess;
};

Expected expected_of(const std::vector<NodeDetail>& details);

// Whether the decision is what `details` imply. With a seed any order of equal totals is right.
std::string decision_error(const std::vector<NodeDetail>& details, const Expected& expected,
                           const Decision& decision, std::uint32_t top_k, bool seeded);

// One node asked alone answers as among all.
std::string single_node_error(Engine& engine, const Pod& pod,
                              const std::vector<NodeDetail>& details);

// All nodes in few words say what each says in many; each verdict once. `pre_filter`: why none of
// them may have the pod.
std::string nodes_error(Engine& engine, const Pod& pod, const std::vector<NodeDetail>& details,
                        const std::vector<std::string>& pre_filter);

}  // namespace headroom
