// The simulator's rules: order, departures, failures, peaks, simulated metrics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "objects/reading/object_reader.h"
#include "simulation/figures/cluster_usage.h"
#include "tests/simulation/simulation_objects.h"

namespace headroom::simulation_test {
namespace {

// Of the priorities given, the first two nominated to n1 or to nothing.
SimulationInput with_nominated(std::int32_t nominated_priority, std::int64_t nominated_milli,
                               const std::string& node_name) {
  SimulationInput input = one_node({{.pod = 0}, {.pod = 1}});
  input.make_pod = [=](std::uint32_t index) {
    Pod its = pod(index, index == 0 ? 2000 : nominated_milli);
    its.priority = index == 0 ? 5 : nominated_priority;
    if (index == 1) its.nominated_node_name = node_name;
    return its;
  };
  return input;
}

std::string decisions(const SimulationInput& input) {
  std::string lines;
  SimulationOptions options;
  options.on_decision = [&lines](const std::string& line) {
    const auto text = nlohmann::json::parse(line);
    lines += text.at("pod").get<std::string>() + " on " + text.at("node").dump() + "\n";
  };
  run(input, options);
  return lines;
}

// pod-0 comes first; of equal priority pod-1 has room on n1 for certain, though it needs all of it.
TEST(Simulation, WhoIsNominatedKeepsItsRoomUntilItsTurn) {
  EXPECT_EQ(decisions(with_nominated(5, 3000, "")),
            "default/pod-0 on \"n1\"\ndefault/pod-1 on null\n");
  EXPECT_EQ(decisions(with_nominated(5, 3000, "n1")),
            "default/pod-0 on null\ndefault/pod-1 on \"n1\"\n");
  // Not against who is more important.
  EXPECT_EQ(decisions(with_nominated(1, 3000, "n1")),
            "default/pod-0 on \"n1\"\ndefault/pod-1 on null\n");
  // A node that is not there is nobody's.
  EXPECT_EQ(decisions(with_nominated(5, 3000, "gone")),
            "default/pod-0 on \"n1\"\ndefault/pod-1 on null\n");
}

TEST(Simulation, WhoIsNominatedGoesThereThoughAnotherNodeIsBetter) {
  SimulationInput input = with_nominated(5, 1000, "n1");
  input.nodes.push_back(node("n2", 64'000));
  EXPECT_EQ(decisions(input), "default/pod-0 on \"n2\"\ndefault/pod-1 on \"n1\"\n");
  input.make_pod = [](std::uint32_t index) { return pod(index, 1000); };
  EXPECT_EQ(decisions(input), "default/pod-0 on \"n2\"\ndefault/pod-1 on \"n2\"\n");
}

// More important, so that its turn is first; it needs more than there is, and keeps nothing of it.
TEST(Simulation, WhoIsNominatedInVainKeepsNoRoom) {
  EXPECT_EQ(decisions(with_nominated(9, 5000, "n1")),
            "default/pod-1 on null\ndefault/pod-0 on \"n1\"\n");
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

// What nodes and pods refer to reaches the engine before they do, and of one name the later counts.
TEST(Simulation, WhatPodsReferTo) {
  const auto file = [](const std::string& text) {
    Result<ObjectFile> read = read_objects(text, "test");
    EXPECT_TRUE(read) << read.error().message;
    std::vector<ObjectFile> files;
    files.push_back(std::move(*read));
    return make_dump(std::move(files));
  };
  const std::string service =
      R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": )";
  const Dump cluster = file(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
              {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s"}})" +
                            service + R"({"a": "1"}}})" + service + R"({"a": "2"}}})");
  EXPECT_TRUE(cluster.other_kinds.empty());
  const Service latest{"default", "s", StringMap{{"a", "2"}}};
  EXPECT_EQ(cluster.referred_objects, (std::vector<ReferredObject>{Namespace{"s", {}}, latest}));
  ASSERT_EQ(cluster.warnings.size(), 1u);
  EXPECT_EQ(cluster.warnings.front().text(),
            "1 objects that come twice, of which the last counts: Service default/s");
  const auto belonging = [](const std::string& name, const char* spec) {
    return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + R"(",
      "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u",
                           "controller": true}]}, "spec": {"containers": [{"name": "c"}])" +
           spec + "}}";
  };
  const std::string node = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})",
                    set = R"({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": )"
                          R"({"name": "other"}})",
                    pods = belonging("p1", "") + belonging("p2", R"(, "volumes": [{"name": "v",
                             "persistentVolumeClaim": {"claimName": "c"}}])");
  const auto warns = [](const Dump& dump) {
    return dump.warnings.empty() ? "" : dump.warnings.front().text();
  };
  const std::string what = "pods that refer to a kind of which there is no object: ";
  EXPECT_EQ(warns(file(node + pods)),
            "2 " + what + "default/p1 to ReplicaSet, default/p2 to ReplicaSet");
  EXPECT_EQ(warns(file(node + set + pods)), "1 " + what + "default/p2 to PersistentVolumeClaim");
  EXPECT_EQ(warns(file(pods)), "") << "pods alone are for a cluster that has the rest";
  Result<SimulationInput> input = dump_input("test", cluster, file(service + R"({"a": "3"}}})"));
  ASSERT_TRUE(input) << input.error().message;
  const Service with_pods{"default", "s", StringMap{{"a", "3"}}};
  EXPECT_EQ(input->referred_objects,
            (std::vector<ReferredObject>{Namespace{"s", {}}, latest, with_pods}));

  run(*input);
  input->referred_objects.push_back(CsiDriver{});
  const Result<SimulationReport> refused = simulate(*input, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "CSIDriver : CSIDriver: metadata.name is empty");
}

