// What peers send: objects that cannot be used, and streams that are no frames.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/requests/decode.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_input_test {
namespace {

class Objects : public ServiceTest {};
class Streams : public ServiceTest {};

// --- Objects -----------------------------------------------------------------------------------

// Written, and read back.
template <typename Object, typename WireObject>
Result<Object> round_trip(const Object& object) {
  Builder builder;
  builder.Finish(encode(builder, object));
  Object decoded;
  const auto* root = flatbuffers::GetRoot<WireObject>(builder.GetBufferPointer());
  if (auto done = decode(*root, decoded); !done) return tl::unexpected(done.error());
  return decoded;
}

TEST_F(Objects, ComeBackAsTheyWere) {
  const ClusterGenerator generator({.nodes = 300, .pods = 2'000, .seed = 11});
  Pod pod;
  Node node;
  NodeMetric metric;
  // Into objects that held others before: nothing of those is left.
  const auto check = [](const auto& object, auto& decoded, auto* wire_type) {
    Builder builder;
    builder.Finish(encode(builder, object));
    using Wire = std::remove_pointer_t<decltype(wire_type)>;
    ASSERT_TRUE(decode(*flatbuffers::GetRoot<Wire>(builder.GetBufferPointer()), decoded));
    EXPECT_EQ(object, decoded) << object.name;
  };
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    check(generator.node(n), node, static_cast<wire::Node*>(nullptr));
    if (generator.has_node_metric(n)) {
      check(generator.node_metric(n), metric, static_cast<wire::NodeMetric*>(nullptr));
    }
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    check(generator.pod(p), pod, static_cast<wire::Pod*>(nullptr));
  }
  // What the generator never sets.
  Pod full = pod_of("full", 1, "n1");
  full.priority = 0;
  full.pod_requests = full.pod_limits = full.overhead = cores(2);
  full.required_node_affinity.emplace();
  full.active_deadline_seconds = 5;
  full.daemon_set = full.resize_infeasible = true;
  full.actuated_requests = cores(3);
  full.allocated_requests = cores(4);
  full.scheduled = PodCondition{.is_true = true, .last_transition_us = 4};
  full.initialized = PodCondition{};
  full.start_us = 6;
  full.nominated_node_name = "n2";
  full.deleting = true;
  full.priority_class_name = "high";
  full.preemption_policy = "Never";
  full.init_containers = full.containers;
  full.init_containers[0].restart_always = true;
  full.init_containers[0].actuated_requests.emplace();
  full.containers[0].actuated_requests = cores(3);
  full.containers[0].allocated_requests = cores(4);
  full.containers[0].ports = {{65535, PortProtocol::kSctp, "::1"}, {1, PortProtocol::kTcp, ""}};
  full.containers[0].limits = {{"cpu", Quantity::from_milli(-5)},
                               {"memory", Quantity::from_nanos(1)}};
  check(full, pod, static_cast<wire::Pod*>(nullptr));
  full.required_node_affinity->push_back(
      {.match_expressions = {{"zone", "In", {"a", "b"}}, {"gpu", "Exists", {}}},
       .match_fields = {{"metadata.name", "In", {"n1"}}}});
  check(full, pod, static_cast<wire::Pod*>(nullptr));
  check(Pod(pod_of("bare", 1)), pod, static_cast<wire::Pod*>(nullptr));
  NodeMetric usage;
  usage.name = "n1";
  usage.report_interval_seconds = -1;
  usage.has_node_metric = true;
  usage.system_usage = cores(1);
  usage.aggregated = {{.duration_us = 300, .usage = {{"avg", cores(2)}, {"p95", {}}}}, {}};
  usage.pods = {{"team", "p", cores(1), "koord-prod"}, {}};
  check(usage, metric, static_cast<wire::NodeMetric*>(nullptr));
}

TEST_F(Objects, ListsNeedNoOrder) {
  Node sorted = node_of("n", 8);
  sorted.labels = {{"a", "1"}, {"b", "2"}, {"c", ""}};
  Node shuffled = sorted;
  std::reverse(shuffled.labels.begin(), shuffled.labels.end());
  std::reverse(shuffled.allocatable.begin(), shuffled.allocatable.end());
  ASSERT_NE(shuffled, sorted);
  const auto decoded = round_trip<Node, wire::Node>(shuffled);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, sorted);
}

// The error of an object, or "ok".
template <typename Object, typename WireObject>
std::string decode_error(const Object& object) {
  const auto decoded = round_trip<Object, WireObject>(object);
  if (decoded) return "ok";
  return fmt::format("{}: {}", to_string(decoded.error().code), decoded.error().message);
}
std::string decode_error(const Node& node) { return decode_error<Node, wire::Node>(node); }
std::string decode_error(const Pod& pod) { return decode_error<Pod, wire::Pod>(pod); }
std::string decode_error(const NodeMetric& metric) {
  return decode_error<NodeMetric, wire::NodeMetric>(metric);
}

ResourceList resources(std::size_t count) {
  ResourceList list;
  for (std::size_t r = 0; r < count; ++r) {
    list.emplace_back(fmt::format("r{:03}", r), Quantity::from_value(1));
  }
  return list;
}

TEST_F(Objects, NameWhatIsTwice) {
  Node node = node_of("n", 8);
  node.allocatable = {{"memory", {}}, {"cpu", {}}, {"memory", {}}};
  EXPECT_EQ(decode_error(node), "Invalid: node n: allocatable: \"memory\" comes twice");
  Pod pod = pod_of("p", 1);
  pod.containers.push_back(pod.containers[0]);
  pod.containers[1].limits = {{"cpu", {}}, {"cpu", {}}};
  EXPECT_EQ(decode_error(pod), "Invalid: pod team/p: containers[1].limits: \"cpu\" comes twice");
  pod = pod_of("p", 1);
  pod.node_selector = {{"zone", "a"}, {"zone", "a"}};
  EXPECT_EQ(decode_error(pod), "Invalid: pod team/p: nodeSelector: \"zone\" comes twice");
  NodeMetric metric;
  metric.name = "n";
  metric.aggregated = {{}, {.duration_us = 1, .usage = {{"avg", {}}, {"p50", {}}, {"avg", {}}}}};
  EXPECT_EQ(decode_error(metric),
            "Invalid: nodemetric n: aggregated[1].usage: \"avg\" comes twice");
}

// A node with one resource, whose quantity is any text.
std::string quantity_error(const std::string& quantity) {
  Builder builder;
  const std::vector<Offset<wire::Resource>> allocatable = {
      wire::CreateResourceDirect(builder, "memory", "1Gi"),
      wire::CreateResourceDirect(builder, "cpu", quantity.c_str())};
  builder.Finish(
      wire::CreateNodeDirect(builder, "n", nullptr, nullptr, false, nullptr, &allocatable));
  Node node;
  const auto done = decode(*flatbuffers::GetRoot<wire::Node>(builder.GetBufferPointer()), node);
  if (!done) return fmt::format("{}: {}", to_string(done.error().code), done.error().message);
  return find(node.allocatable, "cpu")->canonical();
}

TEST_F(Objects, NameABadQuantity) {
  EXPECT_EQ(quantity_error("1500m"), "1500m");
  EXPECT_EQ(quantity_error("1e3"), "1e3");
  EXPECT_EQ(quantity_error("4x"), "Invalid: node n: allocatable[1].cpu: \"4x\" is not a quantity");
  EXPECT_EQ(quantity_error(""), "Invalid: node n: allocatable[1].cpu: \"\" is not a quantity");
  EXPECT_EQ(quantity_error("10E").rfind("LimitExceeded: node n: allocatable[1].cpu: \"10E\"", 0),
            0U);
  EXPECT_EQ(quantity_error(std::string(kTextBytesMax, '0')), "0");
  EXPECT_EQ(quantity_error(std::string(kTextBytesMax + 1, '0')),
            "LimitExceeded: node n: allocatable[1].quantity: 1025 bytes: kTextBytesMax is 1024");
}

TEST_F(Objects, ResourcesHaveALimit) {
  Node node = node_of("n", 8);
  for (const std::size_t below : {kResourcesPerListMax - 1, kResourcesPerListMax}) {
    node.allocatable = resources(below);
    EXPECT_EQ(decode_error(node), "ok");
  }
  node.allocatable = resources(kResourcesPerListMax + 1);
  EXPECT_EQ(decode_error(node),
            "LimitExceeded: node n: allocatable: 65 resources: kResourcesPerListMax is 64");
  Pod pod = pod_of("p", 1);
  pod.init_containers.resize(2);
  pod.init_containers[1].actuated_requests = resources(kResourcesPerListMax + 1);
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: initContainers[1].actuatedRequests: 65 resources:"
            " kResourcesPerListMax is 64");
}

