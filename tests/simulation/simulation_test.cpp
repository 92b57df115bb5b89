// The simulator's rules: order, departures, failures, peaks, simulated metrics, quotas and
// preemption.
#include "simulation/simulation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "objects/reading/object_reader.h"
#include "simulation/figures/cluster_usage.h"
#include "simulation/input/simulation_input.h"
#include "simulation/pod_queue.h"
#include "simulation/simulated_budgets.h"
#include "simulation/text/not_considered_text.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"

namespace headroom::simulation_test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

Node node(const std::string& name, std::int64_t cpu_milli) {
  return node_of(name, cpu_and_memory(cpu_milli, std::int64_t{8} << 30));
}

Pod pod(std::uint32_t index, std::int64_t cpu_milli) {
  return pod_of("default", "pod-" + std::to_string(index), millicores(cpu_milli),
                {.limits = millicores(2 * cpu_milli), .phase = "Pending"});
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

// --- What is not considered ---

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

// --- Quotas and preemption ---

ResourceList gpus_of(std::int64_t count) { return {{kGpuResource, Quantity::from_value(count)}}; }

ElasticQuota gpu_elastic_quota(const std::string& user, std::int64_t min, std::int64_t max) {
  return elastic_quota(user, gpus_of(min), gpus_of(max));
}

Node gpu_node(const std::string& name, std::int64_t gpus) {
  ResourceList allocatable = cores(64);
  allocatable.emplace_back(kGpuResource, Quantity::from_value(gpus));
  return node_of(name, std::move(allocatable));
}

Pod gpu_pod(const std::string& user, const std::string& name, std::int64_t gpus,
            std::int32_t priority = 0) {
  return pod_of(user, name, gpus_of(gpus),
                {.limits = gpus_of(gpus),
                 .priority = priority,
                 .phase = "Pending",
                 .uid = pod_key(user, name)});
}

// Who arrives one second after the other, and what became of each: a line for every decision.
struct Story {
  SimulationInput input;
  std::vector<Pod> pods;
  std::vector<std::string> lines;
  SimulationReport report;

  void play(SimulationOptions options = {}) {
    for (std::uint32_t p = 0; p < pods.size(); ++p) {
      input.arrivals.push_back({.time_us = (p + 1) * kSecondUs, .pod = p});
    }
    input.make_pod = [this](std::uint32_t index) { return pods[index]; };
    options.on_decision = [this](const std::string& text) {
      const nlohmann::json line = nlohmann::json::parse(text);
      std::string said = line.at("pod").get<std::string>();
      if (line.contains("again")) said += " again";
      said += line.at("node").is_null() ? " fails" : " on " + line.at("node").get<std::string>();
      if (line.contains("preemption")) {
        for (const auto& victim : line.at("preemption").at("victims")) {
          said += ", takes " + victim.at("pod").get<std::string>();
        }
        if (line.at("preemption").contains("cross_node_would_help")) said += ", nodes would help";
      }
      lines.push_back(said);
    };
    report = run(input, options);
    EXPECT_EQ(std::vector<std::string>(), report.violations);
    EXPECT_EQ(0u, report.preemption.without_place);
  }
  const ElasticQuotaReport& elastic_quota(std::size_t index) const {
    return report.quotas.at(index);
  }
  const ElasticQuotaResourceReport& gpus(std::size_t index) const {
    return elastic_quota(index).resources.at(0);
  }
};

// The seed's story 1: QuotaA (min 4, max 6) and QuotaB (min 6, max 8) share ten GPUs.
TEST(SimulationOfElasticQuotas, Story1WhatWasBorrowedComesBack) {
  Story story;
  story.input.nodes = {gpu_node("n1", 10)};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 4, 6), gpu_elastic_quota("b", 6, 8)};
  story.pods = {gpu_pod("a", "1", 2), gpu_pod("b", "1", 3), gpu_pod("a", "2", 2),
                // Of the three GPUs that are left only two may be had: the max is six.
                gpu_pod("a", "3", 2), gpu_pod("a", "4", 1),
                // Takes two GPUs back.
                gpu_pod("b", "2", 3),
                // All that A has now is guaranteed.
                gpu_pod("b", "3", 1), gpu_pod("b", "4", 2)};
  story.play();
  EXPECT_EQ((std::vector<std::string>{"a/1 on n1", "b/1 on n1", "a/2 on n1", "a/3 on n1",
                                      "a/4 fails", "b/2 on n1, takes a/3", "a/3 again fails",
                                      "b/3 fails", "b/4 fails"}),
            story.lines);
  EXPECT_EQ(4, story.gpus(0).used);
  EXPECT_EQ(6, story.gpus(0).peak_used);
  EXPECT_EQ(2, story.gpus(0).peak_borrowed);
  EXPECT_EQ(2, story.gpus(0).given_back);
  EXPECT_EQ(1u, story.elastic_quota(0).given_back_pods);
  EXPECT_EQ(6, story.gpus(1).used);
  EXPECT_EQ(2, story.gpus(1).peak_lent);
  EXPECT_EQ(2, story.gpus(1).reclaimed);
  EXPECT_EQ(1u, story.elastic_quota(1).reclaimed_pods);
  EXPECT_EQ(1u, story.report.preemption.victims);
  EXPECT_EQ(1u, story.report.preemption.victims_not_placed);
  EXPECT_EQ(5u, story.report.placed);
  EXPECT_EQ(3u, story.report.failed);
}

