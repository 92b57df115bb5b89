// The facts of a recorded case, as events of an engine, and what every answer of it must hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "tools/conformance/case.h"

namespace headroom {

// The object as the reader gives it, into the engine. `at` names it in errors.
Result<void> apply_object(Engine& engine, const nlohmann::json& object, std::string_view at);
// By kind and metadata. kUnsupported: of a kind that no engine keeps.
Result<void> remove_object(Engine& engine, const nlohmann::json& object);

// What evaluate() answers must agree with what every node says.
std::optional<ConformanceDifference> evaluate_difference(Engine& engine, const Pod& pod,
                                                         const std::vector<NodeDetail>& details);

}  // namespace headroom
