// The client's encoding against the server's decoding, and endpoints.
#include <gtest/gtest.h>

#include "client/decode.h"
#include "client/encode.h"
#include "schema/endpoint.h"
#include "schema/frame.h"
#include "server/requests/decode.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

// What the server reads of what the client wrote.
template <typename Object>
Object through_the_wire(const Object& object) {
  Builder builder;
  const auto change = encode_upsert(builder, object);
  const auto changes = builder.CreateVector(&change, 1);
  finish_frame(builder, 1, wire::CreateFacts(builder, 1, changes));
  flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
  EXPECT_TRUE(wire::VerifySizePrefixedFrameBuffer(verifier));
  const wire::Frame* frame = wire::GetSizePrefixedFrame(builder.GetBufferPointer());
  const wire::Change& read = *frame->body_as_Facts()->changes()->Get(0);
  Object out;
  Result<std::size_t> decoded;
  if constexpr (std::is_same_v<Object, Node>) {
    decoded = decode(*read.fact_as_Node(), out);
  } else if constexpr (std::is_same_v<Object, Pod>) {
    decoded = decode(*read.fact_as_Pod(), out);
  } else if constexpr (std::is_same_v<Object, NodeMetric>) {
    decoded = decode(*read.fact_as_NodeMetric(), out);
  } else if constexpr (std::is_same_v<Object, ElasticQuota>) {
    decoded = decode(*read.fact_as_ElasticQuota(), out);
  } else if constexpr (std::is_same_v<Object, ReferredObject>) {
    Result<ReferredObject> referred = decode(*read.fact_as_ReferredObject());
    if (referred) return *referred;
    decoded = tl::unexpected(referred.error());
  } else if constexpr (std::is_same_v<Object, PodDisruptionBudget>) {
    decoded = decode(*read.fact_as_PodDisruptionBudget(), out);
  } else {
    decoded = decode(*read.fact_as_PriorityClass(), out);
  }
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  return out;
}

TEST(Encode, GeneratedObjectsComeOutAsTheyWentIn) {
  const ClusterGenerator generator({.nodes = 300, .pods = 2000, .seed = 3});
  for (std::uint32_t n = 0; n < 300; ++n) {
    EXPECT_EQ(through_the_wire(generator.node(n)), generator.node(n));
    if (generator.has_node_metric(n)) {
      EXPECT_EQ(through_the_wire(generator.node_metric(n)), generator.node_metric(n));
    }
  }
  for (std::uint32_t p = 0; p < 2000; ++p) {
    EXPECT_EQ(through_the_wire(generator.pod(p)), generator.pod(p));
  }
}

