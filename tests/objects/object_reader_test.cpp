// The object reader: what a real API server printed, every form that kubectl prints, every field,
// bad inputs with their exact messages, and the property that form and field order do not matter.
#include "objects/reading/object_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "objects/annotations.h"
#include "objects/limits.h"
#include "tests/support/seed.h"

namespace headroom::object_reader_test {
namespace {

std::filesystem::path shared(const char* name) {
  return std::filesystem::path(HEADROOM_SHARED_DIR) / "data" / name;
}

ObjectFile read(const std::string& text) {
  Result<ObjectFile> file = read_objects(text, "test");
  EXPECT_TRUE(file) << file.error().message;
  return file ? *std::move(file) : ObjectFile();
}

std::string message(const std::string& text) {
  const Result<ObjectFile> file = read_objects(text, "f.json");
  return file ? "no error"
              : std::string(to_string(file.error().code)) + ": " + file.error().message;
}

// A pod named d/web-1 with this spec, and this status.
std::string pod(const std::string& spec, const std::string& status = "{}") {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "d"},)"
         R"( "spec": )" +
         spec + R"(, "status": )" + status + "}";
}

std::string node(const std::string& fields) {
  return R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, )" + fields + "}";
}

TEST(ObjectReader, ClusterOfARealApiServer) {
  const auto path = shared("cluster-200.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const Result<ObjectFile> file = read_object_file(path.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->nodes.size(), 200u);
  EXPECT_EQ(file->pods.size(), 990u);
  EXPECT_EQ(file->node_metrics.size(), 187u);
  EXPECT_EQ(file->elastic_quotas.size(), 4u);
  EXPECT_EQ(file->pod_disruption_budgets.size(), 12u);
  EXPECT_EQ(file->priority_classes.size(), 6u);
  EXPECT_EQ(file->capacity_quotas.size(), 4u);
  EXPECT_TRUE(file->other_kinds.empty());
  EXPECT_EQ(file->near_count, 0u);
  const Node& first = file->nodes.front();
  EXPECT_EQ(first.name, "openb-node-0008");
  EXPECT_EQ(find(first.allocatable, "cpu")->milli_value(), 31920);
  EXPECT_EQ(find(first.allocatable, "memory")->value(), 267386547LL * 1024);
  EXPECT_EQ(*find(first.labels, "topology.kubernetes.io/zone"), "zone-c");

  // An independent reading of the same file: names, nodes and phases of all pods, in order.
  std::ifstream stream(path);
  const auto json = nlohmann::json::parse(stream);
  std::size_t pods = 0;
  for (const auto& item : json["items"]) {
    if (item["kind"] != "Pod") continue;
    ASSERT_LT(pods, file->pods.size());
    const Pod& read_pod = file->pods[pods++];
    EXPECT_EQ(read_pod.name, item["metadata"]["name"]);
    EXPECT_EQ(read_pod.namespace_name, item["metadata"]["namespace"]);
    EXPECT_EQ(read_pod.uid, item["metadata"]["uid"]);
    EXPECT_EQ(read_pod.node_name, item["spec"].value("nodeName", ""));
    EXPECT_EQ(read_pod.phase, item["status"].value("phase", ""));
    EXPECT_EQ(read_pod.containers.size(), item["spec"]["containers"].size());
    EXPECT_EQ(read_pod.tolerations.size(),
              item["spec"].value("tolerations", nlohmann::json::array()).size());
    EXPECT_EQ(read_pod.labels.size(),
              item["metadata"].value("labels", nlohmann::json::object()).size());
  }
  EXPECT_EQ(pods, file->pods.size());
}

TEST(ObjectReader, YamlEqualsJson) {
  const auto json_path = shared("cluster-200.json");
  const auto yaml_path = shared("nodes-200.yaml");
  if (!std::filesystem::exists(json_path) || !std::filesystem::exists(yaml_path)) {
    GTEST_SKIP() << json_path << " or " << yaml_path << " is absent";
  }
  const Result<ObjectFile> json = read_object_file(json_path.string());
  const Result<ObjectFile> yaml = read_object_file(yaml_path.string());
  ASSERT_TRUE(json);
  ASSERT_TRUE(yaml) << yaml.error().message;
  EXPECT_EQ(yaml->nodes, json->nodes);
  EXPECT_EQ(yaml->node_metrics, json->node_metrics);
  EXPECT_TRUE(yaml->pods.empty());
}

TEST(ObjectReader, EveryField) {
  const ObjectFile file = read(R"(
    {"kind": "List", "apiVersion": "v1", "items": [
    {"apiVersion": "v1", "kind": "Pod", "status": {
       "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 4}}, "allocatedResources": {"cpu": 3},
       "phase": "Running", "qosClass": "Burstable",
       "conditions": [
         {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
         {"type": "Initialized", "status": "False", "lastTransitionTime": null},
         {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
       "containerStatuses": [
         {"name": "app", "resources": {"requests": {"cpu": "2"}},
          "allocatedResources": {"cpu": 1.5}},
         {"name": "gone"}]},
     "spec": {
       "containers": [{"name": "app", "restartPolicy": "Always",
          "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 53, "hostPort": 1053,
             "protocol": "UDP", "hostIP": "10.0.0.1"}, {"hostPort": 65535}, {"hostPort": 0}],
          "resources": {"requests": {"memory": "1Gi", "cpu": " 1 "}, "limits": {"cpu": 4}}}],
       "initContainers": [{"name": "side", "restartPolicy": "Always", "ports": null}],
       "resources": {"requests": {"cpu": "3"}, "limits": {"memory": "2Gi"}},
       "overhead": {"cpu": "10m"}, "priority": -7, "nodeName": "n1",
       "nodeSelector": {"b": "2", "a": "1"}, "activeDeadlineSeconds": 60,
       "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
         {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["a", "b"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}]}}},
       "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]},
     "metadata": {"name": "p", "uid": "u", "labels": {"z": "1", "a": ""},
       "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}",
         "scheduling.koordinator.sh/load-estimated-scaling-factors": "{\"cpu\": 80}"},
       "creationTimestamp": "2025-12-31T23:00:00.25-01:30",
       "ownerReferences": [{"kind": "ReplicaSet"}, {"kind": "DaemonSet"}]}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
     "spec": {"unschedulable": true, "taints": [{"key": "k", "effect": "NoExecute"}]},
     "status": {"allocatable": {"pods": "110", "cpu": "8"}}},
    {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": "n1"},
     "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 30}},
     "status": {"updateTime": "0001-01-01T00:00:00Z",
       "nodeMetric": {"nodeUsage": {"resources": {"cpu": "-1500m"}},
         "systemUsage": {"resources": {"cpu": "1"}},
         "aggregatedNodeUsages": [{"duration": "5m0s",
           "usage": {"p95": {"resources": {"cpu": "3"}}, "avg": {}}}]},
       "podsMetric": [{"namespace": "d", "name": "p", "priority": "koord-prod",
         "podUsage": {"resources": {"memory": "1Gi"}}}]}}]})");
  Pod pod;
  pod.namespace_name = "default";
  pod.name = "p";
  pod.uid = "u";
  pod.labels = {{"a", ""}, {"z", "1"}};
  pod.annotations = {{std::string(kEstimatedScalingFactorsAnnotation), "{\"cpu\": 80}"}};
  pod.daemon_set = true;
  constexpr std::int64_t kNewYearUs = 1'767'225'600'000'000;
  pod.creation_us = kNewYearUs + 1'800'250'000;
  pod.node_name = "n1";
  const Quantity one = Quantity::from_value(1);
  const Quantity gi = Quantity::from_value(1 << 30);
  Container app;
  app.name = "app";
  app.requests = {{"cpu", one}, {"memory", gi}};
  app.limits = {{"cpu", Quantity::from_value(4)}};
  app.actuated_requests = {{"cpu", Quantity::from_value(2)}};
  app.allocated_requests = {{"cpu", Quantity::from_milli(1500)}};
  app.ports = {{1053, PortProtocol::kUdp, "10.0.0.1"}, {65535, PortProtocol::kTcp, ""}};
  pod.containers = {app};
  Container side;
  side.name = "side";
  side.restart_always = true;
  pod.init_containers = {side};
  pod.pod_requests = {{"cpu", Quantity::from_value(3)}};
  pod.pod_limits = {{"memory", Quantity::from_value(2LL << 30)}};
  pod.overhead = {{"cpu", Quantity::from_milli(10)}};
  pod.priority = -7;
  pod.node_selector = {{"a", "1"}, {"b", "2"}};
  pod.required_node_affinity = {{{{"zone", "In", {"a", "b"}}}, {}},
                                {{}, {{"metadata.name", "NotIn", {"n2"}}}}};
  pod.tolerations = {{"k", "Equal", "v", "NoSchedule"}};
  pod.active_deadline_seconds = 60;
  pod.phase = "Running";
  pod.qos_class = "Burstable";
  pod.scheduled = PodCondition{true, kNewYearUs};
  pod.initialized = PodCondition{false, std::nullopt};
  pod.resize_infeasible = true;
  pod.actuated_requests = {{"cpu", Quantity::from_value(2)}};
  pod.allocated_requests = {{"cpu", Quantity::from_value(3)}};
  ASSERT_EQ(file.pods.size(), 1u);
  EXPECT_EQ(file.pods[0], pod);

  Node node;
  node.name = "n1";
  node.unschedulable = true;
  node.taints = {{"k", "", "NoExecute"}};
  node.allocatable = {{"cpu", Quantity::from_value(8)}, {"pods", Quantity::from_value(110)}};
  EXPECT_EQ(file.nodes, std::vector<Node>{node});

  NodeMetric metric;
  metric.name = "n1";
  metric.report_interval_seconds = 30;
  metric.has_node_metric = true;
  metric.node_usage = {{"cpu", Quantity::from_milli(-1500)}};
  metric.system_usage = {{"cpu", one}};
  metric.aggregated = {{300'000'000, {{"avg", {}}, {"p95", {{"cpu", Quantity::from_value(3)}}}}}};
  metric.pods = {{"d", "p", {{"memory", gi}}, "koord-prod"}};
  EXPECT_EQ(file.node_metrics, std::vector<NodeMetric>{metric});
}