// The seed's story 2: QuotaA (3, 4), QuotaB (4, 6) and QuotaC (3, 4) share ten GPUs. First half:
// within its min, B takes from whoever is above it.
TEST(SimulationOfElasticQuotas, Story2WithinMinTheVictimIsOfTheQuotaThatBorrows) {
  Story story;
  story.input.nodes = {gpu_node("n1", 10)};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 3, 4), gpu_elastic_quota("b", 4, 6),
                                gpu_elastic_quota("c", 3, 4)};
  story.pods = {gpu_pod("a", "1", 1), gpu_pod("a", "2", 1), gpu_pod("b", "1", 2),
                gpu_pod("c", "1", 3), gpu_pod("a", "3", 1), gpu_pod("a", "4", 1),
                gpu_pod("b", "2", 1), gpu_pod("b", "3", 1)};
  story.play();
  EXPECT_EQ("b/3 on n1, takes a/4", story.lines.at(7));
  EXPECT_EQ("a/4 again fails", story.lines.at(8));
  EXPECT_EQ(3, story.gpus(0).used);
  EXPECT_EQ(4, story.gpus(1).used);
  EXPECT_EQ(3, story.gpus(2).used);
  EXPECT_EQ(0u, story.elastic_quota(2).given_back_pods);
}

// Second half: above its min, B takes from itself, and from those of lower priority only.
TEST(SimulationOfElasticQuotas, Story2AboveMinTheVictimIsOfTheSameQuota) {
  Story story;
  story.input.nodes = {gpu_node("n1", 10)};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 3, 4), gpu_elastic_quota("b", 4, 6),
                                gpu_elastic_quota("c", 3, 4)};
  story.input.pods = {gpu_pod("a", "1", 2), gpu_pod("c", "1", 3), gpu_pod("b", "pod-a", 2, 1),
                      gpu_pod("b", "pod-b", 3, 10)};
  for (Pod& pod : story.input.pods) {
    pod.node_name = "n1";
    pod.phase = "Running";
  }
  story.pods = {gpu_pod("b", "pod-c", 1, 10)};
  story.play();
  EXPECT_EQ((std::vector<std::string>{"b/pod-c on n1, takes b/pod-a", "b/pod-a again fails"}),
            story.lines);
  EXPECT_EQ(1u, story.elastic_quota(1).own_victims);
  EXPECT_EQ(0u, story.elastic_quota(1).reclaimed_pods);
  EXPECT_EQ(4, story.gpus(1).used);
}

