// What a simulation begins with: the openb trace, a generated cluster, or what kubectl printed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "objects/error.h"
#include "objects/object_lists.h"
#include "simulation/input/dump.h"

namespace headroom {

class ClusterGenerator;

inline constexpr std::int64_t kNeverUs = std::numeric_limits<std::int64_t>::max();

struct Arrival {
  std::int64_t time_us = 0;
  std::int64_t departure_us = kNeverUs;
  std::uint32_t pod = 0;  // what SimulationInput::make_pod is asked for
};

// The lists are what is there when it begins: the pods are where they are, or have ended; the
// CapacityQuotas are for the autoscaler, before its own.
struct SimulationInput : ObjectLists {
  std::string title;               // "the openb trace"
  std::vector<std::string> notes;  // what in it is drawn from the seed; a sentence each
  std::vector<InputWarning> warnings;
  std::vector<Arrival> arrivals;  // ordered by time
  std::function<Pod(std::uint32_t)> make_pod;
  std::int64_t start_us = 0;
};

// Pods that are on nodes when it begins; the others have ended.
std::uint64_t pods_there(const SimulationInput& input);

// Tells the engine the time and all objects but pods and CapacityQuotas, which are an autoscaler's.
// Errors: what it refuses, with the object's name.
Result<void> load_objects(Engine& engine, const SimulationInput& input);

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
// What the generator's visit_quotas() visits, for simulations of a generated cluster.
void add_quotas(SimulationInput& input, const ClusterGenerator& generator);

// The cluster's pods that have a node stay there, the others arrive at the start; those of `extra`
// arrive when they were created, unless they have ended, which is warned of. kInvalid: no node, or
// `extra` has more than pods; kConflict: a pod is in both.
Result<SimulationInput> dump_input(std::string title, Dump cluster, Dump extra);

}  // namespace headroom