TEST(ObjectReader, Forms) {
  const std::string a = node(R"("spec": {})");
  const std::string b = pod("{}");
  const std::string secret = R"({"apiVersion": "v1", "kind": "Secret"})";
  for (const std::string& text :
       {a + b, a + "\n" + b + "\n",
        R"({"apiVersion":"v1","items":[)" + a + "," + b +
            R"(],"kind":"List","metadata":{"x":[1,{}]}})",
        R"({"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n1"}}]} )" + b,
        "\xEF\xBB\xBF" + a + b, "# comment\n---\n" + a + "\n---\n" + b,
        "apiVersion: v1\nkind: List\nitems:\n- " + a + "\n- " + b}) {
    const ObjectFile file = read(text);
    ASSERT_EQ(file.nodes.size(), 1u) << text;
    ASSERT_EQ(file.pods.size(), 1u) << text;
    EXPECT_EQ(file.nodes[0].name, "n1");
    EXPECT_EQ(file.pods[0].name, "web-1");
    EXPECT_TRUE(file.other_kinds.empty());
  }
  EXPECT_EQ(read(secret + secret).other_kinds,
            (std::map<std::string, std::uint64_t>{{"v1/Secret", 2}}));
  for (const char* empty :
       {"", " \n", "---\n", "# nothing\n", R"({"kind": "List", "apiVersion": "v1", "items": null})",
        R"({"kind": "List", "apiVersion": "v1"})"}) {
    EXPECT_TRUE(read(empty).nodes.empty()) << empty;
  }
}

TEST(ObjectReader, YamlScalars) {
  const ObjectFile file = read(
      "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  labels:\n    a: \"yes\"\n    b: "
      "'null'\n"
      "    c: \"007\"\n    d: 1.2.3\n    e: !!str 5\n    f: |\n      two\n      \"lines\"\n"
      "    g: ~\nspec: &spec\n  unschedulable: yes\nstatus:\n  allocatable: &all\n    cpu: 4\n"
      "    memory: \"8\"\n    pods: 0x10\n    x: 1.5e3\n    y: 010\n    z: .5\n  spec: *spec\n"
      "  allocatable2: *all\n");
  ASSERT_EQ(file.nodes.size(), 1u);
  const Node& n = file.nodes[0];
  EXPECT_EQ(n.labels, (StringMap{{"a", "yes"},
                                 {"b", "null"},
                                 {"c", "007"},
                                 {"d", "1.2.3"},
                                 {"e", "5"},
                                 {"f", "two\n\"lines\"\n"},
                                 {"g", ""}}));
  EXPECT_TRUE(n.unschedulable);
  EXPECT_EQ(n.allocatable, (ResourceList{{"cpu", Quantity::from_value(4)},
                                         {"memory", Quantity::from_value(8)},
                                         {"pods", Quantity::from_value(16)},
                                         {"x", Quantity::from_value(1500)},
                                         {"y", Quantity::from_value(8)},
                                         {"z", Quantity::from_milli(500)}}));
}