TEST(Simulation, WarnsOfPodsThatHaveEndedAndDoNotArrive) {
  Dump cluster, trace;
  cluster.nodes = {node("n1", 4000)};
  for (std::uint32_t p = 0; p < 14; ++p) {
    trace.pods.push_back(pod(p, 1));
    if (p > 2) trace.pods.back().phase = p % 2 == 0 ? "Succeeded" : "Failed";
  }
  const Result<SimulationInput> input = dump_input("test", cluster, trace);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->arrivals.size(), 3u);
  ASSERT_EQ(input->warnings.size(), 1u);
  EXPECT_EQ(input->warnings[0].text(),
            "11 pods that have ended, which do not arrive: default/pod-3, default/pod-4, "
            "default/pod-5, default/pod-6, default/pod-7, default/pod-8, default/pod-9, "
            "default/pod-10, default/pod-11, default/pod-12, ...");
}

// Of a class whose claims wait for their first consumer.
SimulationInput with_claims(const std::string& provisioner) {
  SimulationInput input = one_node({{.time_us = 1, .pod = 0}, {.time_us = 2, .pod = 1}});
  input.nodes.push_back(node("n2", 4000));
  for (Node& its : input.nodes) its.labels = {{"topology.kubernetes.io/zone", "zone-" + its.name}};
  StorageClass fast;
  fast.name = "fast";
  fast.provisioner = provisioner;
  fast.waits_for_first_consumer = true;
  input.referred_objects = {fast};
  return input;
}

ReferredObject claim(const std::string& name) {
  PersistentVolumeClaim its;
  its.namespace_name = "default";
  its.name = its.uid = name;
  its.storage_class = "fast";
  its.volume_mode = "Filesystem";
  return its;
}

Pod with_claim(std::uint32_t index, std::int64_t cpu_milli, const std::string& claim) {
  Pod its = pod(index, cpu_milli);
  Volume& volume = its.volumes.emplace_back();
  volume.name = "data";
  volume.claim = claim;
  return its;
}

TEST(Simulation, AVolumeIsOfTheFirstClaimThatTakesIt) {
  SimulationInput input = with_claims("kubernetes.io/no-provisioner");
  PersistentVolume volume;
  volume.name = "only";
  volume.storage_class = "fast";
  volume.volume_mode = "Filesystem";
  volume.available = true;
  input.referred_objects.insert(input.referred_objects.end(), {volume, claim("0"), claim("1")});
  input.make_pod = [](std::uint32_t index) {
    return with_claim(index, 100, std::to_string(index));
  };
  const SimulationReport report = run(input);
  EXPECT_EQ(1u, report.placed);
  ASSERT_EQ(1u, report.failures.size());
  EXPECT_EQ("node(s) didn't find available persistent volumes to bind", report.failures[0].reason);
}

TEST(Simulation, AVolumeThatIsMadeStaysInItsZone) {
  SimulationInput input = with_claims("disk.example.com");
  input.referred_objects.push_back(claim("both"));
  input.make_pod = [](std::uint32_t index) { return with_claim(index, 3000, "both"); };
  const SimulationReport report = run(input);
  EXPECT_EQ(1u, report.placed);
  ASSERT_EQ(1u, report.failed);
  // No room where the volume is, and no volume where there is room.
  std::vector<std::string> reasons;
  for (const auto& failure : report.failures) reasons.push_back(failure.reason);
  EXPECT_NE(std::find(reasons.begin(), reasons.end(),
                      "node(s) didn't match PersistentVolume's node affinity"),
            reasons.end());
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

// One meaning of limits: the larger of limit and request of each container, as LimitAware adds them
// up, and not of the pod's two sums.
TEST(Simulation, LimitsAreThoseOfTheEngine) {
  const auto container = [](std::int64_t request, std::int64_t limit, bool sidecar = false) {
    Container made;
    if (request > 0) made.requests = {{"cpu", Quantity::from_milli(request)}};
    if (limit > 0) made.limits = {{"cpu", Quantity::from_milli(limit)}};
    made.restart_always = sidecar;
    return made;
  };
  std::vector<Pod> pods(5, pod(0, 100));
  for (std::size_t p = 0; p < pods.size(); ++p) {
    pods[p].name = pods[p].uid = "pod-" + std::to_string(p);
  }
  pods[1].containers = {container(100, 500), container(300, 0)};  // 800: not max(500, 400)
  pods[2].containers = {container(0, 200)};
  pods[2].init_containers = {container(50, 0, true), container(700, 100)};
  pods[3].overhead = {{"cpu", Quantity::from_milli(30)}};
  pods[4].pod_requests = {{"cpu", Quantity::from_milli(900)}};

  SimulationInput input = one_node({});
  input.nodes.push_back(node("n2", 4000));
  Profile profile;
  profile.filters = {PluginId::kLimitAware};
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  ASSERT_TRUE(engine);
  for (const Node& its : input.nodes) ASSERT_TRUE(engine->upsert(its));
  ClusterUsage usage(input.nodes);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    const std::string name = p % 2 == 0 ? "n1" : "n2";
    ASSERT_TRUE(engine->assume(pods[p], name));
    usage.add(usage.holding(pods[p], name));
    std::int64_t engines = 0;
    const NodeFigures figures = engine->node_figures("cpu").value();
    for (const std::int64_t limits : figures.limits) engines += limits;
    EXPECT_EQ(engines, usage.peaks().at(0).limits) << pods[p].name;
  }
  EXPECT_EQ(200 + 800 + 750 + 230 + 900, usage.peaks().at(0).limits);
}