TEST_F(Objects, LabelBytesHaveALimit) {
  Pod pod = pod_of("p", 1);
  pod.labels = {{"a", std::string(kLabelBytesMax / 2, 'v')}};
  const std::size_t left = kLabelBytesMax - 1 - kLabelBytesMax / 2 - 1;
  for (const std::size_t below : {left - 1, left}) {
    pod.annotations = {{"b", std::string(below, 'v')}};
    EXPECT_EQ(decode_error(pod), "ok");
  }
  pod.annotations = {{"b", std::string(left + 1, 'v')}};
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: annotations[0].b: labels and annotations of more than"
            " 524288 bytes, which is kLabelBytesMax");
}

TEST_F(Objects, NamesAndListsHaveALimit) {
  Pod pod = pod_of(std::string(kTextBytesMax, 'p'), 1);
  pod.uid = "u";
  EXPECT_EQ(decode_error(pod), "ok");
  pod.node_name = std::string(kTextBytesMax + 1, 'n');
  pod.name = "p";
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: nodeName: 1025 bytes: kTextBytesMax is 1024");
  pod.node_name.clear();
  pod.labels = {{std::string(kTextBytesMax + 1, 'k'), ""}};
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: labels[0].key: 1025 bytes: kTextBytesMax is 1024");
  pod.labels.clear();
  pod.tolerations.resize(kItemsPerListMax);
  EXPECT_EQ(decode_error(pod), "ok");
  pod.tolerations.resize(kItemsPerListMax + 1);
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: tolerations: 4097 items: kItemsPerListMax is 4096");
}