TEST(ObjectReader, LastOfEqualKeysWins) {
  const ObjectFile file =
      read(R"({"apiVersion": "v1", "kind": "Pod", "kind": "Node", "metadata": {"name": "x"},
        "metadata": {"name": "y", "labels": {"b": "1", "a": "2", "b": "3"}},
        "status": {"allocatable": {"cpu": "1", "pods": 1, "cpu": "2"}}})");
  ASSERT_EQ(file.nodes.size(), 1u);
  EXPECT_EQ(file.nodes[0].name, "y");
  EXPECT_EQ(file.nodes[0].labels, (StringMap{{"a", "2"}, {"b", "3"}}));
  EXPECT_EQ(find(file.nodes[0].allocatable, "cpu")->value(), 2);
}

TEST(ObjectReader, ElasticQuotas) {
  const ObjectFile file = read(R"(
{"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
 "metadata": {"name": "quota", "namespace": "team-a"},
 "spec": {"max": {"nvidia.com/gpu": 2, "cpu": "20"}, "min": {}},
 "status": {"used": {"cpu": "bad, and not read"}}}
{"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "q"}})");
  ASSERT_EQ(file.elastic_quotas.size(), 2u);
  const ElasticQuota& quota = file.elastic_quotas[0];
  EXPECT_EQ(quota.namespace_name, "team-a");
  EXPECT_EQ(quota.name, "quota");
  ASSERT_TRUE(quota.min && quota.max);
  EXPECT_TRUE(quota.min->empty());
  ASSERT_EQ(quota.max->size(), 2u);
  EXPECT_EQ((*quota.max)[0], std::pair(std::string("cpu"), Quantity::from_value(20)));
  EXPECT_EQ((*quota.max)[1].first, "nvidia.com/gpu");
  EXPECT_EQ(file.elastic_quotas[1].namespace_name, "default");
  EXPECT_FALSE(file.elastic_quotas[1].min || file.elastic_quotas[1].max);
}

TEST(ObjectReader, PodDisruptionBudgets) {
  const ObjectFile file = read(R"(
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
 "metadata": {"name": "b", "namespace": "team-a"},
 "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [
   {"key": "tier", "operator": "NotIn", "values": ["x", "y"]}, {"key": "z", "operator": "Exists"}]}},
 "status": {"disruptionsAllowed": 3, "currentHealthy": 5,
            "disruptedPods": {"web-2": "2026-01-01T00:00:00Z", "web-1": "2026-01-01T00:00:00Z"}}}
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
 "spec": {"selector": {}}}
{"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}})");
  ASSERT_EQ(file.pod_disruption_budgets.size(), 2u);
  const PodDisruptionBudget& budget = file.pod_disruption_budgets[0];
  EXPECT_EQ(
      budget.selector,
      (LabelSelector{{"tier", "NotIn", {"x", "y"}}, {"z", "Exists", {}}, {"app", "In", {"web"}}}));
  EXPECT_EQ(budget.disruptions_allowed, 3);
  EXPECT_EQ(budget.disrupted_pods, (std::vector<std::string>{"web-1", "web-2"}));
  EXPECT_TRUE(matches(budget.selector, {{"app", "web"}, {"z", ""}}));
  EXPECT_FALSE(matches(budget.selector, {{"app", "web"}, {"tier", "x"}, {"z", ""}}));
  EXPECT_EQ(file.pod_disruption_budgets[1].namespace_name, "default");
  EXPECT_TRUE(file.pod_disruption_budgets[1].selector.empty());
  EXPECT_EQ(file.other_kinds.size(), 1u);
}

TEST(ObjectReader, PriorityClasses) {
  const ObjectFile file = read(R"(
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
 "value": -2147483648, "globalDefault": true, "preemptionPolicy": "Never", "description": "d"}
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "none"}})");
  ASSERT_EQ(file.priority_classes.size(), 2u);
  EXPECT_EQ(file.priority_classes[0], (PriorityClass{.name = "high",
                                                     .value = INT32_MIN,
                                                     .global_default = true,
                                                     .preemption_policy = "Never"}));
  EXPECT_EQ(file.priority_classes[1].value, 0);
}

TEST(ObjectReader, CapacityQuotas) {
  const ObjectFile file = read(R"(
{"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityQuota",
 "metadata": {"name": "a", "generation": 3},
 "spec": {"selector": {"matchLabels": {"team": "a"},
                       "matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}, {}]},
          "limits": {"resources": {"nodes": 8, "memory": "64Gi", "cpu": -1, "x": 0.5, "y": "z"}}}}
{"apiVersion": "autoscaling.x-k8s.io/v1alpha1", "kind": "CapacityQuota", "metadata": {"name": "b"}}
{"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "CapacityQuota", "metadata": {"name": "c"}})");
  ASSERT_EQ(file.capacity_quotas.size(), 2u);
  const CapacityQuota& quota = file.capacity_quotas[0];
  EXPECT_EQ(quota.generation, 3);
  // As written: whether a spec can be used is not the reader's to say.
  EXPECT_EQ(quota.selector,
            (LabelSelector{{"zone", "Gt", {"1"}}, {"", "", {}}, {"team", "In", {"a"}}}));
  EXPECT_EQ(
      quota.limits,
      (StringMap{{"cpu", "-1"}, {"memory", "64Gi"}, {"nodes", "8"}, {"x", "0.5"}, {"y", "z"}}));
  EXPECT_EQ(file.capacity_quotas[1],
            (CapacityQuota{.name = "b", .generation = 0, .selector = {}, .limits = {}}));
  EXPECT_EQ(file.other_kinds.size(), 1u);
}

TEST(ObjectReader, ErrorsOfCapacityQuotasNameFieldAndValue) {
  const auto quota = [](const std::string& spec) {
    return message(R"({"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityQuota",)"
                   R"( "metadata": {"name": "q"}, "spec": )" +
                   spec + "}");
  };
  const std::string in_quota = "Invalid: f.json: CapacityQuota q: spec";
  EXPECT_EQ(quota(R"({"limits": [1]})"), in_quota + ".limits: [1] is not an object");
  EXPECT_EQ(quota(R"({"limits": {"resources": 1}})"),
            in_quota + ".limits.resources: 1 is not an object");
  EXPECT_EQ(quota(R"({"limits": {"resources": {"cpu": [1]}}})"),
            in_quota + ".limits.resources.cpu: [1] is not a string");
  EXPECT_EQ(quota(R"({"selector": {"matchExpressions": [{"key": 1}]}})"),
            in_quota + ".selector.matchExpressions[0].key: 1 is not a string");
  EXPECT_EQ(quota(R"({"selector": {"matchLabels": {"a": true}}})"),
            in_quota + ".selector.matchLabels.a: true is not a string");
}

TEST(ObjectReader, NodesAsCapacityQuotasSeeThem) {
  const ObjectFile file = read(R"({"apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z",
                 "annotations": {"headroom/reservation": "r1", "other": "x"}},
    "status": {"capacity": {"memory": "1Gi", "cpu": "4"}, "allocatable": {"cpu": "3"}}})");
  ASSERT_EQ(file.nodes.size(), 1u);
  EXPECT_TRUE(file.nodes[0].deleting);
  EXPECT_EQ(file.nodes[0].annotations, (StringMap{{"headroom/reservation", "r1"}}));
  ASSERT_EQ(file.nodes[0].capacity.size(), 2u);
  EXPECT_EQ(file.nodes[0].capacity[0], std::pair(std::string("cpu"), Quantity::from_value(4)));
  EXPECT_EQ(file.nodes[0].allocatable[0].second, Quantity::from_value(3));
}

