// The trace's tables, the cluster generator and the object writer: what they make is what they say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "objects/annotations.h"
#include "objects/object_reader.h"
#include "objects/pod_resources.h"
#include "tools/cluster_generator.h"
#include "tools/object_writer.h"
#include "tools/openb.h"

namespace headroom {
namespace {

// The lines of a file of ../shared/data; nothing when it is absent.
std::vector<std::string> shared_lines(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEADROOM_SHARED_DIR) / "data" / name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string text(std::int64_t number) { return std::to_string(number); }

TEST(Openb, NodesEqualTheOriginalRowForRow) {
  const std::vector<std::string> lines = shared_lines("openb_node_list_all_node.csv");
  if (lines.empty()) GTEST_SKIP() << "no " << HEADROOM_SHARED_DIR << "/data";
  const std::vector<OpenbNode>& nodes = openb_trace().nodes;
  ASSERT_EQ(nodes.size() + 1, lines.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const OpenbNode& node = nodes[i];
    EXPECT_EQ(openb_node_name(i) + ',' + text(node.cpu_milli) + ',' + text(node.memory_mib) + ',' +
                  text(node.gpu) + ',' + node.model,
              lines[i + 1]);
  }
}

TEST(Openb, PodsEqualTheOriginalRowForRow) {
  const std::vector<std::string> lines = shared_lines("openb_pod_list_default.csv");
  if (lines.empty()) GTEST_SKIP() << "no " << HEADROOM_SHARED_DIR << "/data";
  const OpenbTrace& trace = openb_trace();
  ASSERT_EQ(trace.pods.size() + 1, lines.size());
  for (std::size_t i = 0; i < trace.pods.size(); ++i) {
    const OpenbPod& pod = trace.pods[i];
    const OpenbShape& shape = trace.shapes[pod.shape];
    EXPECT_EQ(openb_pod_name(i) + ',' + text(shape.cpu_milli) + ',' + text(shape.memory_mib) + ',' +
                  text(shape.num_gpu) + ',' + text(shape.gpu_milli) + ',' + shape.gpu_spec + ',' +
                  shape.qos + ',' + pod.phase + ',' + text(pod.creation) + ',' +
                  text(pod.deletion) + ',' + (pod.scheduled ? text(*pod.scheduled) : ""),
              lines[i + 1]);
  }
}

TEST(Openb, LimitsFollowTheTableOfQosClasses) {
  const OpenbTrace& trace = openb_trace();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint32_t i = 0; i < trace.shapes.size(); ++i) {
      const std::string& qos = trace.shapes[i].qos;
      const LimitRatios ratios = openb_limit_ratios(i, seed);
      const std::int64_t cpu_max = qos == "LS" ? 6000 : qos == "Burstable" ? 3000 : 1000;
      if (qos == "BE") {
        EXPECT_EQ(0, ratios.cpu_permille + ratios.memory_permille) << "seed " << seed;
        continue;
      }
      EXPECT_TRUE(ratios.cpu_permille >= 1000 && ratios.cpu_permille <= cpu_max)
          << qos << ' ' << ratios.cpu_permille << ", seed " << seed;
      EXPECT_TRUE(ratios.memory_permille >= 1000 && ratios.memory_permille <= 2000)
          << qos << ' ' << ratios.memory_permille << ", seed " << seed;
    }
  }
}