// The seed's known limitation: two nodes with one borrowed GPU each, and a pod that needs both.
TEST(SimulationOfElasticQuotas, CrossNodePreemptionHelpsWhereItIsOn) {
  for (const bool cross_node : {false, true}) {
    Story story;
    story.input.nodes = {gpu_node("n1", 2), gpu_node("n2", 2)};
    story.input.elastic_quotas = {gpu_elastic_quota("a", 0, 2), gpu_elastic_quota("b", 2, 2)};
    story.input.pods = {gpu_pod("a", "1", 1), gpu_pod("a", "2", 1)};
    story.input.pods[0].node_name = "n1";
    story.input.pods[1].node_name = "n2";
    story.pods = {gpu_pod("b", "1", 2)};
    SimulationOptions options;
    options.profile.capacity_scheduling_args.cross_node_preemption = cross_node;
    story.play(options);
    EXPECT_EQ(cross_node ? 1u : 0u, story.report.preemption.cross_node);
    EXPECT_EQ(cross_node ? 2u : 0u, story.report.preemption.victims);
    EXPECT_EQ(cross_node ? 0u : 1u, story.report.preemption.cross_node_would_help);
    EXPECT_EQ(cross_node ? 2 : 0, story.gpus(1).used);
  }
}

TEST(SimulationOfElasticQuotas, AVictimThatFindsAnotherPlaceTakesIt) {
  Story story;
  story.input.nodes = {gpu_node("n1", 2), gpu_node("n2", 1)};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 1, 3), gpu_elastic_quota("b", 2, 2)};
  story.input.pods = {gpu_pod("a", "1", 1), gpu_pod("a", "2", 1)};
  for (Pod& pod : story.input.pods) pod.node_name = "n1";
  story.input.pods[0].start_us = 1;
  story.input.pods[1].start_us = 2;
  story.pods = {gpu_pod("b", "1", 1), gpu_pod("b", "2", 1)};
  story.play();
  // n2 is free for the first; the second needs a GPU of A, and there is none for a/2 then.
  EXPECT_EQ(1u, story.report.preemption.victims);
  EXPECT_EQ("a/2 again fails", story.lines.back());

  Story other;
  other.input = story.input;
  other.input.arrivals.clear();
  other.input.nodes[1] = gpu_node("n2", 2);
  // Selects n1, of which both GPUs are taken.
  other.pods = {gpu_pod("b", "1", 1)};
  other.input.nodes[0].labels = {{"zone", "one"}};
  other.pods[0].node_selector = {{"zone", "one"}};
  other.play();
  EXPECT_EQ((std::vector<std::string>{"b/1 on n1, takes a/2", "a/2 again on n2"}), other.lines);
  EXPECT_EQ(1u, other.report.preemption.victims_placed_again);
  EXPECT_EQ(2u, other.report.quotas[0].resources[0].used);
}

TEST(SimulationOfElasticQuotas, WhoArrivesTogetherIsPlacedByPriority) {
  for (const bool has_class : {false, true}) {
    Story story;
    story.input.nodes = {gpu_node("n1", 1)};
    if (has_class) {
      story.input.priority_classes = {
          {.name = "high", .value = 10, .global_default = false, .preemption_policy = {}}};
    }
    story.pods = {gpu_pod("a", "low", 1), gpu_pod("a", "high", 1)};
    story.pods[1].priority.reset();
    story.pods[1].priority_class_name = "high";
    story.input.arrivals = {{.time_us = kSecondUs, .pod = 0}, {.time_us = kSecondUs, .pod = 1}};
    story.input.make_pod = [&](std::uint32_t index) { return story.pods[index]; };
    std::string first;
    SimulationOptions options;
    options.on_decision = [&](const std::string& line) {
      if (first.empty()) first = nlohmann::json::parse(line).at("pod");
    };
    const SimulationReport report = run(story.input, options);
    EXPECT_EQ(has_class ? "a/high" : "a/low", first);
    EXPECT_EQ(1u, report.placed);
    EXPECT_EQ(0u, report.preemption.victims);
  }
}

