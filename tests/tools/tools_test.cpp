// The trace's tables, the cluster generator and the object writer: what they make is what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "objects/annotations.h"
#include "objects/pod_resources.h"
#include "objects/reading/object_reader.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"
#include "workloads/openb.h"

namespace headroom::tools_test {
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

TEST(Openb, TablesThatCannotBeUsedAreNamedWithTheirLine) {
  const std::string nodes = "count,cpu_milli,memory_mib,gpu,model\n2,1000,1024,0,\n";
  const std::string shapes = "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n1,2,0,0,,LS\n";
  const std::string pods = "shape,phase,creation_step,lifetime,wait\n";
  const auto trace = read_openb_trace(nodes, shapes, pods + "0,Running,5,7,\n0,Failed,1,2,3\n");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->nodes.size(), 2u);
  EXPECT_EQ(trace->pods[1].creation, 6);
  EXPECT_EQ(trace->pods[1].scheduled, 9);
  const auto error = [&](const std::string& more_nodes, const std::string& more_shapes,
                         const std::string& more_pods) {
    const auto read = read_openb_trace(nodes + more_nodes, shapes + more_shapes, pods + more_pods);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(error("1,x,1,0,\n", "", ""), "nodes:3: \"1,x,1,0,\" is no row of this table");
  EXPECT_EQ(error("1,-1,1,0,\n", "", ""), "nodes:3: \"1,-1,1,0,\" is no row of this table");
  EXPECT_EQ(error("99999999,1,1,0,\n", "", ""),
            "nodes:3: \"99999999,1,1,0,\" is no row of this table");
  EXPECT_EQ(error("", "1,2\n", ""), "pod shapes:3: \"1,2\" is no row of this table");
  EXPECT_EQ(error("", "", "1,Running,0,0,\n"),
            "pods:2: \"1,Running,0,0,\" is no row of this table");
  EXPECT_EQ(error("", "", "0,Running,9223372036854775807,0,\n"),
            "pods:2: \"0,Running,9223372036854775807,0,\" is no row of this table");
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
  const auto write = [&](const auto& object) {
    append_json(lines, object);
    lines += '\n';
  };
  generator.visit_quotas(write);
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    write(generator.node(n));
    if (generator.has_node_metric(n)) write(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) write(generator.pod(p));
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

TEST(ClusterGenerator, WithQuotasTheSameOptionsGiveTheSameObjects) {
  ClusterGenerator::Options options{.nodes = 50, .pods = 500, .seed = 7, .quotas = 9};
  const std::string first = cluster_text(ClusterGenerator(options));
  EXPECT_EQ(first, cluster_text(ClusterGenerator(options)));
  options.seed = 8;
  EXPECT_NE(first, cluster_text(ClusterGenerator(options)));
  const ClusterGenerator without({.nodes = 50, .pods = 500, .seed = 7});
  EXPECT_EQ(
      0u, without.elastic_quota_count() + without.budget_count() + without.priority_class_count());
  // The same pods on the same nodes, whoever they belong to.
  options.seed = 7;
  const ClusterGenerator with(options);
  for (std::uint32_t p = 0; p < 500; ++p) {
    EXPECT_EQ(without.pod(p).containers, with.pod(p).containers);
    EXPECT_EQ(without.pod(p).node_name, with.pod(p).node_name);
    EXPECT_TRUE(without.pod(p).priority_class_name.empty());
    EXPECT_FALSE(without.pod(p).start_us);
  }
}

TEST(ClusterGenerator, NodesHaveAtLeastTheCapacityOfWhatPodsMayHave) {
  const ClusterGenerator generator({.nodes = 100, .pods = 0, .seed = 3});
  for (std::uint32_t n = 0; n < 100; ++n) {
    const Node node = generator.node(n);
    ASSERT_EQ(node.allocatable.size(), node.capacity.size());
    for (const auto& [name, allocatable] : node.allocatable) {
      const Quantity* capacity = find(node.capacity, name);
      ASSERT_NE(nullptr, capacity) << name;
      EXPECT_FALSE(*capacity < allocatable) << name;
    }
    EXPECT_LT(*find(node.allocatable, "cpu"), *find(node.capacity, "cpu"));
  }
  for (std::size_t n = 0; n < 100; ++n)
    EXPECT_EQ(openb_node(n).allocatable, openb_node(n).capacity);
}

// Each selects some node, and limits what these have to a little more.
TEST(ClusterGenerator, CapacityQuotasNestOverlapAndLetInALittleMore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + text(static_cast<std::int64_t>(seed)));
    const ClusterGenerator generator(
        {.nodes = 200, .pods = 0, .seed = seed, .capacity_quotas = 40});
    ASSERT_EQ(40u, generator.capacity_quota_count());
    std::map<std::string, int> kinds;
    std::map<std::string, std::uint32_t> names;
    for (std::uint32_t q = 0; q < 40; ++q) {
      const CapacityQuota quota = generator.capacity_quota(q);
      SCOPED_TRACE(quota.name);
      EXPECT_EQ(1u, ++names[quota.name]);
      ++kinds[quota.name.substr(0, quota.name.rfind('-'))];
      EXPECT_EQ(q == 0, quota.selector.empty());
      std::map<std::string, Quantity> used;
      for (std::uint32_t n = 0; n < 200; ++n) {
        const Node node = generator.node(n);
        if (!matches(quota.selector, node.labels)) continue;
        for (const auto& [name, capacity] : node.capacity) used[name] += capacity;
        used["nodes"] += Quantity::from_value(1);
      }
      EXPECT_TRUE(used.contains("nodes"));
      EXPECT_GE(quota.limits.size(), 2u);
      EXPECT_TRUE(std::is_sorted(quota.limits.begin(), quota.limits.end()));
      for (const auto& [name, limit] : quota.limits) {
        const Int128 most = Quantity::parse(limit).value().nanos();
        EXPECT_GT(most, used[name].nanos()) << name;
        // In whole GiB, cores and devices: a small sum may be rounded far up.
        const Int128 unit =
            Quantity::from_value(name == "memory" ? std::int64_t{1} << 30 : 1).nanos();
        EXPECT_LE(most, used[name].nanos() * 5 / 4 + unit) << name;
      }
    }
    for (const char* kind :
         {"all", "zone", "pool", "zone-pool", "type", "type-zones", "not-pool"}) {
      EXPECT_GT(kinds[kind], 0) << kind;
    }
  }
}

