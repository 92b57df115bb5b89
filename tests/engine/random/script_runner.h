// Scripts of a random cluster: steps on the oracle and on an engine in every configuration, which
// all have to agree after each of them. A script that fails is made as short as it can be.
//
// A step is an event of RandomCluster or a question: {"op": "schedule", "pod"} compares every
// answer about the pod; {"op": "preempt", "pod"} follows the engine's preemption: the victims go
// and the pod is reserved; {"op": "evaluate" or "place", "pods"}; {"op": "as_if", "pod",
// "node", "without", "with"} asks one node, if it is known; {"op": "check", "all"} compares
// the state, and validates some engines in their turn, or all. {"op": "fork", "pods", "look"},
// "rollback" and "commit" nest; without a fork the latter two do nothing. After a rollback the pods
// are asked about again, and where `look` is true every answer is what it was before. {"op":
// "save", "but"} replaces each engine, but every third from that one on, by what is loaded of its
// state file, and does nothing while a fork is open.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/engine/random/random_cluster.h"
#include "tests/engine/random/script.h"

namespace headroom {

std::optional<ScriptFailure> run_script(const RandomProfile& random, const nlohmann::json& script);

// For a script that fails: the steps that are left when as many as possible are taken out, the
// profile, and what is wrong.
std::string failure_report(const RandomProfile& random, nlohmann::json script);

}  // namespace headroom
