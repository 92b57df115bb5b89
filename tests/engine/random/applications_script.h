// Scripts of random applications (tests/support/random_applications.h): steps on the oracle of
// kube-scheduler's default plugins and on an engine in every configuration, which all have to agree
// after each of them. A script that fails is made as short as it can be.
//
// A step is an event or a question: {"op": "schedule", "pod", "reserve"} compares every answer
// about the pod, and with `reserve` the pod takes the best node; {"op": "evaluate" or "place",
// "pods"};
// {"op": "check", "all"} compares the state, and validates some engines in their turn, or all;
// {"op": "prepare", "pod", "pieces"} begins a shape in turns; "fork", "rollback" and "commit" nest,
// and without a fork the latter two do nothing; {"op": "save", "but"} replaces each engine, but
// every third from that one on, by what is loaded of its state file, and does nothing while a fork
// is open.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/engine/random/script.h"
#include "tests/support/draws.h"

namespace headroom {

// {"version": "1.37", "args": {"PodTopologySpread": {...}, ...}}: kube-scheduler's default profile
// of that version, with these arguments.
nlohmann::json random_default_profile(Draws& draws);
nlohmann::json random_applications_script(Draws& draws, int events);

std::optional<ScriptFailure> run_applications_script(const nlohmann::json& profile,
                                                     const nlohmann::json& script);

// For a script that fails: what is wrong, the profile, and the steps that are left when as many as
// possible are taken out, a line each.
std::string applications_failure_report(const nlohmann::json& profile, nlohmann::json script);

}  // namespace headroom