// Every field that the generator leaves empty.
TEST(Encode, EveryFieldOfAPod) {
  Pod pod;
  pod.namespace_name = "team";
  pod.name = "web-1";
  pod.uid = "u-1";
  pod.labels = {{"a", ""}, {"b", "2"}};
  pod.annotations = {{"long", std::string(5000, 'x')}};
  pod.daemon_set = true;
  pod.creation_us = 1;
  pod.node_name = "n1";
  Container container;
  container.name = "main";
  container.requests = {{"cpu", Quantity::from_milli(1)}, {"memory", Quantity::from_value(0)}};
  container.limits = {{"cpu", Quantity::from_nanos(1)}, {"x/y", *Quantity::parse("-3")}};
  container.restart_always = true;
  container.image = "registry/a:1";
  container.ports = {{1, PortProtocol::kUdp, "10.0.0.1"}, {65535, PortProtocol::kTcp, ""}};
  container.actuated_requests = ResourceList{};
  container.allocated_requests = {{"memory", *Quantity::parse("9223372036854775807")}};
  pod.containers = {container};
  pod.init_containers.assign(40, container);  // more than are collected in place
  pod.init_containers.back().actuated_requests.reset();
  pod.pod_requests = {{"cpu", *Quantity::parse("1.5")}};
  pod.pod_limits = {{"cpu", *Quantity::parse("2e3")}};
  pod.overhead = {{"cpu", *Quantity::parse("10u")}};
  pod.priority = 0;
  pod.node_selector = {{"zone", "a"}};
  pod.required_node_affinity = std::vector<NodeSelectorTerm>{
      {.match_expressions = {{"k", "In", {"1", ""}}}, .match_fields = {}},
      {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {"n1"}}}}};
  pod.tolerations = {{"k", "Exists", "", "NoSchedule"}, {"", "", "", ""}};
  pod.active_deadline_seconds = 7;
  pod.phase = "Running";
  pod.qos_class = "Burstable";
  pod.scheduled = PodCondition{.is_true = true, .last_transition_us = 5};
  pod.initialized = PodCondition{.is_true = false, .last_transition_us = std::nullopt};
  pod.resize_infeasible = true;
  pod.actuated_requests = ResourceList{};
  pod.allocated_requests = {{"cpu", Quantity::from_milli(1)}};
  pod.start_us = 8;
  pod.nominated_node_name = "n2";
  pod.deleting = true;
  pod.priority_class_name = "high";
  pod.preemption_policy = "Never";
  pod.scheduler_name = "another";
  pod.not_considered.add(NotConsidered::kResourceClaims);
  pod.preferred_node_affinity = {
      {.weight = 100,
       .preference = {.match_expressions = {{"k", "Gt", {"1"}}}, .match_fields = {}}},
      {.weight = 1, .preference = {}}};
  pod.pod_affinity.required = {{.selector = LabelSelector{{"app", "In", {"web"}}},
                                .namespaces = {"z", "a"},
                                .namespace_selector = std::nullopt,
                                .topology_key = "zone",
                                .weight = 0}};
  pod.pod_anti_affinity.preferred = {{.selector = std::nullopt,
                                      .namespaces = {},
                                      .namespace_selector = LabelSelector{},
                                      .topology_key = "host",
                                      .weight = 7}};
  pod.topology_spread = {{.max_skew = 3,
                          .topology_key = "zone",
                          .hard = true,
                          .selector = LabelSelector{{"app", "Exists", {}}},
                          .match_label_keys = {"hash"},
                          .min_domains = 4,
                          .honors_affinity = false,
                          .honors_taints = true},
                         {},
                         {}};
  pod.topology_spread[1].selector.emplace();
  pod.volumes = {
      {.name = "a", .claim = "c", .ephemeral = false, .image = "", .disk = std::nullopt},
      {.name = "b", .claim = "", .ephemeral = true, .image = "i", .disk = Disk{}},
      {.name = "c",
       .claim = std::nullopt,
       .ephemeral = false,
       .image = "",
       .disk = Disk{.kind = "rbd", .id = "p/i", .monitors = {"m2", "m1"}, .read_only = true}}};
  pod.scheduling_gates = {"b", "a"};
  pod.required_features = {"A", "B"};
  pod.controller =
      OwnerReference{.api_version = "apps/v1", .kind = "ReplicaSet", .name = "web", .uid = "u"};
  EXPECT_EQ(through_the_wire(pod), pod);
  pod.required_node_affinity = std::vector<NodeSelectorTerm>{};  // matches nothing; not absent
  EXPECT_EQ(through_the_wire(pod), pod);
  pod.required_node_affinity.reset();
  pod.priority.reset();
  EXPECT_EQ(through_the_wire(pod), pod);
}

TEST(Encode, EveryFieldOfANode) {
  Node node;
  node.name = "n1";
  node.labels = {{"zone", "a"}};
  node.annotations = {{"a", "b"}};
  node.unschedulable = node.deleting = true;
  node.taints = {{"k", "v", "NoExecute"}};
  node.capacity = node.allocatable = {{"cpu", Quantity::from_value(4)}};
  node.images = {{.names = {"b", "a:1"}, .size_bytes = 1'234'567'890'123}, {}};
  node.declared_features = {"A", "B"};
  EXPECT_EQ(through_the_wire(node), node);
}

TEST(Encode, ObjectsThatOthersReferTo) {
  const ReferredObject objects[] = {
      Namespace{.name = "team", .labels = {{"env", "prod"}}},
      Service{.namespace_name = "team", .name = "web", .selector = StringMap{{"app", "web"}}},
      Service{.namespace_name = "team", .name = "none", .selector = std::nullopt},
      WorkloadController{.kind = WorkloadController::Kind::kStatefulSet,
                         .namespace_name = "team",
                         .name = "db",
                         .selector = LabelSelector{{"app", "NotIn", {"a", "b"}}}},
      CsiNode{.name = "n1", .drivers = {{.name = "ebs", .count = 25}, {"nfs", std::nullopt}}},
      CsiDriver{.name = "ebs", .storage_capacity = true, .prevent_pod_scheduling_if_missing = true},
  };
  for (const ReferredObject& object : objects) {
    EXPECT_EQ(through_the_wire(object), object) << key_of(object);
  }
}