TEST(ObjectReader, PodsAsQuotasAndPreemptionSeeThem) {
  const ObjectFile file = read(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "web-1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"containers": [], "priority": 7, "priorityClassName": "high",
             "preemptionPolicy": "PreemptLowerPriority"},
    "status": {"nominatedNodeName": "n1", "startTime": "2026-01-01T00:00:01Z"}})");
  ASSERT_EQ(file.pods.size(), 1u);
  const Pod& read_pod = file.pods[0];
  EXPECT_TRUE(read_pod.deleting);
  EXPECT_EQ(read_pod.priority, 7);
  EXPECT_EQ(read_pod.priority_class_name, "high");
  EXPECT_EQ(read_pod.preemption_policy, "PreemptLowerPriority");
  EXPECT_EQ(read_pod.nominated_node_name, "n1");
  EXPECT_EQ(read_pod.start_us, 1'767'225'601'000'000);
}

TEST(ObjectReader, UnknownFieldsThatAreNearlyAKnownOne) {
  const auto noted = [](const std::string& text) {
    const ObjectFile file = read(text);
    std::string all;
    for (const std::string& field : file.near_fields) all += (all.empty() ? "" : ", ") + field;
    return file.near_count == file.near_fields.size() ? all : all + ", ...";
  };
  EXPECT_EQ(noted(pod(R"({"containers": [{"name": "c", "resources": {"reqests": {"cpu": 1}}}]})")),
            "Pod d/web-1: spec.containers[0].resources.reqests (requests?)");
  EXPECT_EQ(noted(pod(R"({"nodeselector": {"a": "b"}, "tolerationss": []})")),
            "Pod d/web-1: spec.nodeselector (nodeSelector?), "
            "Pod d/web-1: spec.tolerationss (tolerations?)");
  EXPECT_EQ(noted(node(R"("staus": {"allocatable": {"cpu": 1}})")), "Node n1: staus (status?)");
  EXPECT_EQ(noted(node(R"("status": {"allocatables": {"cpu": 1}})")),
            "Node n1: status.allocatables (allocatable?)");
  EXPECT_EQ(noted(R"({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
                      "metadata": {"name": "q", "namespace": "a"}, "spec": {"mix": {}}})"),
            "ElasticQuota a/q: spec.mix (min?)");
  EXPECT_EQ(noted(R"({"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
                      "metadata": {"name": "n1"},
                      "spec": {"metricCollectpolicy": {}, "metricCollectPolicy":
                        {"reportIntervalSecond": 60, "aggregateDurationSeconds": 300}},
                      "status": {"updatTime": "2026-01-01T00:00:00Z",
                        "hostApplicationMetric": [], "prodReclaimableMetric": {},
                        "podsMetric": [{"name": "p", "namespace": "d", "podUsages": {},
                          "podUsage": {"resource": {}, "devices": []}, "qos": "LS"}],
                        "nodeMetric": {"nodeusage": {}, "aggregatedSystemUsages": [],
                          "aggregatedNodeUsages": [{"duration": "5m", "usages": {}}]}}})"),
            "NodeMetric n1: spec.metricCollectpolicy (metricCollectPolicy?), "
            "NodeMetric n1: spec.metricCollectPolicy.reportIntervalSecond (reportIntervalSeconds?),"
            " NodeMetric n1: status.updatTime (updateTime?), "
            "NodeMetric n1: status.podsMetric[0].podUsages (podUsage?), "
            "NodeMetric n1: status.podsMetric[0].podUsage.resource (resources?), "
            "NodeMetric n1: status.nodeMetric.nodeusage (nodeUsage?), "
            "NodeMetric n1: status.nodeMetric.aggregatedNodeUsages[0].usages (usage?)");
  EXPECT_EQ(noted(R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                      "metadata": {"name": "b", "namespace": "a"},
                      "spec": {"minAvailable": 1, "selectors": {}, "selector":
                        {"matchLabel": {"a": "b"}, "matchExpressions": [{"key": "k",
                         "operator": "Exists", "value": []}]}},
                      "status": {"disruptionAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1,
                        "expectedPods": 1, "observedGeneration": 1, "conditions": []}})"),
            "PodDisruptionBudget a/b: spec.selectors (selector?), "
            "PodDisruptionBudget a/b: spec.selector.matchLabel (matchLabels?), "
            "PodDisruptionBudget a/b: spec.selector.matchExpressions[0].value (values?), "
            "PodDisruptionBudget a/b: status.disruptionAllowed (disruptionsAllowed?)");
  EXPECT_EQ(noted(R"({"apiVersion": "autoscaling.x-k8s.io/v1alpha1", "kind": "CapacityQuota",
                      "metadata": {"name": "q"}, "spec": {"limit": {}, "selecter": {},
                      "limits": {"resource": {"cpu": 1}, "resources": {"limits": 1}}},
                      "status": {"used": {}}})"),
            "CapacityQuota q: spec.limit (limits?), CapacityQuota q: spec.selecter (selector?), "
            "CapacityQuota q: spec.limits.resource (resources?)");
  EXPECT_EQ(noted(R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                      "metadata": {"name": "high"}, "values": 1, "globaldefault": true,
                      "description": "d"})"),
            "PriorityClass high: values (value?), PriorityClass high: globaldefault"
            " (globalDefault?)");
  // Fields of Kubernetes that nobody reads, labels, resources and other kinds are none.
  EXPECT_EQ(noted(pod(R"({"hostname": "h", "hostPID": true, "hostIPC": true, "dnsPolicy": "Default",
                          "containers": [{"name": "c", "image": "i", "args": [], "env": [], "tty":
                          true, "resources": {"requests": {"memroy": 1}, "claims": []}}]})",
                      R"({"podIP": "1", "hostIP": "2", "reason": "r", "message": "m"})")),
            "");
  EXPECT_EQ(noted(R"({"apiVersion": "v1", "kind": "Secret", "metadatas": {}, "sepc": {}})"), "");
  // The first by name, all by count.
  std::string many;
  for (int i = 0; i < 25; ++i) many += pod(R"({"nodename": "n"})") + "\n";
  const ObjectFile file = read(many);
  EXPECT_EQ(file.near_count, 25u);
  EXPECT_EQ(file.near_fields.size(), kNearFieldsNamedMax);
}

