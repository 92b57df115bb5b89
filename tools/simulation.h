// A simulation: pods arrive at a cluster one by one, each is placed on the best node, and leaves
// when its time ends.
//
// Rules: a pod that leaves at the moment another arrives leaves first. Pods that arrive together
// are placed in their order. A pod that fits no node is counted as failed and not tried again. Same
// input and options, same decisions and same report, except for what speed() measures.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "objects/objects.h"

namespace headroom {

inline constexpr std::int64_t kNeverUs = std::numeric_limits<std::int64_t>::max();

struct Arrival {
  std::int64_t time_us = 0;
  std::int64_t departure_us = kNeverUs;
  std::uint32_t pod = 0;  // what SimulationInput::make_pod is asked for
};

struct SimulationInput {
  std::string title;  // "the openb trace"
  std::vector<Node> nodes;
  std::vector<NodeMetric> node_metrics;
  // Pods that are where they are when the simulation begins, or that have ended.
  std::vector<Pod> present_pods;
  std::vector<Arrival> arrivals;  // ordered by time
  std::function<Pod(std::uint32_t)> make_pod;
  std::int64_t start_us = 0;
};

struct SimulationOptions {
  Profile profile = Profile::standard();
  EngineOptions engine;
  std::uint64_t seed = 1;  // of the usage that simulated metrics report
  bool departures = true;
  // Nodes report the usage of their pods this often; nullopt: they report nothing.
  std::optional<std::int64_t> metrics_every_seconds;
  bool validate = false;                                // check the engine's sums at the end
  std::function<void(const std::string&)> on_decision;  // a JSON line each; may be empty
  std::function<void(std::uint64_t)> on_progress;       // arrivals done; may be empty
};

// Sums at the moment at which each was highest.
struct ResourceReport {
  std::string name;  // cpu in thousandths, everything else whole
  std::int64_t allocatable = 0;
  std::int64_t requested = 0;  // peak of the cluster's sum of requests
  std::int64_t limits = 0;     // peak of the sum of limits; a pod's limit is at least its request
  std::string hottest_node;    // the node whose limits came highest against its allocatable
  std::int64_t hottest_limits = 0, hottest_allocatable = 0;
};

struct FailureReport {
  std::string reason;
  std::uint64_t pods_mainly = 0;  // failed pods to whom most nodes gave this reason
  std::uint64_t pods_also = 0;    // failed pods to whom some node gave it
};

struct SpeedReport {
  double seconds = 0;  // decisions, departures, clock and metrics; not input or output
  std::vector<std::int64_t> latencies_ns;  // of every decision, sorted: evaluate and assume
  // The latency that `permille` of the decisions do not exceed.
  double latency_us(std::uint32_t permille) const;
};

struct SimulationReport {
  std::uint64_t placed = 0, failed = 0, departed = 0, metric_reports = 0;
  std::vector<FailureReport> failures;  // most pods first
  std::vector<ResourceReport> resources;
  EngineStats stats;
  SpeedReport speed;
};

// Errors: what the engine refuses, with the object's name.
Result<SimulationReport> simulate(const SimulationInput& input, const SimulationOptions& options);

}  // namespace headroom