TEST_F(Objects, ErrorsLeadToTheValue) {
  Pod pod = pod_of("p", 1);
  pod.required_node_affinity.emplace(2);
  pod.required_node_affinity->at(1).match_expressions = {
      {"k", "In", {"v", std::string(kTextBytesMax + 1, 'v')}}};
  EXPECT_EQ(decode_error(pod),
            "LimitExceeded: pod team/p: requiredNodeAffinity[1].matchExpressions[0].values[1]:"
            " 1025 bytes: kTextBytesMax is 1024");
}

TEST_F(Objects, PortsAreThoseOfKubernetes) {
  const auto error = [](std::int32_t number, const char* protocol, const std::string& ip) {
    Builder builder;
    const auto text = write_text(builder, "x");
    const auto ports = builder.CreateVector(
        std::vector{wire::CreateContainerPort(builder, 80),
                    wire::CreateContainerPort(builder, number, write_text(builder, protocol),
                                              write_text(builder, ip))});
    const auto container = wire::CreateContainer(builder, 0, 0, 0, false, 0, 0, ports);
    const auto containers = builder.CreateVector(std::vector{container});
    builder.Finish(
        wire::CreatePod(builder, text, text, text, 0, 0, false, 0, 0, containers, containers));
    Pod pod;
    const auto decoded = decode(*flatbuffers::GetRoot<wire::Pod>(builder.GetBufferPointer()), pod);
    return decoded
               ? fmt::format("ok {}", pod.init_containers[0].ports[1].host_port)
               : fmt::format("{}: {}", to_string(decoded.error().code), decoded.error().message);
  };
  EXPECT_EQ(error(65535, "SCTP", "any text"), "ok 65535");
  EXPECT_EQ(error(1, "", ""), "ok 1");
  const std::string at = "Invalid: pod x/x: containers[0].ports[1].";
  EXPECT_EQ(error(0, "TCP", ""), at + "hostPort: 0 is not in [1, 65535]");
  EXPECT_EQ(error(65536, "TCP", ""), at + "hostPort: 65536 is not in [1, 65535]");
  EXPECT_EQ(error(-1, "TCP", ""), at + "hostPort: -1 is not in [1, 65535]");
  EXPECT_EQ(error(80, "tcp", ""), at + "protocol: \"tcp\" is not TCP, UDP or SCTP");
  EXPECT_EQ(error(80, "TCP", std::string(kTextBytesMax + 1, '1')),
            "LimitExceeded: pod x/x: containers[0].ports[1].hostIP: 1025 bytes: kTextBytesMax is"
            " 1024");
}

