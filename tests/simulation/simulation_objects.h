// Nodes, pods, quotas and runs of simulations, for their tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulation/input/simulation_input.h"
#include "simulation/simulation.h"
#include "tests/support/objects.h"
#include "workloads/openb.h"

namespace headroom::simulation_test {

inline constexpr std::int64_t kSecondUs = 1'000'000;

inline Node node(const std::string& name, std::int64_t cpu_milli) {
  return node_of(name, cpu_and_memory(cpu_milli, std::int64_t{8} << 30));
}

inline Pod pod(std::uint32_t index, std::int64_t cpu_milli) {
  return pod_of("default", "pod-" + std::to_string(index), millicores(cpu_milli),
                {.limits = millicores(2 * cpu_milli), .phase = "Pending"});
}

// One node of four cores; each pod takes three.
inline SimulationInput one_node(std::vector<Arrival> arrivals) {
  SimulationInput input;
  input.nodes = {node("n1", 4000)};
  input.arrivals = std::move(arrivals);
  input.make_pod = [](std::uint32_t index) { return pod(index, 3000); };
  return input;
}

inline SimulationReport run(const SimulationInput& input, SimulationOptions options = {}) {
  options.validate = true;
  Result<SimulationReport> report = simulate(input, options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? std::move(*report) : SimulationReport{};
}

inline ResourceList gpus_of(std::int64_t count) {
  return {{kGpuResource, Quantity::from_value(count)}};
}

inline ElasticQuota gpu_elastic_quota(const std::string& user, std::int64_t min, std::int64_t max) {
  return elastic_quota(user, gpus_of(min), gpus_of(max));
}

inline Node gpu_node(const std::string& name, std::int64_t gpus) {
  ResourceList allocatable = cores(64);
  allocatable.emplace_back(kGpuResource, Quantity::from_value(gpus));
  return node_of(name, std::move(allocatable));
}

inline Pod gpu_pod(const std::string& user, const std::string& name, std::int64_t gpus,
                   std::int32_t priority = 0) {
  return pod_of(user, name, gpus_of(gpus),
                {.limits = gpus_of(gpus),
                 .priority = priority,
                 .phase = "Pending",
                 .uid = pod_key(user, name)});
}

}  // namespace headroom::simulation_test
