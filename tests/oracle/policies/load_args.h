// LoadAwareScheduling's arguments with their defaults, and a node's own thresholds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "oracle/cycle.h"

namespace oracle {

using PerResource = std::map<std::string, std::int64_t>;

// Aggregated usage to look at: a type ("p95") and a duration, 0 for the longest that is reported.
struct Aggregation {
  std::string type;
  Int128 duration = 0;
};

// Which thresholds the filter compares.
struct Thresholds {
  PerResource usage, prod;
  PerResource aggregated;
  std::optional<Aggregation> aggregation;  // of the filter; nullopt: plain usage
};

struct LoadArgs {
  bool filter_expired = true;
  bool enable_when_expired = false;
  std::int64_t expiration_seconds = 180;
  PerResource weights;
  std::int64_t dominant_weight = 0;
  PerResource factors;
  Thresholds thresholds;
  std::optional<Aggregation> score_aggregation;
  bool score_by_prod_usage = false;
  bool prod_includes_system = false;
  bool allow_custom_estimation = false;
  std::int64_t seconds_after_scheduled = 0;
  std::int64_t seconds_after_initialized = 0;
  std::set<std::string> resources;  // every resource that is looked at, sorted
};

LoadArgs read_load_args(const Cycle& cycle);

// The arguments' thresholds with the sections of the node's annotation that are not empty.
Thresholds node_thresholds(const Cycle& cycle, const LoadArgs& args, const Json& node);

// A JSON map of whole numbers, read as Go reads map[string]int64; nullopt when it does not fit.
std::optional<PerResource> read_integers(const Json& map);

}  // namespace oracle