// kube-scheduler sorts by priority under every profile.
TEST(Simulation, SameArrivalsSameOrderUnderEveryProfile) {
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 6; ++p) {
    pods.push_back(pod(p, 1500));
    pods.back().priority = static_cast<std::int32_t>(p % 3);
  }
  SimulationInput input = one_node({});
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    input.arrivals.push_back({.time_us = kSecondUs, .pod = p});
  }
  input.make_pod = [&](std::uint32_t index) { return pods[index]; };
  const auto order = [&](bool capacity_scheduling, bool has_class) {
    std::string placed;
    SimulationOptions options;
    options.profile.capacity_scheduling = capacity_scheduling;
    options.preemption = capacity_scheduling ? std::optional(false) : std::nullopt;
    options.on_decision = [&](const std::string& line) {
      const auto decision = nlohmann::json::parse(line);
      placed += decision.at("pod").get<std::string>().substr(12) +
                (decision.at("node").is_null() ? "- " : "+ ");
    };
    if (has_class) {
      input.priority_classes = {
          {.name = "c", .value = 7, .global_default = false, .preemption_policy = {}}};
    }
    run(input, options);
    return placed;
  };
  const std::string expected = "2+ 5+ 1- 4- 0- 3- ";
  EXPECT_EQ(expected, order(true, false));
  EXPECT_EQ(expected, order(false, false));
  EXPECT_EQ(expected, order(true, true));
  EXPECT_EQ(expected, order(false, true));
}

TEST(Simulation, PreemptionNeedsItsPlugin) {
  SimulationOptions options;
  options.profile.capacity_scheduling = false;
  options.profile.scheduler_name = "packer";
  options.preemption = true;
  const Result<SimulationReport> report = simulate(one_node({}), options);
  ASSERT_FALSE(report);
  EXPECT_EQ(ErrorCode::kUnsupported, report.error().code);
  EXPECT_EQ("preemption: profile packer does not enable CapacityScheduling",
            report.error().message);
  options.preemption = false;
  EXPECT_TRUE(simulate(one_node({}), options));
}

// What rejects a pod before any node is looked at is one reason, whatever the object is called.
TEST(SimulationFailures, ClaimsThatAreMissingAreOneReason) {
  SimulationInput input = one_node({});
  input.make_pod = [](std::uint32_t index) {
    return with_claim(index, 100, "data-" + std::to_string(index));
  };
  for (std::uint32_t p = 0; p < 3; ++p) input.arrivals.push_back({.time_us = kSecondUs, .pod = p});
  const SimulationReport report = run(input, SimulationOptions());
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].reason, "persistentvolumeclaim not found");
  EXPECT_EQ(report.failures[0].pods_mainly, 3u);
}

// A pod that had a place and pends again counts by what it asks for, whatever its node said of it.
TEST(SimulationArrivals, ForgetWhatTheirNodesSaid) {
  SimulationInput input =
      one_node({{.time_us = kSecondUs, .pod = 0}, {.time_us = kSecondUs, .pod = 1}});
  input.make_pod = [](std::uint32_t index) {
    Pod resized = pod(index, 1000);
    resized.phase = "Running";
    resized.actuated_requests = {{"cpu", Quantity::from_value(4)}};
    resized.allocated_requests = {{"cpu", Quantity::from_value(4)}};
    resized.containers[0].actuated_requests = {{"cpu", Quantity::from_value(4)}};
    resized.containers[0].allocated_requests = {{"cpu", Quantity::from_value(4)}};
    return resized;
  };
  SimulationOptions options;
  options.profile = Profile::kube_scheduler();
  EXPECT_EQ(run(input, options).placed, 2u);
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
  input.pods = {present};
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
}  // namespace headroom::simulation_test