TEST(ObjectReader, WhatPodsAskForBeyondTheFieldsThatAreRead) {
  const auto asked = [](const std::string& spec) {
    const ObjectFile file = read(pod(spec));
    std::string text;
    for (const NotConsidered what : file.pods.at(0).not_considered.list()) {
      text += (text.empty() ? "" : ", ") + std::string(to_string(what));
    }
    return text;
  };
  const auto affinity = [](const char* kind, const char* rule) {
    return std::string(R"({"affinity": {")") + kind + R"(": {")" + rule +
           R"(DuringSchedulingIgnoredDuringExecution": [{}]}}})";
  };
  EXPECT_EQ(asked("{}"), "");
  EXPECT_EQ(asked(R"({"schedulingGates": [{"name": "g"}]})"), "scheduling gates");
  EXPECT_EQ(asked(R"({"resourceClaims": [{"name": "c"}]})"), "resource claims");
  EXPECT_EQ(asked(affinity("podAffinity", "required")), "required pod affinity");
  EXPECT_EQ(asked(affinity("podAffinity", "preferred")), "preferred pod affinity");
  EXPECT_EQ(asked(affinity("podAntiAffinity", "required")), "required pod anti-affinity");
  EXPECT_EQ(asked(affinity("podAntiAffinity", "preferred")), "preferred pod anti-affinity");
  EXPECT_EQ(asked(affinity("nodeAffinity", "preferred")), "preferred node affinity");
  EXPECT_EQ(asked(R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]})"),
            "hard topology spread constraints");
  EXPECT_EQ(asked(R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]})"),
            "soft topology spread constraints");
  EXPECT_EQ(asked(R"({"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]})"),
            "persistent volume claims");
  EXPECT_EQ(asked(R"({"volumes": [{"name": "a", "ephemeral": {}}]})"), "persistent volume claims");
  for (const char* kind : {"csi", "rbd", "iscsi", "fc", "gcePersistentDisk", "awsElasticBlockStore",
                           "azureDisk", "cinder", "vsphereVolume"}) {
    EXPECT_EQ(asked(std::string(R"({"volumes": [{"name": "a", ")") + kind + R"(": {}}]})"),
              "volumes that not every node can attach")
        << kind;
  }
  // What is empty, null, or the same on every node asks for nothing.
  EXPECT_EQ(asked(R"({"schedulingGates": [], "resourceClaims": null, "affinity": {"podAffinity": {
                      "requiredDuringSchedulingIgnoredDuringExecution": []}, "podAntiAffinity": {}},
                      "topologySpreadConstraints": [], "volumes": [{"name": "a", "emptyDir": {}},
                      {"name": "b", "configMap": {}}, {"name": "c", "hostPath": {"path": "/"}},
                      {"name": "d", "csi": null}]})"),
            "");
  EXPECT_EQ(read(pod(R"({"schedulerName": "packer"})")).pods.at(0).scheduler_name, "packer");
  EXPECT_EQ(message(pod(R"({"volumes": 7})")),
            "Invalid: f.json: Pod d/web-1: spec.volumes: 7 is not a list");
  EXPECT_EQ(message(pod(R"({"schedulingGates": {}})")),
            "Invalid: f.json: Pod d/web-1: spec.schedulingGates: {} is not a list");
}

