// The simulator's rules: order, departures, failures, peaks and simulated metrics.
#include "tools/simulation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

Node node(const std::string& name, std::int64_t cpu_milli) {
  Node node;
  node.name = name;
  node.allocatable = {{"cpu", Quantity::from_milli(cpu_milli)},
                      {"memory", Quantity::from_value(std::int64_t{8} << 30)},
                      {"pods", Quantity::from_value(110)}};
  return node;
}

Pod pod(std::uint32_t index, std::int64_t cpu_milli) {
  Pod pod;
  pod.namespace_name = "default";
  pod.name = "pod-" + std::to_string(index);
  pod.uid = pod.name;
  pod.phase = "Pending";
  Container container;
  container.name = "main";
  container.requests = {{"cpu", Quantity::from_milli(cpu_milli)}};
  container.limits = {{"cpu", Quantity::from_milli(2 * cpu_milli)}};
  pod.containers = {container};
  return pod;
}

// One node of four cores; each pod takes three.
SimulationInput one_node(std::vector<Arrival> arrivals) {
  SimulationInput input;
  input.nodes = {node("n1", 4000)};
  input.arrivals = std::move(arrivals);
  input.make_pod = [](std::uint32_t index) { return pod(index, 3000); };
  return input;
}

SimulationReport run(const SimulationInput& input, SimulationOptions options = {}) {
  options.validate = true;
  Result<SimulationReport> report = simulate(input, options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? std::move(*report) : SimulationReport{};
}

TEST(Simulation, WhoLeavesMakesRoomForWhoArrivesAtThatMoment) {
  const SimulationReport report = run(one_node({
      {.time_us = 1 * kSecondUs, .departure_us = 5 * kSecondUs, .pod = 0},
      {.time_us = 5 * kSecondUs, .departure_us = 9 * kSecondUs, .pod = 1},
  }));
  EXPECT_EQ(2u, report.placed);
  EXPECT_EQ(1u, report.departed);
}

TEST(Simulation, APodThatFitsNowhereFailsAndIsNotTriedAgain) {
  std::vector<std::string> lines;
  SimulationOptions options;
  options.on_decision = [&](const std::string& line) { lines.push_back(line); };
  const SimulationReport report = run(one_node({
                                          {.time_us = 1 * kSecondUs, .pod = 0},
                                          {.time_us = 2 * kSecondUs, .pod = 1},
                                      }),
                                      options);
  EXPECT_EQ(1u, report.placed);
  EXPECT_EQ(1u, report.failed);
  ASSERT_EQ(1u, report.failures.size());
  EXPECT_EQ("Insufficient cpu", report.failures[0].reason);
  EXPECT_EQ(1u, report.failures[0].pods_mainly);
  ASSERT_EQ(2u, lines.size());
  EXPECT_EQ("n1", nlohmann::json::parse(lines[0]).at("node"));
  EXPECT_TRUE(nlohmann::json::parse(lines[1]).at("node").is_null());
  EXPECT_EQ(2u, report.speed.latencies_ns.size());
}

TEST(Simulation, WithoutDeparturesNobodyLeaves) {
  SimulationOptions options;
  options.departures = false;
  const SimulationReport report = run(one_node({
                                          {.time_us = 1, .departure_us = 2, .pod = 0},
                                          {.time_us = 3, .departure_us = 4, .pod = 1},
                                      }),
                                      options);
  EXPECT_EQ(1u, report.placed);
  EXPECT_EQ(0u, report.departed);
}

TEST(Simulation, PeaksAreOfRequestsAndLimitsTogether) {
  const SimulationReport report = run(one_node({
      {.time_us = 1, .departure_us = 2, .pod = 0},
      {.time_us = 3, .departure_us = 4, .pod = 1},
  }));
  ASSERT_EQ(2u, report.resources.size());  // cpu and pods; nobody asked for memory
  const ResourceReport& cpu = report.resources[0];
  EXPECT_EQ("cpu", cpu.name);
  EXPECT_EQ(4000, cpu.allocatable);
  EXPECT_EQ(3000, cpu.requested);
  EXPECT_EQ(6000, cpu.limits);
  EXPECT_EQ("n1", cpu.hottest_node);
  EXPECT_EQ(6000, cpu.hottest_limits);
  EXPECT_EQ("pods", report.resources[1].name);
  EXPECT_EQ(1, report.resources[1].requested);
}

TEST(Simulation, PresentPodsStayAndLeaveWhenTheirTimeEnds) {
  SimulationInput input = one_node({
      {.time_us = 5 * kSecondUs, .pod = 1},
      {.time_us = 20 * kSecondUs, .pod = 2},
  });
  Pod present = pod(0, 3000);
  present.node_name = "n1";
  present.phase = "Running";
  present.creation_us = 0;
  present.active_deadline_seconds = 10;
  input.present_pods = {present};
  const SimulationReport report = run(input);
  EXPECT_EQ(1u, report.failed);
  EXPECT_EQ(1u, report.placed);
  EXPECT_EQ(1u, report.departed);
}

// Two equal nodes; metrics make the emptier one the better.
TEST(Simulation, NodesReportTheirPodsUsage) {
  SimulationInput input;
  input.nodes = {node("n1", 64'000), node("n2", 64'000)};
  for (std::uint32_t i = 0; i < 40; ++i) {
    input.arrivals.push_back({.time_us = i * 30 * kSecondUs, .pod = i});
  }
  input.make_pod = [](std::uint32_t index) { return pod(index, 1000); };
  SimulationOptions options;
  options.metrics_every_seconds = 60;
  options.profile.scores = {{PluginId::kLoadAwareScheduling, 1}};
  std::vector<int> pods_on(2);
  options.on_decision = [&](const std::string& line) {
    ++pods_on[nlohmann::json::parse(line).at("node") == "n1" ? 0 : 1];
  };
  const SimulationReport report = run(input, options);
  EXPECT_EQ(2u * 20, report.metric_reports);
  EXPECT_EQ(40u, report.placed);
  EXPECT_GT(pods_on[0], 10);
  EXPECT_GT(pods_on[1], 10);
}

TEST(Simulation, LatenciesAreRanks) {
  SpeedReport speed;
  for (std::int64_t i = 1; i <= 200; ++i) speed.latencies_ns.push_back(i * 1000);
  EXPECT_EQ(100, speed.latency_us(500));
  EXPECT_EQ(180, speed.latency_us(900));
  EXPECT_EQ(198, speed.latency_us(990));
  EXPECT_EQ(200, speed.latency_us(1000));
}

}  // namespace
}  // namespace headroom