TEST(Encode, EveryFieldOfAMetric) {
  NodeMetric metric;
  metric.name = "n1";
  metric.report_interval_seconds = 60;
  metric.update_time_us = 123;
  metric.has_node_metric = true;
  metric.node_usage = {{"cpu", Quantity::from_milli(1500)}};
  metric.system_usage = {{"memory", Quantity::from_value(7)}};
  metric.aggregated = {{.duration_us = 300'000'000,
                        .usage = {{"avg", {{"cpu", Quantity::from_milli(3)}}}, {"p95", {}}}}};
  metric.pods = {{"team", "web-1", {{"cpu", Quantity::from_milli(2)}}, "koord-prod"}};
  EXPECT_EQ(through_the_wire(metric), metric);
}

TEST(Encode, EveryFieldOfQuotasBudgetsAndClasses) {
  ElasticQuota quota;
  quota.namespace_name = "team";
  quota.name = "quota";
  EXPECT_EQ(through_the_wire(quota), quota);
  quota.min = ResourceList{};  // not absent
  quota.max = {{"cpu", Quantity::from_milli(1500)}, {"nvidia.com/gpu", Quantity::from_value(2)}};
  EXPECT_EQ(through_the_wire(quota), quota);
  PodDisruptionBudget budget;
  budget.namespace_name = "team";
  budget.name = "budget";
  EXPECT_EQ(through_the_wire(budget), budget);
  budget.selector = {{"app", "In", {"web", ""}}, {"tier", "Exists", {}}};
  budget.disruptions_allowed = -1;
  budget.disrupted_pods = {"web-1", "web-2"};
  EXPECT_EQ(through_the_wire(budget), budget);
  PriorityClass priority_class;
  priority_class.name = "high";
  EXPECT_EQ(through_the_wire(priority_class), priority_class);
  priority_class.value = -2'000'000'000;
  priority_class.global_default = true;
  priority_class.preemption_policy = "Never";
  EXPECT_EQ(through_the_wire(priority_class), priority_class);
}

TEST(Encode, QuantitiesKeepTheirValue) {
  Node node;
  node.name = "n";
  for (const char* text :
       {"0", "1", "999m", "1m", "1n", "1001u", "-1", "-250m", "1Ki", "1.5Gi", "9223372036854775807",
        "-9223372036854775807", "1e18", "123456789012345678m"}) {
    node.allocatable = {{"r", *Quantity::parse(text)}};
    EXPECT_EQ(through_the_wire(node), node) << text;
  }
}

TEST(Endpoints, AreReadAndWritten) {
  for (const char* text : {"unix:///run/headroom/headroom.sock", "tcp://127.0.0.1:8610",
                           "tls://[::1]:65535", "tcp://127.0.0.1:0"}) {
    const Result<Endpoint> endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
    EXPECT_EQ(endpoint->text(), text);
  }
  for (const std::string& text :
       {std::string(""), std::string("unix://"), std::string("unix://relative"),
        std::string("tcp://127.0.0.1"), std::string("tcp://:1"), std::string("tcp://a:65536"),
        std::string("tcp://a:1x"), std::string("tcp://::1:80"), std::string("tcp://[::1:80"),
        std::string("http://a:1"), "unix:///" + std::string(108, 'x')}) {
    const Result<Endpoint> endpoint = Endpoint::parse(text);
    ASSERT_FALSE(endpoint.has_value()) << text;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kInvalid);
    EXPECT_NE(endpoint.error().message.find(text), std::string::npos) << endpoint.error().message;
  }
}

// A reply as the client gets it, decoded.
template <typename Reply, typename Build>
auto decoded(const Build& build) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(build(builder));
  return decode(*flatbuffers::GetRoot<Reply>(builder.GetBufferPointer()));
}

TEST(ClientDecode, AReplyThatLeavesAllOutIsEmpty) {
  const auto evaluated =
      decoded<wire::Evaluated>([](Builder& builder) { return wire::CreateEvaluated(builder); });
  EXPECT_TRUE(evaluated.decisions.empty());
  EXPECT_TRUE(evaluated.reserved);
  const auto planned = decoded<wire::CapacityPlanned>(
      [](Builder& builder) { return wire::CreateCapacityPlanned(builder); });
  EXPECT_FALSE(planned.net_break);
  EXPECT_FALSE(planned.peak_break);
  EXPECT_EQ(decoded<wire::StatsReply>([](Builder& builder) {
              return wire::CreateStatsReply(builder);
            }).invalid,
            "");
  EXPECT_TRUE(decoded<wire::PostFiltered>([](Builder& builder) {
                return wire::CreatePostFiltered(builder);
              }).victims.empty());
}