TEST(SimulationOfElasticQuotas, NobodyHasToGoWithoutPreemption) {
  Story story;
  story.input.nodes = {gpu_node("n1", 2)};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 0, 2), gpu_elastic_quota("b", 2, 2)};
  story.pods = {gpu_pod("a", "1", 2), gpu_pod("b", "1", 2)};
  SimulationOptions options;
  options.preemption = false;
  story.play(options);
  EXPECT_EQ((std::vector<std::string>{"a/1 on n1", "b/1 fails"}), story.lines);
  EXPECT_EQ(2, story.gpus(0).borrowed);
  EXPECT_EQ(2, story.gpus(1).lent);
  EXPECT_EQ("rejected by its ElasticQuota", story.report.failures.at(0).reason);
}

// Victims and their departures: a pod leaves when its time ends, wherever it is then, and once.
TEST(SimulationOfElasticQuotas, AVictimLeavesWhenItsTimeEnds) {
  Story story;
  story.input.nodes = {gpu_node("n1", 1), gpu_node("n2", 1)};
  story.input.nodes[0].labels = {{"zone", "one"}};
  story.input.elastic_quotas = {gpu_elastic_quota("a", 0, 2), gpu_elastic_quota("b", 2, 2)};
  story.pods = {gpu_pod("a", "1", 1), gpu_pod("b", "1", 1), gpu_pod("b", "2", 1)};
  story.pods[1].node_selector = {{"zone", "one"}};
  story.input.arrivals = {{.time_us = 1 * kSecondUs, .departure_us = 9 * kSecondUs, .pod = 0},
                          {.time_us = 2 * kSecondUs, .pod = 1},
                          {.time_us = 9 * kSecondUs, .pod = 2}};
  story.input.make_pod = [&](std::uint32_t index) { return story.pods[index]; };
  const SimulationReport report = run(story.input);
  EXPECT_EQ(3u, report.placed);
  EXPECT_EQ(1u, report.departed);
  EXPECT_EQ(1u, report.preemption.victims);
  EXPECT_EQ(1u, report.preemption.victims_placed_again);
  ASSERT_EQ(kReportIntervals, report.preemption.intervals.size());
  EXPECT_EQ(1u, report.preemption.intervals[2].victims);  // of nine seconds the third
  EXPECT_EQ(1u, report.preemption.intervals[2].preemptors);
}

// A and B are above their mins in GPUs, and within them in cpu. In mode Upstream each may take the
// other's place on the only node with cpu; in mode Proposal a victim uses what its quota borrows.
TEST(SimulationOfElasticQuotas, VictimsThatTakeEachOthersPlaceEnd) {
  const auto elastic_quota_of = [](const std::string& user, std::int64_t cpus, std::int64_t gpus) {
    ElasticQuota quota = gpu_elastic_quota(user, gpus, 9);
    quota.min->insert(quota.min->begin(), {"cpu", Quantity::from_value(cpus)});
    quota.max.reset();
    return quota;
  };
  const auto cpu_pod = [](const std::string& user) {
    Pod pod = gpu_pod(user, "cpu", 0);
    pod.containers[0].requests = {{"cpu", Quantity::from_value(1)}};
    pod.containers[0].limits = pod.containers[0].requests;
    return pod;
  };
  for (const bool upstream : {false, true}) {
    Story story;
    story.input.nodes = {node("n1", 1000), gpu_node("n2", 2)};
    story.input.nodes[1].allocatable[0].second = Quantity();  // no cpu
    story.input.elastic_quotas = {elastic_quota_of("a", 1, 0), elastic_quota_of("b", 1, 0),
                                  elastic_quota_of("c", 0, 2)};
    story.input.pods = {gpu_pod("a", "gpu", 1), gpu_pod("b", "gpu", 1)};
    for (Pod& pod : story.input.pods) pod.node_name = "n2";
    story.pods = {cpu_pod("a"), cpu_pod("b")};
    SimulationOptions options;
    if (upstream) options.profile.mode = Mode::kUpstream;
    story.play(options);
    const PreemptionReport& preemption = story.report.preemption;
    EXPECT_EQ(upstream ? 1u : 0u, preemption.evictions_max_hit);
    EXPECT_EQ(upstream ? 2 * kEvictionsPerPodMax - 1 : 0u, preemption.victims);
    EXPECT_EQ(preemption.victims, preemption.victims_placed_again + preemption.victims_not_placed);
    EXPECT_EQ(upstream ? 2u : 1u, story.report.placed);
  }
}

