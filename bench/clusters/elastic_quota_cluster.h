// Full clusters with quotas, for the rows about pre-filter and preemption.
#pragma once

#include <cstdint>

#include "engine/engine.h"

namespace headroom {

struct ElasticQuotaClusterSpec {
  std::uint32_t nodes = 0;
  std::uint32_t quotas = 20;
  std::uint64_t seed = 1;
  // Of 100 nodes those with pods of the one quota that uses more than its min; 0: every quota is
  // at its min, and everyone's pods are everywhere.
  std::uint32_t borrower_percent = 0;
  std::uint32_t nominated = 0;
  // As many budgets as quotas, each of half of its namespace's pods, none to spare.
  bool budgets = false;
  std::int32_t threads = 0;
};

// Identical nodes of 64 cores, each full with 20 pods of priorities 0, 100, 1000 and 10000.
Engine make_elastic_quota_engine(const ElasticQuotaClusterSpec& spec);
std::string elastic_quota_namespace(std::uint32_t quota);
// A pod that finds no room. `size` in cores; another `variant` is another shape.
Pod preemptor(std::uint32_t index, std::uint32_t quota, std::int32_t priority, std::uint32_t cores,
              std::uint32_t variant);

}  // namespace headroom
