// What a simulation begins with: the openb trace, a generated cluster, or what kubectl printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "objects/error.h"
#include "simulation/dump.h"
#include "simulation/simulation.h"

namespace headroom {

inline constexpr std::uint32_t kSimulatedNodesMax = 1'000'000;
inline constexpr std::uint32_t kSimulatedPodsMax = 50'000'000;
inline constexpr std::uint32_t kSimulatedElasticQuotasMax = 10'000;
inline constexpr std::uint32_t kRepeatMax = 1000;
inline constexpr std::uint32_t kPodsPerGeneratedNode = 4;

// The caller keeps to the limits above.
struct TraceInputOptions {
  std::uint32_t repeat = 1;            // played so many times, one after another
  std::optional<std::uint32_t> nodes;  // the first ones; nullopt: all
  std::uint64_t seed = 1;
};
SimulationInput trace_input(const TraceInputOptions& options);

struct GeneratedInputOptions {
  std::uint32_t nodes = 1;
  std::uint32_t pods = 0;
  std::uint32_t quotas = 0;
  std::uint64_t seed = 1;
};
SimulationInput generated_input(const GeneratedInputOptions& options);

// The cluster's pods that have a node stay there, the others arrive at the start; `pods` arrive
// when they were created. kInvalid: no node, or `pods` has more than pods; kConflict: a pod is in
// both.
Result<SimulationInput> dump_input(std::string title, Dump cluster, Dump extra);

}  // namespace headroom