// No other object changes with them.
TEST(ClusterGenerator, CapacityQuotasStandApart) {
  const auto lines = [](std::uint32_t capacity_quotas) {
    const std::string all = cluster_text(ClusterGenerator(
        {.nodes = 50, .pods = 500, .seed = 7, .quotas = 3, .capacity_quotas = capacity_quotas}));
    std::string others;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = all.find('\n', begin) + 1;
      const std::string line = all.substr(begin, end - begin);
      begin = end;
      if (line.find("CapacityQuota") == std::string::npos) {
        others += line;
      } else {
        ++count;
      }
    }
    EXPECT_EQ(capacity_quotas, count);
    return others;
  };
  EXPECT_EQ(lines(0), lines(20));
  EXPECT_EQ(0u,
            ClusterGenerator({.nodes = 0, .pods = 0, .capacity_quotas = 5}).capacity_quota_count());
}

// What every quota may have against what the cluster has, and against what its pods use.
TEST(ClusterGenerator, QuotasAreWithinTheClusterAndSomeBorrow) {
  for (const std::uint32_t fill_permille : {700u, 1500u}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE("seed " + text(static_cast<std::int64_t>(seed)));
      const ClusterGenerator generator(
          {.nodes = 100, .pods = 1200, .seed = seed, .quotas = 9, .fill_permille = fill_permille});
      std::map<std::string, Quantity> allocatable, min_sum;
      for (std::uint32_t n = 0; n < 100; ++n) {
        for (const auto& [name, quantity] : generator.node(n).allocatable) {
          allocatable[name] += quantity;
        }
      }
      std::map<std::string, std::map<std::string, Quantity>> used;  // by namespace
      std::map<std::string, int> pods_of;
      for (std::uint32_t p = 0; p < 1200; ++p) {
        const Pod pod = generator.pod(p);
        ++pods_of[pod.namespace_name];
        EXPECT_EQ(pod.node_name.empty(), !pod.start_us);
        if (pod.node_name.empty()) continue;
        for (const auto& [name, request] : pod_requests(pod)) {
          used[pod.namespace_name][name] += request;
        }
      }
      int borrowers = 0, lenders = 0;
      ASSERT_EQ(9u, generator.elastic_quota_count());
      for (std::uint32_t q = 0; q < 9; ++q) {
        const ElasticQuota quota = generator.elastic_quota(q);
        EXPECT_EQ("team-00" + text(q), quota.namespace_name);
        ASSERT_TRUE(quota.min);
        bool borrows = false;
        for (const auto& [name, min] : *quota.min) {
          min_sum[name] += min;
          const Quantity uses = used[quota.namespace_name][name];
          borrows |= min < uses;
          const Quantity* max = quota.max ? find(*quota.max, name) : nullptr;
          if (max == nullptr) continue;
          EXPECT_FALSE(*max < min) << name;
          EXPECT_FALSE(*max < uses) << name;
        }
        ++(borrows ? borrowers : lenders);
      }
      EXPECT_GE(borrowers, 3);
      EXPECT_GE(lenders, 3);
      for (const auto& [name, min] : min_sum) EXPECT_FALSE(allocatable[name] < min) << name;
      // Shares differ, and no pod is of another namespace.
      EXPECT_EQ(9u, pods_of.size());
      const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
      EXPECT_GT(std::max_element(pods_of.begin(), pods_of.end(), by_count)->second,
                3 * std::min_element(pods_of.begin(), pods_of.end(), by_count)->second);
    }
  }
}

