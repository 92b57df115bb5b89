// Nodes made of an autoscaler's templates, and engines that say what fits on them.
//
// Thread safety: functions. Costs are those of the engine's calls.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "objects/objects.h"

namespace headroom {

// A node of the template, with this name and hostname.
Node node_of(const Node& node_template, const std::string& name);

// An engine that decides what fits under the profile, and nothing else: without scores all nodes
// are equal, and the first row wins. Errors: what Engine::create() and upsert() refuse.
Result<Engine> make_judge(Profile profile, std::span<const ReferredObject> referred_objects);

// The judge's first node with room; empty: none has any. Errors: what it refuses.
Result<std::string> first_fit(Engine& judge, const Pod& pod);

}  // namespace headroom