TEST(ObjectReader, ErrorsOfQuotasBudgetsAndClassesNameFieldAndValue) {
  const auto quota = [](const std::string& spec) {
    return R"({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",)"
           R"( "metadata": {"name": "q", "namespace": "d"}, "spec": )" +
           spec + "}";
  };
  const std::string in_quota = "f.json: ElasticQuota d/q: spec";
  EXPECT_EQ(message(quota(R"({"min": {"cpu": "4x"}})")),
            "Invalid: " + in_quota + ".min.cpu: \"4x\" is not a quantity");
  EXPECT_EQ(message(quota(R"({"max": {"nvidia.com/gpu": -1}})")),
            "Invalid: " + in_quota + ".max[nvidia.com/gpu]: -1 is negative");
  EXPECT_EQ(message(quota(R"({"max": {"memory": "9Ei"}})")),
            "LimitExceeded: " + in_quota + ".max.memory: \"9Ei\" does not fit a 64-bit integer");
  EXPECT_EQ(message(quota(R"({"max": [1]})")),
            "Invalid: " + in_quota + ".max: [1] is not an object");

  const auto budget = [](const std::string& spec, const std::string& status) {
    return R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",)"
           R"( "metadata": {"name": "b", "namespace": "d"}, "spec": )" +
           spec + R"(, "status": )" + status + "}";
  };
  const std::string in_budget = "Invalid: f.json: PodDisruptionBudget d/b: ";
  const auto selector = [&](const std::string& requirement) {
    return message(budget(R"({"selector": {"matchExpressions": [)" + requirement + "]}}", "{}"));
  };
  const std::string first = in_budget + "spec.selector.matchExpressions[0]";
  EXPECT_EQ(selector(R"({"key": "a", "operator": "Gt"})"),
            first + ".operator: \"Gt\" is not In, NotIn, Exists or DoesNotExist");
  EXPECT_EQ(selector(R"({"operator": "Exists"})"), first + ".key: is missing");
  EXPECT_EQ(selector(R"({"key": "a"})"), first + ".operator: is missing");
  EXPECT_EQ(selector(R"({"key": "a", "operator": "In", "values": [5]})"),
            first + ".values[0]: 5 is not a string");
  EXPECT_EQ(message(budget(R"({"selector": {"matchLabels": {"a": 5}}})", "{}")),
            in_budget + "spec.selector.matchLabels.a: 5 is not a string");
  EXPECT_EQ(message(budget("{}", R"({"disruptionsAllowed": "1"})")),
            in_budget + "status.disruptionsAllowed: \"1\" is not a 64-bit integer");
  EXPECT_EQ(message(budget("{}", R"({"disruptedPods": ["a"]})")),
            in_budget + "status.disruptedPods: [\"a\"] is not an object");

  const auto priority_class = [](const std::string& fields) {
    return message(R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",)"
                   R"( "metadata": {"name": "high"}, )" +
                   fields + "}");
  };
  const std::string in_class = "Invalid: f.json: PriorityClass high: ";
  EXPECT_EQ(priority_class(R"("value": 2147483648)"),
            in_class + "value: 2147483648 is not a 32-bit integer");
  EXPECT_EQ(priority_class(R"("value": "9")"), in_class + "value: \"9\" is not a 64-bit integer");
  EXPECT_EQ(priority_class(R"("globalDefault": 1)"),
            in_class + "globalDefault: 1 is not true or false");
  EXPECT_EQ(priority_class(R"("preemptionPolicy": "Always")"),
            in_class + "preemptionPolicy: \"Always\" is not Never or PreemptLowerPriority");
  EXPECT_EQ(message(pod(R"({"preemptionPolicy": "Always"})")),
            "Invalid: f.json: Pod d/web-1: spec.preemptionPolicy: \"Always\" is not Never or "
            "PreemptLowerPriority");
}

TEST(ObjectReader, ErrorsNameSourceObjectFieldAndValue) {
  const auto request = [](const std::string& list) {
    return pod(R"({"containers": [{"name": "c", "resources": {"requests": )" + list + "}}]}");
  };
  const std::string requests = "f.json: Pod d/web-1: spec.containers[0].resources.requests";
  EXPECT_EQ(message(request(R"({"cpu": "4x"})")),
            "Invalid: " + requests + ".cpu: \"4x\" is not a quantity");
  EXPECT_EQ(message(request(R"({"nvidia.com/gpu": "-1"})")),
            "Invalid: " + requests + "[nvidia.com/gpu]: \"-1\" is negative");
  EXPECT_EQ(message(request(R"({"cpu": true})")),
            "Invalid: " + requests + ".cpu: true is not a quantity");
  EXPECT_EQ(message(request(R"({"memory": "9Ei"})")),
            "LimitExceeded: " + requests + ".memory: \"9Ei\" does not fit a 64-bit integer");
  EXPECT_EQ(message(request(R"({"cpu": "9223372036854776"})")),
            "LimitExceeded: " + requests +
                ".cpu: \"9223372036854776\" does not fit a 64-bit integer in thousandths");
  // C would read the name of another node.
  const std::string cut =
      message(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a\u0000b"}})");
  EXPECT_NE(cut.find("metadata.name: \"a\\u0000b\" has a NUL in it"), std::string::npos) << cut;
  EXPECT_EQ(message(request("[1]")), "Invalid: " + requests + ": [1] is not an object");
  EXPECT_EQ(message(pod(R"({"containers": {}})")),
            "Invalid: f.json: Pod d/web-1: spec.containers: {} is not a list");
  const auto port = [](const std::string& fields) {
    return message(pod(R"({"initContainers": [{"ports": [{"hostPort": 1}, {)" + fields + "}]}]}"));
  };
  const std::string ports = "Invalid: f.json: Pod d/web-1: spec.initContainers[0].ports[1].";
  EXPECT_EQ(port(R"("hostPort": 65536)"), ports + "hostPort: 65536 is not a port from 1 to 65535");
  EXPECT_EQ(port(R"("hostPort": -1)"), ports + "hostPort: -1 is not a port from 1 to 65535");
  EXPECT_EQ(port(R"("hostPort": "80")"), ports + "hostPort: \"80\" is not a 64-bit integer");
  EXPECT_EQ(port(R"("protocol": "ICMP")"), ports + "protocol: \"ICMP\" is not TCP, UDP or SCTP");
  EXPECT_EQ(port(R"("hostIP": 1)"), ports + "hostIP: 1 is not a string");
  EXPECT_EQ(message(pod(R"({"nodeName": 5})")),
            "Invalid: f.json: Pod d/web-1: spec.nodeName: 5 is not a string");
  EXPECT_EQ(message(pod(R"({"priority": 2147483648})")),
            "Invalid: f.json: Pod d/web-1: spec.priority: 2147483648 is not a 32-bit integer");
  EXPECT_EQ(message(pod("{}", R"({"conditions": [{}, {"lastTransitionTime": "noon"}]})")),
            "Invalid: f.json: Pod d/web-1: status.conditions[1].lastTransitionTime: \"noon\" is "
            "not a time like 2026-01-01T00:00:00Z");
  EXPECT_EQ(message(node(R"("spec": {"taints": [{"key": "k", "effect": "No"}]})")),
            "Invalid: f.json: Node n1: spec.taints[0].effect: \"No\" is not NoSchedule, "
            "PreferNoSchedule or NoExecute");
  EXPECT_EQ(message(node(R"("spec": {"unschedulable": "true"})")),
            "Invalid: f.json: Node n1: spec.unschedulable: \"true\" is not true or false");
  EXPECT_EQ(message(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {}}})"),
            "Invalid: f.json: item 1: metadata.name: is missing");
  EXPECT_EQ(message(node(R"("spec": {})") + R"({"apiVersion": "v1", "kind": "Pod"})"),
            "Invalid: f.json: item 2: metadata.name: is missing");
  EXPECT_EQ(message(R"({"apiVersion": "v1", "metadata": {"name": "x"}})"),
            "Invalid: f.json: item 1: kind: is missing");
  EXPECT_EQ(message(R"({"kind": "Pod", "metadata": {"name": "x"}})"),
            "Invalid: f.json: Pod default/x: apiVersion: is missing");
  EXPECT_EQ(message(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1",
                        "labels": {"example.com/a": 1}}})"),
            "Invalid: f.json: Node n1: metadata.labels[example.com/a]: 1 is not a string");
  EXPECT_EQ(message("apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {a: yes}}"),
            "Invalid: f.json: Node n1: metadata.labels.a: true is not a string");
}

