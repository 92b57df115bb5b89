// One recorded conformance case, run through the engine as any embedding program would use it.
//
// The profile has only the case's plugin. A case of mode Upstream scores every node, feasible or
// not, so its filter and its score run in engines of their own; a case of mode Proposal scores the
// feasible nodes and needs one. Every schedule step is also put to Engine::evaluate(), whose
// candidates must be what evaluate_all() says. CapacityQuota has no engine: capacity_quota_case.h
// and upstream_case.h run its cases, and default_profile_case.h those of kube-scheduler's default
// plugins. A plugin, step or expectation that is not known is a difference, never skipped.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/profile/profile.h"

namespace headroom {

// Something that a case expects and that came out otherwise.
struct ConformanceDifference {
  std::string field;  // "steps[2].filter.n1"
  std::string expected, got;
};

// The differences of the first step that has any; empty if the case passes.
std::vector<ConformanceDifference> run_conformance_case(const nlohmann::json& recorded);

// Of the kube-scheduler that a case was recorded from ("source": "kubernetes v1.35.6"); that of a
// profile that states none where the source is another one.
KubernetesVersion recorded_version(const nlohmann::json& recorded);

}  // namespace headroom