TEST_F(Objects, TermsAndConstraintsAreThoseOfKubernetes) {
  const auto error = [](auto change) {
    Pod pod = pod_of("p", 1);
    pod.preferred_node_affinity = {{.weight = 1, .preference = {}}};
    pod.pod_affinity.required = {{}};
    pod.pod_anti_affinity.preferred.emplace_back().weight = 100;
    pod.topology_spread.emplace_back();
    change(pod);
    return decode_error(pod);
  };
  const std::string range = " is not in [1, 100]";
  const std::string at = "Invalid: pod team/p: ";
  EXPECT_EQ(error([](Pod&) {}), "ok");
  EXPECT_EQ(error([](Pod& pod) { pod.preferred_node_affinity[0].weight = 101; }),
            at + "preferredNodeAffinity[0].weight: 101" + range);
  EXPECT_EQ(error([](Pod& pod) { pod.pod_anti_affinity.preferred[0].weight = 0; }),
            at + "podAntiAffinity.preferred[0].weight: 0" + range);
  EXPECT_EQ(error([](Pod& pod) { pod.pod_affinity.required[0].weight = 1; }),
            at + "podAffinity.required[0].weight: 1 is not in [0, 0]");
  EXPECT_EQ(error([](Pod& pod) { pod.topology_spread[0].max_skew = 0; }),
            at + "topologySpreadConstraints[0].maxSkew: 0 is not in [1, 2147483647]");
  EXPECT_EQ(error([](Pod& pod) { pod.topology_spread[0].min_domains = -1; }),
            at + "topologySpreadConstraints[0].minDomains: -1 is not in [1, 2147483647]");
  EXPECT_EQ(error([](Pod& pod) {
              pod.required_features = {"A", "A"};
            }),
            at + "requiredFeatures: \"A\" comes twice");
  EXPECT_EQ(error([](Pod& pod) {
              pod.volumes.emplace_back().name = std::string(kTextBytesMax + 1, 'v');
            }),
            "LimitExceeded: pod team/p: volumes[0].name: 1025 bytes: kTextBytesMax is 1024");
}

TEST_F(Objects, WhatIsAbsentIsEmpty) {
  Builder builder;
  const auto text = write_text(builder, "x");
  builder.Finish(wire::CreatePod(builder, text, text, text));
  Pod full = pod_of("full", 1, "n1"), bare;
  full.phase = full.qos_class = full.nominated_node_name = "set";
  full.priority_class_name = full.preemption_policy = "set";
  full.labels = full.annotations = full.node_selector = {{"k", "v"}};
  full.tolerations = {{"k", "Exists", "", ""}};
  full.priority = 3;
  full.overhead = full.pod_requests = full.pod_limits = cores(1);
  full.daemon_set = full.deleting = true;
  full.start_us = 1;
  full.pod_affinity.required.emplace_back();
  full.pod_anti_affinity.preferred.emplace_back().weight = 1;
  full.preferred_node_affinity = {{.weight = 1, .preference = {}}};
  full.topology_spread.emplace_back();
  full.volumes.emplace_back().claim = "c";
  full.scheduling_gates = full.required_features = {"set"};
  full.controller.emplace();
  bare.namespace_name = bare.name = bare.uid = "x";
  ASSERT_TRUE(decode(*flatbuffers::GetRoot<wire::Pod>(builder.GetBufferPointer()), full));
  EXPECT_EQ(full, bare);
}

// schema/headroom.fbs: "not empty".
TEST_F(Objects, HaveNames) {
  feeder.feed({node_of("n1", 8)});
  Pod pod = pod_of("p", 1, "n1");
  pod.namespace_name.clear();
  NodeMetric metric;
  const std::uint64_t id = feeder.facts({Node(), pod_of("", 1), metric, pod});
  for (int change = 0; change < 4; ++change) {
    ASSERT_TRUE(feeder.has_answer()) << change;
    const std::string error = feeder.error(id);
    EXPECT_EQ(error.rfind("Invalid: ", 0), 0U) << error;
    EXPECT_NE(error.find(fmt::format("(change {})", change)), std::string::npos) << error;
  }
}