// A cluster that has less than is asked for: at every moment no quota is above its max by a
// decision, none loses a pod while it is within its min, and whoever preempts has its place.
TEST(SimulationOfElasticQuotas, RulesHoldAtEveryMoment) {
  const std::uint64_t first = test_seed();
  for (std::uint64_t seed = first; seed < first + 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ClusterGenerator generator({.nodes = 40,
                                      .pods = 700,
                                      .seed = seed,
                                      .bound_permille = 850,
                                      .quotas = 7,
                                      .fill_permille = 1300});
    SimulationInput input;
    for (std::uint32_t n = 0; n < 40; ++n) {
      input.nodes.push_back(generator.node(n));
      if (generator.has_node_metric(n)) input.node_metrics.push_back(generator.node_metric(n));
    }
    add_quotas(input, generator);
    input.start_us = generator.options().now_us;
    for (std::uint32_t p = 0; p < 700; ++p) {
      if (generator.is_bound(p)) {
        input.pods.push_back(generator.pod(p));
        continue;
      }
      const std::int64_t time_us = input.start_us + p / 10 * kSecondUs;
      input.arrivals.push_back({.time_us = time_us,
                                .departure_us = p % 3 == 0 ? time_us + 20 * kSecondUs : kNeverUs,
                                .pod = p});
    }
    input.make_pod = [&](std::uint32_t index) { return generator.pod(index); };
    for (const bool upstream : {false, true}) {
      SimulationOptions options;
      if (upstream) options.profile.mode = Mode::kUpstream;
      options.profile.capacity_scheduling_args.cross_node_preemption = !upstream && seed % 2 == 0;
      const SimulationReport report = run(input, options);
      EXPECT_EQ(std::vector<std::string>(), report.violations);
      const PreemptionReport& preemption = report.preemption;
      EXPECT_GT(preemption.victims, 0u);
      EXPECT_EQ(0u, preemption.without_place);
      if (!upstream) {
        EXPECT_EQ(0u, preemption.evictions_max_hit);
      }
      EXPECT_EQ(preemption.victims,
                preemption.victims_placed_again + preemption.victims_not_placed);
      EXPECT_EQ(input.arrivals.size(), report.placed + report.failed);
      std::uint64_t reclaimed = 0, given_back = 0, own = 0, victims = 0;
      for (const ElasticQuotaReport& quota : report.quotas) {
        reclaimed += quota.reclaimed_pods;
        given_back += quota.given_back_pods;
        own += quota.own_victims;
      }
      for (const IntervalReport& interval : preemption.intervals) victims += interval.victims;
      EXPECT_EQ(reclaimed, given_back);
      EXPECT_EQ(preemption.victims, given_back + own);
      EXPECT_EQ(preemption.victims, victims);
    }
  }
}

// --- The parts ---

