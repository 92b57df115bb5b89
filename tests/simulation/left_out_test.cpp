// What a simulation leaves out, and what its pods ask for that no plugin decides.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/text/not_considered_text.h"
#include "tests/simulation/simulation_objects.h"

namespace headroom::simulation_test {
namespace {

std::string counted(const SimulationReport& report) {
  std::string text;
  for (const NotConsideredReport& at : report.not_considered) {
    text += std::string(to_string(at.what)) + ": " + std::to_string(at.pods) + " and " +
            std::to_string(at.pods_there) + " there; ";
  }
  return text;
}

TEST(SimulationLeavesOut, PodsWithGatesAndOfOtherSchedulersUnlessAsked) {
  SimulationInput input = one_node({});
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 5; ++p) pods.push_back(pod(p, 100));
  pods[0].not_considered.add(NotConsidered::kSchedulingGates);
  pods[0].scheduler_name = "another";
  pods[1].scheduler_name = "another";
  pods[2].scheduler_name = "default-scheduler";
  pods[3].not_considered.add(NotConsidered::kSchedulingGates);
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    input.arrivals.push_back({.time_us = kSecondUs * (p + 1), .pod = p});
  }
  input.make_pod = [&](std::uint32_t index) { return pods[index]; };
  SimulationReport report = run(input);
  EXPECT_EQ(2u, report.placed);
  EXPECT_EQ(0u, report.failed);
  EXPECT_EQ(2u, report.left_out_gated);
  EXPECT_EQ(1u, report.left_out_of_other_schedulers);
  EXPECT_EQ("", counted(report));

  SimulationOptions options;
  options.all_pods = true;
  report = run(input, options);
  EXPECT_EQ(5u, report.placed);
  EXPECT_EQ(0u, report.left_out_gated + report.left_out_of_other_schedulers);
  EXPECT_EQ("another scheduler's name: 2 and 0 there; ", counted(report));

  // A pod that names none is the profile's, whatever that is called.
  options.all_pods = false;
  options.profile.scheduler_name = "another";
  report = run(input, options);
  EXPECT_EQ(2u, report.placed);
  EXPECT_EQ(2u, report.left_out_gated);
  EXPECT_EQ(1u, report.left_out_of_other_schedulers);
}

TEST(SimulationLeavesOut, WhatPodsAskForIsCountedOnce) {
  SimulationInput input = one_node({});
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 4; ++p) pods.push_back(pod(p, 1500));
  for (std::size_t p = 0; p < 3; ++p) {
    pods[p].not_considered.add(NotConsidered::kRequiredPodAntiAffinity);
  }
  pods[3].not_considered.add(NotConsidered::kVolumes);
  input.make_pod = [&](std::uint32_t index) { return pods[index]; };
  Pod there = pod(9, 100);
  there.node_name = "n1";
  there.not_considered.add(NotConsidered::kRequiredPodAntiAffinity);
  there.not_considered.add(NotConsidered::kVolumes);
  Pod ended = there;
  ended.name = ended.uid = "ended";
  ended.phase = "Succeeded";
  input.pods = {there, ended};
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    input.arrivals.push_back({.time_us = kSecondUs, .pod = p});
  }
  // Victims that come back are counted once, too.
  pods[3].priority = 0;
  pods[0].priority = pods[1].priority = pods[2].priority = 5;
  SimulationOptions options;
  options.preemption = true;
  std::erase(options.profile.filters, PluginId::kInterPodAffinity);
  std::erase(options.profile.filters, PluginId::kNodeVolumeLimits);
  const SimulationReport report = run(input, options);
  EXPECT_EQ(2u, report.placed);
  EXPECT_EQ(
      "required pod anti-affinity: 3 and 1 there; "
      "volumes that not every node can attach: 1 and 0 there; ",
      counted(report));
  EXPECT_EQ(1u, pods_there(input));
}

TEST(SimulationLeavesOut, InSentences) {
  EXPECT_EQ("5 pods ask for required pod anti-affinity, which was not considered",
            not_considered_text(NotConsidered::kRequiredPodAntiAffinity, 5));
  EXPECT_EQ("1 pod that was there before asks for required pod affinity, which was not considered",
            not_considered_text(NotConsidered::kRequiredPodAffinity, 1, true));
  EXPECT_EQ("2,000 pods do not tolerate PreferNoSchedule taints of nodes, which was not considered",
            not_considered_text(NotConsidered::kPreferNoScheduleTaints, 2000));
  EXPECT_EQ("1 pod names another scheduler, which was not considered",
            not_considered_text(NotConsidered::kSchedulerName, 1));
  EXPECT_EQ("2 pods have scheduling gates, which was not considered",
            not_considered_text(NotConsidered::kSchedulingGates, 2));
}

// No pod that is being deleted has a place; those at gates have one where all pods are placed.
TEST(SimulationLeavesOut, WhatIsDeletedAndWhatWaitsAtGates) {
  std::vector<Pod> pods(3, pod(0, 100));
  for (std::uint32_t p = 0; p < pods.size(); ++p) pods[p].name = pods[p].uid = std::to_string(p);
  pods[1].deleting = true;
  pods[2].scheduling_gates = {"g"};
  SimulationInput input = one_node({});
  input.make_pod = [&](std::uint32_t p) { return pods[p]; };
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    input.arrivals.push_back({.time_us = kSecondUs, .pod = p});
  }
  SimulationOptions options;
  SimulationReport report = run(input, options);
  EXPECT_EQ(report.placed, 1u);
  EXPECT_EQ(report.left_out_deleting, 1u);
  EXPECT_EQ(report.left_out_gated, 1u);
  options.all_pods = true;
  report = run(input, options);
  EXPECT_EQ(report.placed, 2u);
  EXPECT_EQ(report.left_out_deleting, 1u);
  EXPECT_EQ(report.left_out_gated, 0u);
}

}  // namespace
}  // namespace headroom::simulation_test
