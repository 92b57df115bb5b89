// The clusters, pods and profile that the rows measure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"

namespace headroom {

enum class ClusterKind {
  // Generated, calibrated to the openb trace, pods on nearly every node (cluster_generator.h).
  kRandom,
  // Identical nodes. The fuller of requests and usage, the emptier of limits.
  kAntiCorrelated,
  // Identical nodes with one pod each, limits between 20 and 50 percent of what LimitAware allows.
  kSpread,
  // Identical nodes without pods, with metrics of no usage: every fraction is exact.
  kEmpty,
};

struct ClusterSpec {
  ClusterKind kind = ClusterKind::kRandom;
  std::uint32_t nodes = 0;
  std::uint64_t seed = 1;
};

// One of columns alone: filters of the node, NodeResourcesFit, LimitAware and LoadAwareScheduling,
// and the scores of these and of balance, of weight 1; a limit-to-allocatable ratio on every node
// (cpu 150 %, memory 120 %), so that LimitAware's filter has something to do.
Profile bench_profile();
// The same with 8 resources asked for and scored by every plugin that can, and the clusters' nodes
// and pods that have them.
Profile profile_of_8();
void add_8_resources(Node& node);
void add_8_resources(Pod& pod);

// For rows that measure what one thread takes.
inline constexpr EngineOptions kOneThread{.threads = 1};

// Nodes, then pods, then metrics.
void for_each_object(const ClusterSpec& spec, const std::function<void(Object&)>& use);
Engine make_engine(const ClusterSpec& spec, EngineOptions options,
                   Profile profile = bench_profile());

// Pods to decide for, no two of one shape. All tolerate GPU nodes.
Pod pending_pod(std::uint32_t index);
// A pod of one core that comes and goes; all are of one shape.
Pod passing_pod(std::uint32_t index);
// On a kSpread cluster: a pod whose limits make any node the fullest; `step` in [0, kSteps).
inline constexpr std::uint32_t kSteps = 8;
Pod extreme_pod(std::uint32_t step);

}  // namespace headroom
