// One recorded case of kube-scheduler's default plugins, alone or as the whole default profile, run
// through the engine as any embedding program would use it. The form is described in
// default-plugins.md.
//
// The profile is of mode Upstream and of the version in the case's source. What is compared of a
// schedule step, by every node: code, reasons (sorted) and, in DefaultProfile, rejectedBy; raw and
// normalised scores of one plugin; every plugin's weighted scores, the totals and the best node of
// DefaultProfile; and evaluate() against all of that. What the engine does not tell apart is not
// compared: whether a PreFilter that lets nodes pass said Success or Skip (but that it does not
// reject, that after Skip no node fails, and that of named nodes alone any pass), and
// DynamicResources, which it does not have and which scores 0 for pods without resource claims. A
// PreFilter that rejects shows as its code and reasons on every node, a PreScore that skips as a
// plugin without scores. A step, argument or expectation that is not known is a difference, never
// skipped.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "tools/conformance/case.h"

namespace headroom {

// Whether cases of that plugin are for this runner.
bool is_default_plugin_case(std::string_view plugin);

// The differences of the first step that has any; empty if the case passes. Throws
// nlohmann::json::exception for a case of another form.
std::vector<ConformanceDifference> run_default_profile_case(const nlohmann::json& recorded);

}  // namespace headroom