// An error repeats a name, which may be as long as a frame.
TEST_F(Objects, ErrorsAboutLongNamesFitAFrame) {
  feeder.feed({node_of("n1", 8)});
  const std::string name(std::size_t{5} << 20, 'n');
  Pod pod = pod_of("p", 1);
  const auto short_error = [&](std::uint64_t id) {
    const std::string error = client.error(id);
    EXPECT_LT(error.size(), std::size_t{64} << 10);
  };
  // One string that two fields share.
  short_error(client.ask([&](Builder& builder) {
    const auto shared = write_text(builder, name);
    const auto pods = std::vector{
        wire::CreatePodRef(builder, 0, wire::CreatePod(builder, shared, shared, shared))};
    return wire::CreateEvaluate(builder, builder.CreateVector(pods));
  }));
  short_error(client.evaluate({name}));
  EXPECT_LT(client.reserve_text(pod, name).size(), std::size_t{64} << 10);
}

// A FlatBuffer may point to one string many times: what it takes in memory is limited, not only
// what it takes on the wire. 32 requirements of 4096 values of 1000 bytes are 131 MB out of 20 KB.
TEST_F(Objects, SharedPartsDoNotMultiply) {
  feeder.feed({node_of("n1", 8)});
  std::size_t size = 0;
  const std::uint64_t id = client.ask([&](Builder& builder) {
    const std::vector values(kItemsPerListMax, write_text(builder, std::string(1000, 'v')));
    const auto key = write_text(builder, "k");
    const auto op = write_text(builder, "In");
    const std::vector requirements(
        32, wire::CreateNodeSelectorRequirement(builder, key, op, builder.CreateVector(values)));
    const std::vector terms = {
        wire::CreateNodeSelectorTerm(builder, builder.CreateVector(requirements))};
    const auto affinity = wire::CreateNodeSelector(builder, builder.CreateVector(terms));
    const auto name = write_text(builder, "p");
    wire::PodBuilder pod(builder);
    pod.add_namespace_name(name);
    pod.add_name(name);
    pod.add_uid(name);
    pod.add_required_node_affinity(affinity);
    const auto written = pod.Finish();
    size = builder.GetSize();
    const std::vector refs = {wire::CreatePodRef(builder, 0, written)};
    return wire::CreateEvaluate(builder, builder.CreateVector(refs));
  });
  EXPECT_LT(size, std::size_t{20'000});
  const std::string error = client.error(id);
  EXPECT_EQ(error.rfind("LimitExceeded: pods[0]: pod p/p: ", 0), 0U) << error.substr(0, 200);
}

// --- Streams -----------------------------------------------------------------------------------

Bytes stats_frame(std::uint64_t id) {
  Builder builder;
  finish_frame(builder, id, wire::CreateStats(builder));
  return to_bytes(builder);
}

void set_prefix(Bytes& frame, std::size_t size) {
  const auto prefix = static_cast<flatbuffers::uoffset_t>(size);
  std::memcpy(frame.data(), &prefix, sizeof(prefix));
}

constexpr const char* kMalformedText = "not a Frame of the HDRM schema";

TEST_F(Streams, AnOversizedFrameEndsThem) {
  Bytes frame(sizeof(flatbuffers::uoffset_t));
  set_prefix(frame, kFrameBytesMax);
  client.give(frame);
  EXPECT_FALSE(client.has_answer());  // waits for it
  set_prefix(frame, kFrameBytesMax + 1);
  feeder.give(frame);
  EXPECT_EQ(feeder.error(0), "LimitExceeded: frame of 8388609 bytes: kFrameBytesMax is 8388608");
  EXPECT_TRUE(feeder.closed);
}

TEST_F(Streams, BeforeTheHelloFramesAreSmall) {
  FrameBuffer buffer(kHelloBytesMax);
  Bytes frame(sizeof(flatbuffers::uoffset_t));
  const auto next = [&](std::size_t size) {
    set_prefix(frame, size);
    std::memcpy(buffer.room().data(), frame.data(), frame.size());
    buffer.received(frame.size());
    return buffer.next();
  };
  EXPECT_TRUE(next(kHelloBytesMax));
  buffer = FrameBuffer(kHelloBytesMax);
  const auto refused = next(kHelloBytesMax + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(refused.error().message.find("kHelloBytesMax"), std::string::npos);
  EXPECT_EQ(buffer.fault(), FrameFault::kOversized);
}

TEST_F(Streams, MalformedFramesEndThem) {
  const Bytes good = stats_frame(1);
  std::vector<Bytes> bad;
  for (std::size_t size = sizeof(flatbuffers::uoffset_t); size < good.size(); ++size) {
    bad.emplace_back(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));  // truncated
    set_prefix(bad.back(), size - sizeof(flatbuffers::uoffset_t));
  }
  bad.push_back(good);
  bad.back()[8] ^= 1;  // another file identifier
  for (const std::uint32_t offset : {0U, 1U, 3U, 5U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU}) {
    bad.push_back(good);  // hostile offset of the root
    std::memcpy(bad.back().data() + 4, &offset, sizeof(offset));
  }
  Builder builder;  // no body
  builder.FinishSizePrefixed(wire::CreateUnreserved(builder, 1), wire::FrameIdentifier());
  bad.push_back(to_bytes(builder));
  ASSERT_GT(bad.size(), 20U);
  for (const Bytes& bytes : bad) {
    Client peer(*service);
    peer.greet();
    peer.give(bytes);
    ASSERT_TRUE(peer.has_answer()) << bytes.size();
    const std::string error = peer.error(0);
    EXPECT_EQ(error.rfind("Invalid: frame of ", 0), 0U) << error;
    EXPECT_NE(error.find(kMalformedText), std::string::npos) << error;
    EXPECT_TRUE(peer.closed);
  }
  EXPECT_EQ(client.stats().connections(), 2U);
}

// Every 4 bytes of a frame with many offsets in turn made hostile: refused, or served.
TEST_F(Streams, HostileOffsetsAreRefusedOrHarmless) {
  feeder.feed({node_of("n1", 8)});
  Builder builder;
  const std::vector<PodArg> pods = {pod_of("p", 1), "uid"};
  finish_frame(builder, 3, wire::CreateEvaluate(builder, write(builder, pods), 2, true, true));
  const Bytes good = to_bytes(builder);
  int refused = 0, served = 0;
  for (std::size_t at = sizeof(flatbuffers::uoffset_t); at + 4 <= good.size(); at += 4) {
    for (const std::uint32_t value : {0x7FFFFFF0U, 0x80000000U, 0xFFFFFFFFU, 4U}) {
      Bytes bytes = good;
      std::memcpy(bytes.data() + at, &value, sizeof(value));
      Client peer(*service);
      peer.greet();
      peer.give(bytes);
      ++(peer.closed ? refused : served);
      EXPECT_TRUE(peer.has_answer());
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(served, 10);
  EXPECT_EQ(client.best(pod_of("q", 1)), "n1");
}

TEST_F(Streams, AnUnknownBodyIsUnsupportedAndTheyGoOn) {
  for (const std::uint8_t type : {std::uint8_t{99}, std::uint8_t{255}}) {
    Builder builder;
    const auto body = wire::CreateStats(builder);
    wire::FinishSizePrefixedFrameBuffer(
        builder, wire::CreateFrame(builder, 50, static_cast<wire::Body>(type), body.Union()));
    client.give(bytes_of(builder));
    EXPECT_EQ(client.error(50),
              fmt::format("Unsupported: body: {} is not a request of protocol version 1", type));
  }
  const std::uint64_t id =
      client.ask([](Builder& builder) { return wire::CreateUnreserved(builder, 1); });
  EXPECT_EQ(client.error(id).rfind("Unsupported: body: ", 0), 0U);
  EXPECT_FALSE(client.closed);
  EXPECT_EQ(client.stats().connections(), 2U);
}

// The ids of the frames of `stream`, given in pieces of `piece` bytes. Memory stays below twice the
// most that ever waited.
std::vector<std::uint64_t> ids_of(const Bytes& stream, std::size_t piece) {
  FrameBuffer buffer(kFrameBytesMax);
  std::vector<std::uint64_t> ids;
  std::size_t most_waiting = std::size_t{64} << 10, beyond = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const std::span<std::uint8_t> room = buffer.room();
    beyond += room.empty() || room.size() + buffer.waiting() > 2 * most_waiting;
    const std::size_t size = std::min({piece, room.size(), stream.size() - at});
    std::memcpy(room.data(), stream.data() + at, size);
    buffer.received(size);
    most_waiting = std::max(most_waiting, buffer.waiting());
    at += size;
    for (;;) {
      const auto next = buffer.next();
      if (!next) throw std::logic_error(next.error().message);
      if (next->frame == nullptr) break;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(next->bytes.data()) % 8, 0U);
      EXPECT_EQ(next->bytes.size(),
                flatbuffers::ReadScalar<flatbuffers::uoffset_t>(next->bytes.data()) + 4);
      ids.push_back(next->frame->id());
    }
  }
  EXPECT_EQ(buffer.waiting(), 0U);
  EXPECT_EQ(beyond, 0U);
  return ids;
}

TEST_F(Streams, ComeInAnyPieces) {
  Bytes stream;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    Builder builder;
    if (id % 7 == 0) {
      const std::vector<PodArg> pods(id * 20, pod_of("p", 1));
      finish_frame(builder, id, wire::CreateEvaluate(builder, write(builder, pods)));
    } else {
      finish_frame(builder, id,
                   wire::CreateHelloDirect(builder, 1, 1, std::string(id, 'n').c_str()));
    }
    const Bytes frame = to_bytes(builder);
    stream.insert(stream.end(), frame.begin(), frame.end());
    ids.push_back(id);
  }
  ASSERT_GT(stream.size(), std::size_t{256} << 10);
  for (const std::size_t piece : {1, 3, 1000, 70'000, 1 << 20}) {
    EXPECT_EQ(ids_of(stream, piece), ids) << piece;
  }
}

TEST_F(Streams, APrefixAloneTakesNoMemory) {
  FrameBuffer buffer(kFrameBytesMax);
  Bytes frame(sizeof(flatbuffers::uoffset_t));
  set_prefix(frame, kFrameBytesMax);
  std::size_t received = 0;
  for (std::size_t i = 0; i < (std::size_t{1} << 20); ++i) {
    const std::span<std::uint8_t> room = buffer.room();
    ASSERT_LE(room.size() + received, std::max(2 * received, std::size_t{128} << 10));
    room[0] = i < frame.size() ? frame[i] : 0;
    buffer.received(1);
    ++received;
    const auto next = buffer.next();
    ASSERT_TRUE(next);
    ASSERT_EQ(next->frame, nullptr);
  }
  EXPECT_EQ(buffer.waiting(), received);
}

TEST_F(Streams, AFrameOfTheLargestSizeIsServed) {
  std::vector<Fact> facts;
  Node node = node_of("n", 8);
  node.labels = {{"a", std::string(kLabelBytesMax - 1, 'v')}};
  for (int n = 0; n < 15; ++n) {
    node.name = fmt::format("n{}", n);
    facts.emplace_back(node);
  }
  feeder.feed(facts);
  EXPECT_EQ(client.stats().nodes(), 15U);
}

// A buffer that has received a frame of 6 MiB and `more` bytes of the next one, and handed out the
// frame.
FrameBuffer after_large_frame(std::size_t more) {
  Builder builder;
  const std::string name(std::size_t{6} << 20, 'n');
  finish_frame(builder, 1, wire::CreateHelloDirect(builder, 1, 1, name.c_str()));
  Bytes stream = to_bytes(builder);
  const Bytes next_frame = stats_frame(2);
  stream.insert(stream.end(), next_frame.begin(),
                next_frame.begin() + static_cast<std::ptrdiff_t>(more));
  FrameBuffer buffer(kFrameBytesMax);
  for (std::size_t at = 0; at < stream.size();) {
    const std::span<std::uint8_t> room = buffer.room();
    const std::size_t size = std::min(room.size(), stream.size() - at);
    std::memcpy(room.data(), stream.data() + at, size);
    buffer.received(size);
    at += size;
  }
  EXPECT_NE(buffer.next().value().frame, nullptr);
  EXPECT_EQ(buffer.next().value().frame, nullptr);
  EXPECT_EQ(buffer.waiting(), more);
  return buffer;
}

// An idle connection may keep 1 MiB.
TEST_F(Streams, GiveMemoryBackAfterALargeFrame) {
  FrameBuffer buffer = after_large_frame(0);
  EXPECT_LE(buffer.room().size(), std::size_t{1} << 20);
}

TEST_F(Streams, GiveMemoryBackAlthoughTheNextFrameHasBegun) {
  FrameBuffer buffer = after_large_frame(5);
  EXPECT_LE(buffer.room().size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace headroom::in_memory::service_input_test