TEST(ClusterGenerator, PodsHaveAClassAndBudgetsSelectSomeOfThem) {
  const ClusterGenerator generator({.nodes = 100, .pods = 2000, .seed = 3, .quotas = 4});
  std::map<std::string, PriorityClass> classes;
  for (std::uint32_t c = 0; c < generator.priority_class_count(); ++c) {
    classes[generator.priority_class(c).name] = generator.priority_class(c);
  }
  EXPECT_EQ(4u, classes.size());
  std::map<std::string, int> pods_of;
  int selected = 0;
  for (std::uint32_t p = 0; p < 2000; ++p) {
    const Pod pod = generator.pod(p);
    ASSERT_TRUE(classes.contains(pod.priority_class_name)) << pod.priority_class_name;
    const PriorityClass& its = classes.at(pod.priority_class_name);
    EXPECT_EQ(its.value, pod.priority);
    EXPECT_EQ(its.preemption_policy, pod.preemption_policy);
    ++pods_of[its.name];
    bool any = false;
    for (std::uint32_t b = 0; b < generator.budget_count(); ++b) {
      const PodDisruptionBudget budget = generator.budget(b);
      any |= budget.namespace_name == pod.namespace_name && matches(budget.selector, pod.labels);
      EXPECT_TRUE(budget.disruptions_allowed >= 0 && budget.disruptions_allowed <= 3);
    }
    selected += any;
  }
  for (const auto& [name, count] : pods_of) EXPECT_GT(count, 50) << name;
  EXPECT_EQ(4u, pods_of.size());
  EXPECT_GT(selected, 400);
  EXPECT_LT(selected, 1000);
}

