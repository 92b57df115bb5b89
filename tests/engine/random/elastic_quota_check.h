// CapacityScheduling's answers of an engine against the oracle's. What differs, as text; "" for
// nothing. All of them only look.
#pragma once

#include <string>

#include "engine/engine.h"
#include "oracle/oracle.h"

namespace headroom {

// pre_filter(), and what evaluate() and filter() make of it.
std::string pre_filter_difference(Engine& engine, const Pod& pod, const oracle::Answer& expected);

// post_filter() with every option, all nodes' outcomes included. Between equal nodes the engine
// takes the lowest row.
std::string post_filter_difference(Engine& engine, const Pod& pod, const oracle::Answer& expected);

// What every quota's namespace uses.
std::string elastic_quota_difference(const Engine& engine, const oracle::Oracle& expected);

// All of a post-filter's answer but its cost.
std::string post_filter_text(const Engine& engine, const PostFilter& answer);

}  // namespace headroom