// Whatever a server sends, no number is read beyond its list.
TEST(ClientDecode, ListsSideBySideMayBeOfUnequalLength) {
  const auto evaluated = decoded<wire::Evaluated>([](Builder& builder) {
    const std::vector<std::string> names = {"a", "b"};
    const std::vector<std::int64_t> totals = {70};
    const std::vector<std::uint8_t> plugins = {3, 1};
    const std::vector<std::int32_t> scores = {7, 8, 9};
    const auto node_names = builder.CreateVectorOfStrings(names);
    const auto decision = wire::CreateDecision(
        builder, wire::Code::Success, 5, 2, node_names, 0, builder.CreateVector(totals),
        builder.CreateVector(plugins), 0, builder.CreateVector(scores));
    return wire::CreateEvaluated(builder, 9, builder.CreateVector(&decision, 1));
  });
  ASSERT_EQ(evaluated.decisions.size(), 1u);
  const answers::Decision& decision = evaluated.decisions[0];
  EXPECT_EQ(evaluated.epoch, 9u);
  EXPECT_EQ(decision.nodes, 5u);
  EXPECT_EQ(decision.feasible, 2u);
  ASSERT_EQ(decision.candidates.size(), 2u);
  EXPECT_EQ(decision.candidates[0].node_name, "a");
  EXPECT_EQ(decision.candidates[0].total, 70);
  EXPECT_EQ(decision.candidates[1].total, 0);
  ASSERT_EQ(decision.candidates[1].plugins.size(), 2u);
  EXPECT_EQ(decision.candidates[1].plugins[0].plugin, 3);
  EXPECT_EQ(decision.candidates[1].plugins[0].score, 9);
  EXPECT_EQ(decision.candidates[1].plugins[1].plugin, 1);
  EXPECT_EQ(decision.candidates[1].plugins[1].score, 0);
  EXPECT_EQ(decision.candidates[1].plugins[1].raw, 0);
}

TEST(ClientDecode, SaysWhichNodesMayRunThePodAndWhyOthersMayNot) {
  const auto evaluated = decoded<wire::NodesEvaluated>([](Builder& builder) {
    const std::vector<std::string> names = {"a", "b"}, reasons = {"Insufficient cpu"};
    const std::vector<std::uint16_t> verdicts = {0, 65535};
    const std::vector<std::int64_t> totals = {0, 88};
    const auto verdict = wire::CreateNodeVerdict(builder, wire::Code::Unschedulable, 2,
                                                 builder.CreateVectorOfStrings(reasons));
    const auto all = builder.CreateVector(&verdict, 1);
    const auto node_names = builder.CreateVectorOfStrings(names);
    return wire::CreateNodesEvaluated(builder, 3, 2, 0, all, node_names,
                                      builder.CreateVector(verdicts), builder.CreateVector(totals),
                                      4);
  });
  ASSERT_EQ(evaluated.rows.size(), 2u);
  EXPECT_EQ(evaluated.rows[0].verdict, 0);
  EXPECT_EQ(evaluated.rows[1].verdict, std::nullopt);
  EXPECT_EQ(evaluated.rows[1].node_name, "b");
  EXPECT_EQ(evaluated.rows[1].total, 88);
  EXPECT_EQ(evaluated.verdicts.at(0).reasons, std::vector<std::string>{"Insufficient cpu"});
  EXPECT_EQ(evaluated.next, 4u);
}

TEST(ClientDecode, AReservationThatFailedSaysWhy) {
  const auto evaluated = decoded<wire::Evaluated>([](Builder& builder) {
    const auto reserved = wire::CreateReserved(builder, 1, wire::ErrorCode::Conflict,
                                               builder.CreateString("node n-7: full"));
    return wire::CreateEvaluated(builder, 1, 0, reserved);
  });
  ASSERT_FALSE(evaluated.reserved);
  EXPECT_EQ(evaluated.reserved.error().code, ErrorCode::kConflict);
  EXPECT_EQ(evaluated.reserved.error().message, "node n-7: full");
}

}  // namespace
}  // namespace headroom