TEST(Openb, PodHasItsShape) {
  const Pod pod = openb_pod(0, 1);  // 12000,16384,1,1000,,LS,Running,0,12537496,0
  EXPECT_EQ(Quantity::from_milli(12'000), *find(pod.containers[0].requests, "cpu"));
  EXPECT_EQ(Quantity::from_value(16ll << 30), *find(pod.containers[0].requests, "memory"));
  EXPECT_EQ(Quantity::from_value(1), *find(pod.containers[0].limits, kGpuResource));
  EXPECT_EQ("LS", *find(pod.labels, kQosLabel));
  EXPECT_EQ(kTraceStartUs, pod.creation_us);
  EXPECT_EQ(12'537'496, pod.active_deadline_seconds);
}

std::string cluster_text(const ClusterGenerator& generator) {
  std::string lines;
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    append_json(lines, generator.node(n));
    lines += '\n';
    if (!generator.has_node_metric(n)) continue;
    append_json(lines, generator.node_metric(n));
    lines += '\n';
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    append_json(lines, generator.pod(p));
    lines += '\n';
  }
  return lines;
}

TEST(ClusterGenerator, SameSeedSameBytes) {
  const std::string first = cluster_text(ClusterGenerator({.nodes = 50, .pods = 500, .seed = 7}));
  const std::string again = cluster_text(ClusterGenerator({.nodes = 50, .pods = 500, .seed = 7}));
  const std::string other = cluster_text(ClusterGenerator({.nodes = 50, .pods = 500, .seed = 8}));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

// Ten pods a node, which the trace's pods would overfill: they are scaled, and most find a place.
TEST(ClusterGenerator, BoundPodsFitTheirNodes) {
  const ClusterGenerator generator({.nodes = 300, .pods = 3000, .seed = 3});
  std::map<std::string, ResourceList> left;
  for (std::uint32_t n = 0; n < 300; ++n) {
    const Node node = generator.node(n);
    left[node.name] = node.allocatable;
  }
  int bound = 0;
  for (std::uint32_t p = 0; p < 3000; ++p) {
    const Pod pod = generator.pod(p);
    EXPECT_EQ(generator.is_bound(p), !pod.node_name.empty());
    if (pod.node_name.empty()) continue;
    ++bound;
    ResourceList needs = pod_requests(pod);
    needs.emplace_back("pods", Quantity::from_value(1));
    for (const auto& [name, need] : needs) {
      for (auto& [resource, quantity] : left.at(pod.node_name)) {
        if (resource == name) quantity += Quantity::from_nanos(-need.nanos());
      }
    }
  }
  EXPECT_GE(bound, 2600);
  EXPECT_LE(bound, 2800);
  for (const auto& [node, resources] : left) {
    for (const auto& [name, quantity] : resources) {
      EXPECT_GE(quantity.nanos(), 0) << node << ' ' << name;
    }
  }
}

TEST(ClusterGenerator, UsageStaysBelowRequestsAndLimitsAbove) {
  const ClusterGenerator generator({.nodes = 100, .pods = 1000, .seed = 5});
  for (std::uint32_t p = 0; p < 1000; ++p) {
    const Pod pod = generator.pod(p);
    const ResourceList requests = pod_requests(pod), limits = pod_limits(pod);
    for (const auto& [name, usage] : simulated_usage(pod, 5)) {
      EXPECT_LT(usage, *find(requests, name)) << pod.name;
    }
    for (const Container& container : pod.containers) {
      for (const auto& [name, limit] : container.limits) {
        EXPECT_FALSE(limit < *find(container.requests, name)) << pod.name << ' ' << name;
      }
    }
  }
}

TEST(ClusterGenerator, FollowsTheTrace) {
  const ClusterGenerator generator(
      {.nodes = 10, .pods = 9000, .seed = 1, .bound_permille = 0, .follow_trace = true});
  const std::uint32_t size = static_cast<std::uint32_t>(openb_trace().pods.size());
  for (const std::uint32_t p : {0u, 100u, size - 1, size, size + 100}) {
    EXPECT_EQ(*find(openb_pod(p % size, 1).containers[0].requests, "memory"),
              *find(generator.pod(p).containers[0].requests, "memory"));
  }
}

TEST(ObjectWriter, WhatIsWrittenIsReadBack) {
  const ClusterGenerator generator({.nodes = 100, .pods = 1000, .seed = 11});
  const Result<ObjectFile> read = read_objects(cluster_text(generator), "generated");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(100u, read->nodes.size());
  ASSERT_EQ(1000u, read->pods.size());
  EXPECT_TRUE(read->other_kinds.empty());
  for (std::uint32_t n = 0; n < 100; ++n) EXPECT_EQ(generator.node(n), read->nodes[n]);
  for (std::uint32_t p = 0; p < 1000; ++p) EXPECT_EQ(generator.pod(p), read->pods[p]);
  std::size_t metric = 0;
  for (std::uint32_t n = 0; n < 100; ++n) {
    if (!generator.has_node_metric(n)) continue;
    ASSERT_LT(metric, read->node_metrics.size());
    EXPECT_EQ(generator.node_metric(n), read->node_metrics[metric++]);
  }
  EXPECT_EQ(metric, read->node_metrics.size());
}

// Fields that generated pods do not have.
TEST(ObjectWriter, WritesEveryField) {
  Pod pod;
  pod.namespace_name = "team \"a\"\\\n";
  pod.name = "p";
  pod.uid = "u";
  pod.annotations = {{std::string(kEstimatedScalingFactorsAnnotation), R"({"cpu": 50})"}};
  pod.daemon_set = true;
  pod.creation_us = 1'767'225'600'123'456;
  Container container;
  container.name = "c";
  container.requests = {{"cpu", Quantity::from_milli(1500)}};
  container.actuated_requests = ResourceList{{"cpu", Quantity::from_milli(1000)}};
  container.allocated_requests = {{"cpu", Quantity::from_milli(1200)}};
  pod.containers = {container};
  container.restart_always = true;
  container.actuated_requests = ResourceList{};
  pod.init_containers = {container};
  pod.pod_requests = {{"memory", Quantity::from_value(1 << 20)}};
  pod.pod_limits = {{"memory", Quantity::from_value(2 << 20)}};
  pod.overhead = {{"cpu", Quantity::from_nanos(1)}};
  pod.required_node_affinity = {
      {.match_expressions = {{.key = "a", .op = "Exists", .values = {}}},
       .match_fields = {{.key = "metadata.name", .op = "In", .values = {"n1", "n2"}}}},
      {.match_expressions = {}, .match_fields = {}}};
  pod.tolerations = {{"k", "Equal", "v", "NoExecute"}, {"", "Exists", "", ""}};
  pod.scheduled = PodCondition{.is_true = true, .last_transition_us = 5'000'000};
  pod.initialized = PodCondition{.is_true = false, .last_transition_us = std::nullopt};
  pod.resize_infeasible = true;
  pod.phase = "Running";
  std::string json;
  append_json(json, pod);
  const Result<Object> read = read_object(json, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(pod, std::get<Pod>(*read)) << json;
}

}  // namespace
}  // namespace headroom