// The reader looks for ends 64 bytes at a time: what only looks like one stands everywhere.
TEST(ObjectReader, BracketsAndQuotesInStrings) {
  const std::string tricky = R"(]}\"{[\\)";
  for (std::size_t before = 0; before < 130; ++before) {
    const std::string text = std::string(before, '.') + tricky;
    const std::string item =
        node(R"("x": [")" + text + R"("], "spec": {"taints": [{"effect": "NoExecute", "key": ")" +
             text + R"("}]})");
    const ObjectFile file =
        read(R"({"kind": "List", "apiVersion": "v1", "items": [)" + item + "," + item + "]}");
    ASSERT_EQ(file.nodes.size(), 2u) << before;
    ASSERT_EQ(file.nodes[1].taints.size(), 1u) << before;
    EXPECT_EQ(file.nodes[1].taints[0].key, std::string(before, '.') + R"(]}"{[\)") << before;
    EXPECT_EQ(file.nodes[0], file.nodes[1]) << before;
  }
}

TEST(ObjectReader, MalformedText) {
  EXPECT_EQ(message("[]"), "Invalid: f.json: byte 0: malformed JSON: expected an object");
  EXPECT_EQ(message(node(R"("spec": {})") + " 5"),
            "Invalid: f.json: byte 77: malformed JSON: expected an object");
  EXPECT_EQ(message(R"({"kind": "Li)"),
            "Invalid: f.json: byte 9: malformed JSON: expected a value");
  EXPECT_EQ(message(R"({"kind" "List"})"), "Invalid: f.json: byte 8: malformed JSON: expected ':'");
  EXPECT_EQ(message(R"({"kind": "List", "items": [{} {}]})"),
            "Invalid: f.json: byte 30: malformed JSON: expected ',' or ']'");
  // What is skipped must still be JSON.
  for (const char* bad : {R"({"apiVersion": "v1", "kind": "X", "x": tru})",
                          R"({"apiVersion": "v1", "kind": "X", "x": [1 2]})",
                          R"({"apiVersion": "v1", "kind": "X", "x": {"a" 1}})",
                          "{\"apiVersion\": \"v1\", \"kind\": \"X\", \"x\": \"\xFF\"}",
                          R"({"apiVersion": "v1", "kind": "XList", "metadata": tru})"}) {
    EXPECT_NE(message(bad).find("malformed JSON"), std::string::npos) << bad << message(bad);
  }
  EXPECT_EQ(message("kind: [a"),
            "Invalid: f.json: line 1, column 1: not YAML: end of sequence flow not found");
  EXPECT_EQ(message(", a: b"), "Invalid: f.json: line 1, column 1: no value starts here");
  EXPECT_EQ(message("a: &a [*a]"),
            "Invalid: f.json: line 1, column 8: an alias inside its own anchor");
  EXPECT_EQ(message("a: {<<: {b: c}}"),
            "Unsupported: f.json: line 1, column 5: a merge key (<<); "
            "write the merged fields out in place");
  EXPECT_EQ(message("[a, b]: c"), "Invalid: f.json: byte 0: malformed JSON: expected an object");
  EXPECT_EQ(message("? [a, b]\n: c"),
            "Unsupported: f.json: line 1, column 3: a key that is a list or a map");
  EXPECT_EQ(message("a: .inf"), "Unsupported: f.json: line 1, column 4: .inf, which JSON lacks");
  EXPECT_EQ(
      message(R"({"apiVersion": "v1", "kind": "List", "items": [
              {"apiVersion": "v1", "kind": "List", "items": []}]})"),
      "Unsupported: f.json: item 1: a List within a list; its items may stand there directly");
  EXPECT_EQ(message(R"({"apiVersion": "v1", "kind": "PodList", "items": [null]})"),
            "Invalid: f.json: item 1: metadata.name: is missing");
}

TEST(ObjectReader, Limits) {
  const std::string deep =
      R"({"apiVersion": "v1", "kind": "X", "x": )" + std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(message(deep + "}"),
            "LimitExceeded: f.json: item 1 (byte 0): nested more than 128 deep");
  std::string yaml = "x:";
  for (int i = 0; i < 200; ++i) yaml += " [";
  yaml += std::string(200, ']');
  EXPECT_EQ(message(yaml), "LimitExceeded: f.json: line 1, column 258: nested more than 128 deep");
  // Each anchor doubles the one before: 2^40 bytes if it were written out.
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
              "]\n";
  }
  EXPECT_NE(message(laughs).find("aliases expand to more than"), std::string::npos);
  std::string containers = R"({"containers": [{})";
  for (std::size_t i = 0; i < kContainersMax; ++i) containers += ", {}";
  EXPECT_EQ(message(pod(containers + "]}")),
            "LimitExceeded: f.json: Pod d/web-1: spec.containers: has more than 1024 entries");
  const std::string name(kNameBytesMax + 1, 'n');
  EXPECT_EQ(message(pod(R"({"nodeName": ")" + name + "\"}")),
            "LimitExceeded: f.json: Pod d/web-1: spec.nodeName: \"" + name.substr(0, 63) +
                "... has 254 bytes; the limit is 253");
  const std::string big =
      R"({"apiVersion": "v1", "kind": "X", "x": ")" + std::string(kObjectTextBytesMax, 'x') + "\"}";
  EXPECT_NE(message(big).find("bytes in one object; the limit is 16777216"), std::string::npos);
}

TEST(ObjectReader, Files) {
  const Result<ObjectFile> absent = read_object_file("no-such-file.json");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kIo);
  EXPECT_EQ(absent.error().message, "no-such-file.json: No such file or directory");
  const Result<ObjectFile> folder = read_object_file("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "/: Is a directory");
}