TEST(ElasticQuotaLedger, EachLendsInProportionToWhatItLeavesUnused) {
  ElasticQuotaLedger ledger(
      std::vector<ElasticQuota>{gpu_elastic_quota("a", 2, 9), gpu_elastic_quota("b", 4, 9),
                                gpu_elastic_quota("c", 7, 9), gpu_elastic_quota("d", 1, 1)},
      Mode::kProposal);
  ledger.add(ledger.claim(gpu_pod("a", "1", 7)));  // five above its min
  ledger.add(ledger.claim(gpu_pod("b", "1", 1)));  // leaves three
  ledger.add(ledger.claim(gpu_pod("d", "1", 1)));
  ledger.add(ledger.claim(gpu_pod("nobody", "1", 1)));
  std::vector<ElasticQuotaReport> reports = ledger.reports();
  ASSERT_EQ(4u, reports.size());
  EXPECT_EQ(5, reports[0].resources[0].borrowed);
  EXPECT_EQ(0, reports[0].resources[0].lent);
  // Three and seven of ten unused ones: 1.5 and 3.5 of five, rounded so that five are lent.
  EXPECT_EQ(1, reports[1].resources[0].lent);
  EXPECT_EQ(4, reports[2].resources[0].lent);
  EXPECT_EQ(0, reports[3].resources[0].lent);

  ledger.end_step();
  ledger.remove(ledger.claim(gpu_pod("a", "1", 7)));
  reports = ledger.reports();
  EXPECT_EQ(0, reports[0].resources[0].used);
  EXPECT_EQ(5, reports[0].resources[0].peak_borrowed);
  EXPECT_EQ(0, reports[2].resources[0].lent);
  EXPECT_EQ(4, reports[2].resources[0].peak_lent);
}

// Sums are beyond int64, and exact all the same.
TEST(ElasticQuotaLedger, AddsUpBeyondInt64) {
  constexpr std::int64_t kMost = INT64_MAX, kHalf = INT64_MAX / 2 + 1;
  const auto play = [&](Mode mode) {
    ElasticQuotaLedger ledger(std::vector<ElasticQuota>{gpu_elastic_quota("a", 0, kMost),
                                                        gpu_elastic_quota("b", kMost, kMost),
                                                        gpu_elastic_quota("c", kMost, kMost)},
                              mode);
    for (const char* name : {"1", "2", "3"}) ledger.add(ledger.claim(gpu_pod("a", name, kHalf)));
    ledger.end_step();
    const ElasticQuotaLedger::Claim half = ledger.claim(gpu_pod("a", "3", kHalf));
    EXPECT_EQ(ledger.over_max(half) != "", mode == Mode::kProposal);
    ledger.remove(half);
    ledger.remove(half);
    return ledger.reports();
  };
  std::vector<ElasticQuotaReport> reports = play(Mode::kProposal);
  EXPECT_EQ(reports[0].resources[0].used, kHalf);
  EXPECT_EQ(reports[0].resources[0].peak_used, kMost);
  EXPECT_EQ(reports[0].resources[0].peak_borrowed, kMost);
  const std::int64_t lent[] = {reports[1].resources[0].peak_lent,
                               reports[2].resources[0].peak_lent};
  EXPECT_NEAR(static_cast<double>(lent[0]), 1.5 * static_cast<double>(kHalf), 4096.0);
  EXPECT_TRUE(Int128{lent[0]} + lent[1] == Int128{3} * kHalf);
  reports = play(Mode::kUpstream);
  EXPECT_EQ(reports[0].resources[0].used, kHalf);
}

TEST(ClusterUsage, AddsUpBeyondInt64) {
  const std::vector<Node> nodes = {gpu_node("n1", INT64_MAX), gpu_node("n2", INT64_MAX)};
  ClusterUsage usage(nodes);
  const Pod all = gpu_pod("a", "1", INT64_MAX);
  for (const char* node : {"n1", "n1", "n2"}) usage.add(usage.holding(all, node));
  for (const char* node : {"n1", "n1"}) usage.remove(usage.holding(all, node));
  for (const ResourceReport& peak : usage.peaks()) {
    if (peak.name != kGpuResource) continue;
    EXPECT_EQ(peak.allocatable, INT64_MAX);
    EXPECT_EQ(peak.requested, INT64_MAX);
    EXPECT_EQ(peak.limits, INT64_MAX);
    EXPECT_EQ(peak.hottest_limits, INT64_MAX);
    EXPECT_EQ(peak.hottest_node, "n1");
  }
}