TEST(ObjectWriter, WhatIsWrittenIsReadBack) {
  const ClusterGenerator generator(
      {.nodes = 100, .pods = 1000, .seed = 11, .quotas = 40, .capacity_quotas = 60});
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
  ASSERT_EQ(40u, read->elastic_quotas.size());
  for (std::uint32_t q = 0; q < 40; ++q) {
    EXPECT_EQ(generator.elastic_quota(q), read->elastic_quotas[q]);
  }
  ASSERT_EQ(generator.budget_count(), read->pod_disruption_budgets.size());
  for (std::uint32_t b = 0; b < generator.budget_count(); ++b) {
    EXPECT_EQ(generator.budget(b), read->pod_disruption_budgets[b]);
  }
  ASSERT_EQ(60u, read->capacity_quotas.size());
  for (std::uint32_t q = 0; q < 60; ++q) {
    EXPECT_EQ(generator.capacity_quota(q), read->capacity_quotas[q]);
  }
  ASSERT_EQ(generator.priority_class_count(), read->priority_classes.size());
  for (std::uint32_t c = 0; c < generator.priority_class_count(); ++c) {
    EXPECT_EQ(generator.priority_class(c), read->priority_classes[c]);
  }
}

template <typename T>
void expect_read_back(const T& object) {
  std::string json;
  append_json(json, object);
  const Result<Object> read = read_object(json, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(object, std::get<T>(*read)) << json;
}

// Fields that generated quotas, budgets and classes do not have.
TEST(ObjectWriter, WritesQuotasBudgetsAndClasses) {
  ElasticQuota quota;
  quota.namespace_name = "team \"a\"";
  quota.name = "quota";
  expect_read_back(quota);
  quota.min = ResourceList{};
  expect_read_back(quota);
  quota.max = ResourceList{{"cpu", Quantity::from_milli(1)},
                           {"example.com/x", Quantity::from_value(INT64_MAX)}};
  expect_read_back(quota);

  PodDisruptionBudget budget;
  budget.namespace_name = "a";
  budget.name = "budget";
  expect_read_back(budget);
  budget.selector = {{.key = "a", .op = "NotIn", .values = {"1", "\n"}},
                     {.key = "b", .op = "DoesNotExist", .values = {}}};
  budget.disruptions_allowed = -5;
  budget.disrupted_pods = {"one", "two"};
  expect_read_back(budget);

  PriorityClass priority_class;
  priority_class.name = "class";
  expect_read_back(priority_class);
  priority_class.value = INT32_MIN;
  priority_class.global_default = true;
  priority_class.preemption_policy = "Never";
  expect_read_back(priority_class);

  CapacityQuota capacity_quota;
  capacity_quota.name = "quota";
  expect_read_back(capacity_quota);
  capacity_quota.generation = 7;
  // As written, whether it can be used or not.
  capacity_quota.selector = {{.key = "a", .op = "Near", .values = {"\t"}},
                             {.key = "", .op = "", .values = {}}};
  capacity_quota.limits = {{"cpu", "10"}, {"memory", "1.5Gi"}, {"nodes", "many \"nodes\""}};
  expect_read_back(capacity_quota);
}

// Fields that generated nodes do not have.
TEST(ObjectWriter, WritesNodesThatAreReservedForAndThatGo) {
  Node node;
  node.name = "n";
  expect_read_back(node);
  node.annotations = {{std::string(kReservationAnnotation), "scale-up-1"}};
  node.capacity = {{"cpu", Quantity::from_nanos(1)}};
  node.deleting = true;
  expect_read_back(node);
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
  container.ports = {{1, PortProtocol::kSctp, "10.0.0.1"}, {65535, PortProtocol::kTcp, ""}};
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
  pod.actuated_requests = ResourceList{{"cpu", Quantity::from_milli(2500)}};
  pod.allocated_requests = {{"cpu", Quantity::from_milli(3000)}};
  pod.phase = "Running";
  pod.deleting = true;
  pod.priority = -3;
  pod.priority_class_name = "low";
  pod.preemption_policy = "Never";
  pod.nominated_node_name = "n2";
  pod.start_us = 1'767'225'600'000'001;
  std::string json;
  append_json(json, pod);
  const Result<Object> read = read_object(json, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(pod, std::get<Pod>(*read)) << json;
}

}  // namespace
}  // namespace headroom::tools_test