TEST(ObjectReader, OneObject) {
  ASSERT_TRUE(read_object(pod("{}"), "test"));
  EXPECT_EQ(std::get<Pod>(*read_object(pod("{}"), "test")).name, "web-1");
  EXPECT_EQ(read_object(R"({"apiVersion": "v1", "kind": "Secret"})", "test").error().message,
            "test: v1/Secret is not read; accepted are one v1/Node, v1/Pod, "
            "slo.koordinator.sh/v1alpha1/NodeMetric, scheduling.x-k8s.io/v1alpha1/ElasticQuota, "
            "policy/v1/PodDisruptionBudget, scheduling.k8s.io/v1/PriorityClass, v1/Namespace, "
            "v1/Service, v1/ReplicationController, apps/v1/ReplicaSet, apps/v1/StatefulSet, "
            "v1/PersistentVolume, v1/PersistentVolumeClaim, storage.k8s.io/v1/StorageClass, "
            "storage.k8s.io/v1/CSINode, storage.k8s.io/v1/CSIDriver, "
            "storage.k8s.io/v1/CSIStorageCapacity or "
            "autoscaling.x-k8s.io/v1beta1/CapacityQuota");
  EXPECT_EQ(read_object("", "test").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read_object(pod("{}") + pod("{}"), "test").error().code, ErrorCode::kInvalid);
}

// A random object, written in every form and with its fields in random order, reads the same; and
// one bad object anywhere refuses the whole text.
class RandomObjects {
 public:
  explicit RandomObjects(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  nlohmann::ordered_json object(std::size_t index) {
    nlohmann::ordered_json object;
    object["apiVersion"] = "v1";
    object["metadata"] = {{"name", "o" + std::to_string(index)},
                          {"labels", {{"a", "1"}, {"b.c/d", word()}, {"e", word()}}},
                          {"managedFields", {{{"x", 1}, {"y", nullptr}}}}};
    if (below(2) == 0) {
      object["kind"] = "Node";
      object["status"] = {{"allocatable", resources()}, {"conditions", {word(), 5, true}}};
    } else {
      object["kind"] = "Pod";
      object["spec"] = {{"containers", nlohmann::ordered_json::array()}, {"nodeName", word()}};
      for (std::size_t i = below(3); i > 0; --i) {
        object["spec"]["containers"].push_back(
            {{"name", word()},
             {"resources", {{"requests", resources()}, {"limits", resources()}}},
             {"env", {word(), word()}}});
      }
      object["status"] = {{"phase", word()}};
    }
    return object;
  }

  // The same value with the fields of every object in another order.
  nlohmann::ordered_json shuffled(const nlohmann::ordered_json& value) {
    if (value.is_array()) {
      nlohmann::ordered_json result = nlohmann::ordered_json::array();
      for (const auto& inner : value) result.push_back(shuffled(inner));
      return result;
    }
    if (!value.is_object()) return value;
    std::vector<std::string> keys;
    for (const auto& [key, inner] : value.items()) keys.push_back(key);
    std::shuffle(keys.begin(), keys.end(), random_);
    nlohmann::ordered_json result = nlohmann::ordered_json::object();
    for (const std::string& key : keys) result[key] = shuffled(value[key]);
    return result;
  }

 private:
  std::string word() {
    const char* const kWords[] = {"",     "a",        "\"quoted\"",  "back\\slash",
                                  "{[]}", "\xC3\xA4", "line\nbreak", "true",
                                  "12",   "Running"};
    return kWords[below(std::size(kWords))];
  }
  nlohmann::ordered_json resources() {
    nlohmann::ordered_json list = nlohmann::ordered_json::object();
    if (below(2) == 0) list["memory"] = std::to_string(below(1000)) + "Mi";
    if (below(2) == 0) list["cpu"] = below(64);
    if (below(2) == 0) list["example.com/x"] = "0.5";
    return list;
  }

  std::mt19937_64 random_;
};

TEST(ObjectReader, FormAndOrderDoNotMatter) {
  RandomObjects random(test_seed());
  for (int round = 0; round < 300; ++round) {
    std::string lines, pretty, yaml;
    nlohmann::ordered_json list = {
        {"apiVersion", "v1"}, {"kind", "List"}, {"items", nlohmann::ordered_json::array()}};
    const std::size_t size = 1 + random.below(6);
    std::string with_bad;
    const std::size_t bad = random.below(size);
    for (std::size_t i = 0; i < size; ++i) {
      const auto object = random.object(i);
      lines += object.dump() + "\n";
      const auto other = random.shuffled(object);
      list["items"].push_back(other);
      pretty += other.dump(4);
      yaml += "---\n" + other.dump() + "\n";
      auto broken = other;
      if (i == bad) broken["metadata"]["labels"]["a"] = 7;
      with_bad += broken.dump() + "\n";
    }
    const ObjectFile expected = read(lines);
    ASSERT_EQ(expected.nodes.size() + expected.pods.size(), size);
    for (const std::string& text :
         {pretty, list.dump(), list.dump(1, '\t'), random.shuffled(list).dump(4), yaml}) {
      const ObjectFile file = read(text);
      ASSERT_EQ(file.nodes, expected.nodes) << text;
      ASSERT_EQ(file.pods, expected.pods) << text;
    }
    ASSERT_NE(message(with_bad).find("o" + std::to_string(bad) + ": metadata.labels.a: 7 is"),
              std::string::npos)
        << message(with_bad);
  }
}

// ImageLocality counts it, as the image that a name left out comes to.
TEST(ObjectReader, AnImageVolumeWithoutAReferenceIsOne) {
  const ObjectFile file = read(pod(
      R"({"volumes": [{"name": "a", "image": {"pullPolicy": "Always"}}, {"name": "b", "image": null},
                      {"name": "c", "image": {"reference": "r/c:1"}}]})"));
  const std::vector<Volume>& volumes = file.pods.at(0).volumes;
  ASSERT_EQ(volumes.size(), 2U);
  EXPECT_EQ(volumes[0].image, ":latest");
  EXPECT_EQ(volumes[1].image, "r/c:1");
}

// Every prefix and every changed byte of a text is read or refused, never worse.
TEST(ObjectReader, DamagedTexts) {
  RandomObjects random(test_seed());
  const std::string text = random.object(0).dump(1) + random.object(1).dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto file = read_objects(std::string_view(text).substr(0, size), "test");
    EXPECT_TRUE(file || !file.error().message.empty());
  }
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto file = read_objects(damaged, "test");
    EXPECT_TRUE(!file || file->nodes.size() + file->pods.size() <= 2u);
  }
}

}  // namespace
}  // namespace headroom::object_reader_test