TEST(ElasticQuotaLedger, NoticesWhatMustNotHappen) {
  ElasticQuotaLedger ledger(
      std::vector<ElasticQuota>{gpu_elastic_quota("a", 4, 6), gpu_elastic_quota("b", 6, 8)},
      Mode::kProposal);
  const ElasticQuotaLedger::Claim three = ledger.claim(gpu_pod("a", "1", 3));
  const ElasticQuotaLedger::Claim one = ledger.claim(gpu_pod("a", "2", 1));
  const ElasticQuotaLedger::Claim other = ledger.claim(gpu_pod("b", "1", 1));
  ledger.add(three);
  ledger.add(three);
  EXPECT_EQ("", ledger.over_max(three));
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{three}));
  // The second one would go from a quota that is within its min.
  EXPECT_NE("", ledger.wrongly_taken(other, std::vector{three, three}));
  EXPECT_EQ("", ledger.wrongly_taken(three, std::vector{three, three}));  // its own
  ledger.add(one);
  EXPECT_EQ("ElasticQuota a/quota: nvidia.com/gpu: used 7 is more than max 6",
            ledger.over_max(one));
  // Seven: one may go, and three after it, whatever their order here.
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{three, one}));
  EXPECT_EQ("", ledger.wrongly_taken(other, std::vector{one, three}));
  EXPECT_EQ("", ledger.over_max(other));
}

TEST(SimulatedBudgets, VictimsTakeAndGiveBack) {
  PodDisruptionBudget budget;
  budget.namespace_name = "a";
  budget.name = "budget";
  budget.selector = {{.key = "app", .op = "In", .values = {"web"}}};
  budget.disruptions_allowed = 1;
  budget.disrupted_pods = {"gone"};
  PodDisruptionBudget empty = budget;
  empty.selector.clear();
  SimulatedBudgets budgets(std::vector{budget, empty});
  Pod pod = gpu_pod("a", "1", 1);
  EXPECT_TRUE(budgets.change(pod, -1).empty());
  pod.labels = {{"app", "web"}};
  for (const std::int64_t allowed : {0, 0}) {
    const std::vector<PodDisruptionBudget> changed = budgets.change(pod, -1);
    ASSERT_EQ(1u, changed.size());
    EXPECT_EQ(allowed, changed[0].disruptions_allowed);
  }
  // Two went and one is back: still none may go.
  EXPECT_EQ(0, budgets.change(pod, 1).at(0).disruptions_allowed);
  EXPECT_EQ(1, budgets.change(pod, 1).at(0).disruptions_allowed);
  pod.name = "gone";
  EXPECT_TRUE(budgets.change(pod, -1).empty());
}

TEST(PodQueue, ComeByPriorityAndThenInTheirOrder) {
  PodQueue pending(std::vector<PriorityClass>{
      {.name = "high", .value = 9, .global_default = false, .preemption_policy = {}},
      {.name = "default", .value = 2, .global_default = true, .preemption_policy = {}},
      {.name = "other", .value = 7, .global_default = true, .preemption_policy = {}}});
  const auto push = [&](const char* name, std::optional<std::int32_t> priority,
                        const char* priority_class) {
    Pod pod = gpu_pod("a", name, 1);
    pod.priority = priority;
    pod.priority_class_name = priority_class;
    PendingPod entry;
    entry.pod = std::move(pod);
    pending.push(std::move(entry));
  };
  push("none", std::nullopt, "");
  push("unknown", std::nullopt, "nowhere");
  push("1", 3, "high");
  push("2", 3, "");
  push("high", std::nullopt, "high");
  std::string order;
  while (!pending.empty()) order += pending.pop().pod.name + ' ';
  EXPECT_EQ("high 1 2 none unknown ", order);
}

}  // namespace
}  // namespace headroom::simulation_test
