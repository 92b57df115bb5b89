// The policies as plain functions of one node: filters, raw scores and normalisation.
#pragma once

#include <map>
#include <string>

#include "oracle/cycle.h"

namespace oracle {

using RawScores = std::map<std::string, std::int64_t>;  // by node

// node_filters.cpp
Status filter_node_unschedulable(const Cycle& cycle, const NodeView& view);
Status filter_node_name(const Cycle& cycle, const NodeView& view);
Status filter_taint_toleration(const Cycle& cycle, const NodeView& view);
Status filter_node_affinity(const Cycle& cycle, const NodeView& view);
// NodeAffinity's PreFilter: where every required term names nodes, this is none of them.
Status reject_by_node_names(const Json& pod, const NodeView& view);

// node_ports.cpp
Status filter_node_ports(const Cycle& cycle, const NodeView& view);

// node_resources.cpp
Status filter_node_resources_fit(const Cycle& cycle, const NodeView& view);
Score score_node_resources_fit(const Cycle& cycle, const NodeView& view);
Code pre_score_balanced_allocation(const Cycle& cycle);
Score score_balanced_allocation(const Cycle& cycle, const NodeView& view);

// limit_aware.cpp
Status filter_limit_aware(const Cycle& cycle, const NodeView& view);
Score score_limit_aware(const Cycle& cycle, const NodeView& view);

// resource_limit_aware.cpp
Score score_resource_limit_aware(const Cycle& cycle, const NodeView& view);

// load_aware.cpp
Status filter_load_aware(const Cycle& cycle, const NodeView& view);
Score score_load_aware(const Cycle& cycle, const NodeView& view);

// limit_score.cpp: min-max over the scored nodes; Upstream computes in double, as #1486 does.
RawScores normalize_min_max(Mode mode, const RawScores& raw);

}  // namespace oracle
