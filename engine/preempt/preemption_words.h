// What a preemption says to people: of a pod that has to go, of a node that was looked at, of all
// nodes, in kube-scheduler's words and, where there are none, in ours.
//
// It decides nothing: everything here follows from a preemptor and from a dry run that was made.
// Pure functions, but for the dry run that explain_victims() makes. Thread safety: as the
// cluster's. Cost: that of the texts; explain_victims() the pods of the node, several times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/answers.h"
#include "engine/decide/evaluator.h"
#include "engine/preempt/dry_run.h"

namespace headroom {

// As answers show it. The pod counts on a row.
Victim victim_of(const Cluster& cluster, PodId id);

// framework.FitError: "0/3 nodes are available: 1 reason, 2 other reason."
std::string fit_error(std::uint32_t nodes, const std::map<std::string, std::uint32_t>& reasons);

// The row, of which `dry_run` came to `outcome`. `detail`: what its filters said before anybody
// went, where no victim changes that; else empty.
NodeVictims describe_node(const Evaluator& evaluator, const Preemptor& preemptor, const Pod& pod,
                          std::uint32_t row, DryRunOutcome outcome, const DryRun& dry_run,
                          NodeDetail detail);

// Each pod of the row, most important first: whether it has to go, and why or why not.
std::vector<PodVerdict> explain_victims(const Preemptor& preemptor, std::uint32_t row);

}  // namespace headroom
