// The service without sockets: every request of the protocol through a peer in memory. Facts are
// compared with an engine in process that has been told the same.
#include "server/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/encode.h"
#include "schema/frame.h"
#include "server/decode.h"
#include "tools/cluster_generator.h"

namespace headroom {
namespace {

using flatbuffers::Offset;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kNowUs = 1'767'225'600 * kSecondUs;  // 2026-01-01T00:00:00Z
constexpr std::uint64_t kIncarnation = 7;

// --- Objects on the wire -----------------------------------------------------------------------

Offset<flatbuffers::String> write(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

template <typename Item, typename Write>
auto write_list(Builder& builder, const std::vector<Item>& items, Write write_item) {
  std::vector<decltype(write_item(items.front()))> written;
  for (const Item& item : items) written.push_back(write_item(item));
  return builder.CreateVector(written);
}

struct Removed {
  wire::Fact kind;
  std::string name, namespace_name;
};
// Of a change that no server knows.
struct UnknownFact {};
using Fact = std::variant<Node, Pod, NodeMetric, Removed, UnknownFact>;

Removed removed_node(const std::string& name) { return {wire::Fact::RemovedNode, name, ""}; }
Removed removed_metric(const std::string& name) {
  return {wire::Fact::RemovedNodeMetric, name, ""};
}
Removed removed_pod(const Pod& pod) {
  return {wire::Fact::RemovedPod, pod.name, pod.namespace_name};
}

Offset<wire::Change> write(Builder& builder, const Fact& fact) {
  if (const auto* node = std::get_if<Node>(&fact)) {
    return wire::CreateChange(builder, wire::Fact::Node, encode(builder, *node).Union());
  }
  if (const auto* pod = std::get_if<Pod>(&fact)) {
    return wire::CreateChange(builder, wire::Fact::Pod, encode(builder, *pod).Union());
  }
  if (const auto* metric = std::get_if<NodeMetric>(&fact)) {
    return wire::CreateChange(builder, wire::Fact::NodeMetric, encode(builder, *metric).Union());
  }
  if (std::holds_alternative<UnknownFact>(fact)) {
    return wire::CreateChange(builder, static_cast<wire::Fact>(77),
                              wire::CreateUnreserved(builder, 1).Union());
  }
  const Removed& removed = std::get<Removed>(fact);
  const auto name = write(builder, removed.name);
  switch (removed.kind) {
    case wire::Fact::RemovedPod:
      return wire::CreateChange(
          builder, removed.kind,
          wire::CreateRemovedPod(builder, write(builder, removed.namespace_name), name).Union());
    case wire::Fact::RemovedNodeMetric:
      return wire::CreateChange(builder, removed.kind,
                                wire::CreateRemovedNodeMetric(builder, name).Union());
    default:
      return wire::CreateChange(builder, removed.kind,
                                wire::CreateRemovedNode(builder, name).Union());
  }
}

void tell(Engine& engine, const Fact& fact) {
  const Result<void> told = std::visit(
      [&](const auto& object) -> Result<void> {
        using Object = std::decay_t<decltype(object)>;
        if constexpr (std::is_same_v<Object, Removed> || std::is_same_v<Object, UnknownFact>) {
          throw std::logic_error("engines are told objects only");
        } else {
          return engine.upsert(object);
        }
      },
      fact);
  if (!told) throw std::invalid_argument(told.error().message);
}

// A pod by uid (text) or whole.
using PodArg = std::variant<std::string, Pod>;

Offset<wire::PodRef> write_ref(Builder& builder, const PodArg& arg) {
  if (const auto* pod = std::get_if<Pod>(&arg)) {
    return wire::CreatePodRef(builder, 0, encode(builder, *pod));
  }
  return wire::CreatePodRef(builder, write(builder, std::get<std::string>(arg)));
}

Offset<flatbuffers::Vector<Offset<wire::PodRef>>> write(Builder& builder,
                                                        const std::vector<PodArg>& pods) {
  return write_list(builder, pods, [&](const PodArg& pod) { return write_ref(builder, pod); });
}

Offset<wire::Reserve> write_reserve(Builder& builder, const PodArg& arg, const std::string& node) {
  const auto pod = write_ref(builder, arg);
  return wire::CreateReserve(builder, pod, write(builder, node));
}

Bytes to_bytes(const Builder& builder) {
  const auto bytes = bytes_of(builder);
  return {bytes.begin(), bytes.end()};
}

// --- A connection ------------------------------------------------------------------------------

struct Asked {
  std::uint32_t top_k = 1;
  bool scores = false, reasons = false;
  bool raw_scores = true;  // where there are scores
  std::optional<std::pair<PodArg, std::string>> reserve = std::nullopt;
};

class Client final : public Peer {
 public:
  explicit Client(Service& service) : service_(service) { service_.connected(*this); }
  ~Client() override {
    if (!gone_) service_.disconnected(*this);
  }
  void disconnect() {
    gone_ = true;
    service_.disconnected(*this);
  }

  // From the service.
  void send(std::span<const std::uint8_t> frame) override {
    EXPECT_FALSE(closed) << "a frame after close()";
    EXPECT_LE(frame.size(), kFrameBytesMax + sizeof(flatbuffers::uoffset_t));
    frames_.emplace_back(frame.begin(), frame.end());
  }
  void close() override { closed = true; }

  // The bytes as a socket would bring them.
  void give(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const std::span<std::uint8_t> room = in_.room();
      const std::size_t size = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), size);
      in_.received(size);
      bytes = bytes.subspan(size);
      while (!closed) {
        const Result<FrameBuffer::Received> next = in_.next();
        if (!next) {
          service_.broken(*this, in_.fault(), next.error());
        } else if (next->frame != nullptr) {
          service_.handle(*this, *next);
        } else {
          break;
        }
      }
    }
  }

  // Writes the body with `create(builder)`, sends it, and returns the frame's id.
  template <typename Create>
  std::uint64_t ask(Create create) {
    Builder builder;
    finish_frame(builder, ++id_, create(builder));
    give(bytes_of(builder));
    return id_;
  }

  // The oldest answer not taken yet; a failure when it has another body or id.
  template <typename Body>
  const Body& take(std::uint64_t id) {
    if (frames_.empty()) throw std::logic_error("the service has not answered");
    last_ = std::move(frames_.front());
    frames_.pop_front();
    flatbuffers::Verifier verifier(last_.data(), last_.size());
    if (!wire::VerifySizePrefixedFrameBuffer(verifier)) throw std::logic_error("not a frame");
    const wire::Frame& frame = *wire::GetSizePrefixedFrame(last_.data());
    EXPECT_EQ(frame.id(), id);
    const Body* body = frame.body_as<Body>();
    if (body != nullptr) return *body;
    std::string what = wire::EnumNameBody(frame.body_type());
    if (const auto* error = frame.body_as_Error()) what += ": " + error->message()->str();
    throw std::logic_error("another answer: " + what);
  }
  bool has_answer() const { return !frames_.empty(); }

  void greet() {
    const std::uint64_t id =
        ask([](Builder& builder) { return wire::CreateHelloDirect(builder, 1, 1, "test"); });
    take<wire::HelloReply>(id);
  }
  void begin(std::int64_t now_us = 0, std::uint64_t incarnation = 0) {
    sequence_ = 0;
    begin_id =
        ask([&](Builder& builder) { return wire::CreateFeedBegin(builder, incarnation, now_us); });
  }
  std::uint64_t facts_as(std::uint64_t sequence, const std::vector<Fact>& facts,
                         std::int64_t now_us = 0) {
    sequence_ = sequence;
    return ask([&](Builder& builder) {
      const auto changes =
          write_list(builder, facts, [&](const Fact& fact) { return write(builder, fact); });
      return wire::CreateFacts(builder, sequence, changes, now_us);
    });
  }
  std::uint64_t facts(const std::vector<Fact>& facts, std::int64_t now_us = 0) {
    return facts_as(sequence_ + 1, facts, now_us);
  }
  std::uint64_t end() {
    return ask([&](Builder& builder) { return wire::CreateFeedEnd(builder, sequence_); });
  }
  void feed(const std::vector<Fact>& all, std::int64_t now_us = 0) {
    begin(now_us);
    for (std::size_t first = 0; first < all.size(); first += kChangesPerFactsMax) {
      const std::size_t size = std::min<std::size_t>(all.size() - first, kChangesPerFactsMax);
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
      facts({at, at + static_cast<std::ptrdiff_t>(size)});
    }
    end();
    EXPECT_FALSE(has_answer());
  }

  std::uint64_t evaluate(const std::vector<PodArg>& pods, const Asked& asked = {}) {
    return ask([&](Builder& builder) {
      Offset<wire::Reserve> first;
      if (asked.reserve) {
        first = write_reserve(builder, asked.reserve->first, asked.reserve->second);
      }
      return wire::CreateEvaluate(builder, write(builder, pods), asked.top_k, asked.scores,
                                  asked.reasons, first, asked.raw_scores);
    });
  }
  const wire::Evaluated& evaluated(const std::vector<PodArg>& pods, const Asked& asked = {}) {
    return take<wire::Evaluated>(evaluate(pods, asked));
  }
  // The best node, or "" where there is none.
  std::string best(const PodArg& pod) {
    const auto* names = evaluated({pod}).decisions()->Get(0)->node_names();
    return names == nullptr ? "" : names->Get(0)->str();
  }
  const wire::Reserved& reserve(const PodArg& pod, const std::string& node) {
    return take<wire::Reserved>(
        ask([&](Builder& builder) { return write_reserve(builder, pod, node); }));
  }
  // "ok", or the code and the message.
  std::string reserve_text(const PodArg& pod, const std::string& node) {
    return reserved_text(reserve(pod, node));
  }
  static std::string reserved_text(const wire::Reserved& reserved) {
    if (reserved.code() == wire::ErrorCode::None) return "ok";
    return fmt::format("{}: {}", wire::EnumNameErrorCode(reserved.code()),
                       text(reserved.message()));
  }
  void unreserve(const Pod& pod, const std::string& uid, const std::string& node) {
    take<wire::Unreserved>(ask([&](Builder& builder) {
      return wire::CreateUnreserveDirect(builder, pod.namespace_name.c_str(), pod.name.c_str(),
                                         uid.c_str(), node.c_str());
    }));
  }
  std::uint64_t place(const std::vector<PodArg>& pods, bool reasons = false) {
    return ask([&](Builder& builder) {
      return wire::CreatePlace(builder, write(builder, pods), reasons);
    });
  }
  // "n1 n2 -": a name, or a dash, per pod.
  std::string place_text(const std::vector<PodArg>& pods) {
    std::string names;
    for (const auto* node : *take<wire::Placed>(place(pods)).node_names()) {
      names += (names.empty() ? "" : " ") + (node->size() == 0 ? "-" : node->str());
    }
    return names;
  }
  const wire::StatsReply& stats(bool digest = false) {
    return take<wire::StatsReply>(
        ask([&](Builder& builder) { return wire::CreateStats(builder, digest); }));
  }
  // "Invalid: message", and the change where the error is about one.
  std::string error(std::uint64_t id) {
    const auto& error = take<wire::Error>(id);
    return fmt::format("{}: {}{}", wire::EnumNameErrorCode(error.code()), text(error.message()),
                       error.change() < 0 ? "" : fmt::format(" (change {})", error.change()));
  }
  std::string stopped() {
    const auto& stop = take<wire::FeedStopped>(0);
    return fmt::format("{}: {}", wire::EnumNameFeedStop(stop.why()), text(stop.message()));
  }

  bool closed = false;
  std::uint64_t begin_id = 0;

 private:
  Service& service_;
  FrameBuffer in_{kFrameBytesMax};
  std::deque<Bytes> frames_;
  Bytes last_;
  std::uint64_t id_ = 0, sequence_ = 0;
  bool gone_ = false;
};

// --- Facts -------------------------------------------------------------------------------------

ResourceList cores(std::int64_t count) { return {{"cpu", Quantity::from_value(count)}}; }

Node node_of(const std::string& name, std::int64_t cpu, std::int64_t pods = 110) {
  Node node;
  node.name = name;
  node.allocatable = {{"cpu", Quantity::from_value(cpu)},
                      {"memory", Quantity::from_value(std::int64_t{64} << 30)},
                      {"pods", Quantity::from_value(pods)}};
  return node;
}

Pod pod_of(const std::string& name, std::int64_t request, const std::string& node_name = "") {
  Pod pod;
  pod.namespace_name = "team";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.node_name = node_name;
  Container& container = pod.containers.emplace_back();
  container.name = "main";
  container.requests = container.limits = cores(request);
  return pod;
}

std::vector<Fact> generated_facts(const ClusterGenerator& generator) {
  std::vector<Fact> facts;
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    facts.emplace_back(generator.node(n));
    if (generator.has_node_metric(n)) facts.emplace_back(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) facts.emplace_back(generator.pod(p));
  return facts;
}

Engine engine_with(const Profile& profile, const std::vector<Fact>& facts, std::int64_t now_us) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  if (!engine->advance(now_us)) throw std::invalid_argument("now_us");
  for (const Fact& fact : facts) tell(*engine, fact);
  return std::move(*engine);
}

Profile profile_of(PluginId plugin) {
  Profile profile;
  profile.filters = {plugin};
  profile.scores = {{plugin, 1}};
  return profile;
}

// Answers as text, to be compared whole.
std::string text_of(const Engine& engine, const Decision& decision, bool scores) {
  std::string all = fmt::format("{} nodes {} feasible {}", static_cast<int>(decision.code),
                                decision.nodes, decision.feasible);
  for (const NodeScore& candidate : decision.candidates) {
    all += fmt::format("\n{} {} {}", static_cast<std::uint32_t>(candidate.node),
                       engine.node_name(candidate.node), candidate.total);
    if (!scores) continue;
    for (const PluginScore& score : candidate.plugins) {
      all += fmt::format(" {} {} {}", to_string(score.plugin), score.raw, score.score);
    }
  }
  for (const ReasonCount& count : decision.reasons) {
    all += fmt::format("\n{}: {}", count.reason, count.nodes);
  }
  return all;
}

std::string text_of(const wire::Decision& decision) {
  std::string all = fmt::format("{} nodes {} feasible {}", static_cast<int>(decision.code()),
                                decision.nodes(), decision.feasible());
  const std::uint32_t count = decision.node_names() == nullptr ? 0 : decision.node_names()->size();
  const std::uint32_t plugins = decision.plugins() == nullptr ? 0 : decision.plugins()->size();
  for (std::uint32_t c = 0; c < count; ++c) {
    all += fmt::format("\n{} {} {}", decision.node_indices()->Get(c),
                       text(decision.node_names()->Get(c)), decision.totals()->Get(c));
    for (std::uint32_t p = 0; p < plugins; ++p) {
      all += fmt::format(" {} {} {}", to_string(static_cast<PluginId>(decision.plugins()->Get(p))),
                         decision.raw_scores()->Get(c * plugins + p),
                         decision.scores()->Get(c * plugins + p));
    }
  }
  if (decision.reasons() != nullptr) {
    for (const wire::ReasonCount* reason : *decision.reasons()) {
      all += fmt::format("\n{}: {}", text(reason->reason()), reason->nodes());
    }
  }
  return all;
}

class ServiceTest : public testing::Test {
 protected:
  explicit ServiceTest(Profile profile = Profile::standard())
      : service(create(std::move(profile))), feeder(*service), client(*service) {
    feeder.greet();
    client.greet();
  }
  ~ServiceTest() override {
    const Result<void> valid = service->engine().validate();
    EXPECT_TRUE(valid) << valid.error().message;
  }

  std::unique_ptr<Service> create(Profile profile) {
    ServiceOptions options;
    options.profile = std::move(profile);
    options.engine.threads = 1;
    options.incarnation = kIncarnation;
    options.wall_clock = [this] { return wall_clock_us; };
    auto made = Service::create(std::move(options), metrics);
    if (!made) throw std::invalid_argument(made.error().message);
    return std::move(*made);
  }

  std::int64_t wall_clock_us = kNowUs;
  Metrics metrics;
  std::unique_ptr<Service> service;
  Client feeder, client;
};

class Hello : public ServiceTest {
 protected:
  std::uint64_t hello(Client& peer, std::uint16_t least, std::uint16_t most,
                      const std::string& name) {
    return peer.ask([&](Builder& builder) {
      return wire::CreateHelloDirect(builder, least, most, name.c_str());
    });
  }
};
class Feeding : public ServiceTest {};
class Resync : public ServiceTest {};
class Evaluating : public ServiceTest {};
class Reserving : public ServiceTest {};
class Placing : public ServiceTest {};
class Explaining : public ServiceTest {};
class Stats : public ServiceTest {};
class ChangingProfile : public ServiceTest {};
class Objects : public ServiceTest {};
class Streams : public ServiceTest {};

// --- Hello -------------------------------------------------------------------------------------

TEST_F(Hello, IsAnsweredWithAllThatAClientHasToKnow) {
  Client peer(*service);
  const auto& reply = peer.take<wire::HelloReply>(hello(peer, 0, 9, "who"));
  EXPECT_EQ(reply.version(), 1);
  EXPECT_EQ(reply.server()->str().rfind("headroomd ", 0), 0U) << reply.server()->str();
  EXPECT_EQ(reply.incarnation(), kIncarnation);
  std::map<std::string, std::uint64_t> limits;
  for (const wire::Limit* limit : *reply.limits()) limits[limit->name()->str()] = limit->value();
  EXPECT_EQ(limits.size(), reply.limits()->size()) << "a name comes twice";
  for (const NamedLimit& limit : kNamedLimits) {
    ASSERT_TRUE(limits.contains(limit.name)) << limit.name;
    EXPECT_EQ(limits[limit.name], limit.value) << limit.name;
  }
  // The engine's, which requests run into as well.
  EXPECT_EQ(limits["kTopKMax"], kTopKMax);
  EXPECT_EQ(limits["kNodesMax"], kNodesMax);
  EXPECT_EQ(limits["kPodsMax"], kPodsMax);
  ASSERT_EQ(reply.plugin_names()->size(), static_cast<std::uint32_t>(kPluginCount));
  for (int p = 0; p < kPluginCount; ++p) {
    EXPECT_EQ(text(reply.plugin_names()->Get(static_cast<std::uint32_t>(p))),
              to_string(static_cast<PluginId>(p)));
  }
  ASSERT_EQ(reply.profiles()->size(), 1U);
  const wire::Profile& profile = *reply.profiles()->Get(0);
  EXPECT_EQ(text(profile.scheduler_name()), "default-scheduler");
  EXPECT_EQ(text(profile.mode()), "Proposal");
  std::string plugins;
  for (const wire::Plugin* plugin : *profile.plugins()) {
    plugins += fmt::format("{} {}, ", text(plugin->name()), plugin->weight());
  }
  EXPECT_EQ(plugins,
            "NodeUnschedulable 0, NodeName 0, TaintToleration 0, NodeAffinity 0,"
            " NodeResourcesFit 1, LimitAware 1, LoadAwareScheduling 1,"
            " NodeResourcesBalancedAllocation 1, ");
  EXPECT_EQ(peer.name, "who");
  EXPECT_FALSE(peer.closed);
}

TEST_F(Hello, OfAnotherVersionIsRefused) {
  for (const auto& [least, most] : {std::pair{2, 3}, {0, 0}, {65535, 65535}}) {
    Client peer(*service);
    const std::uint64_t id =
        hello(peer, static_cast<std::uint16_t>(least), static_cast<std::uint16_t>(most), "x");
    EXPECT_EQ(peer.error(id),
              fmt::format("Unsupported: version: the client speaks {} to {}, this server 1", least,
                          most));
    EXPECT_TRUE(peer.closed);
    EXPECT_FALSE(peer.greeted);
  }
}

TEST_F(Hello, NameHasALimit) {
  for (const std::size_t below : {kClientNameBytesMax - 1, kClientNameBytesMax}) {
    Client peer(*service);
    peer.take<wire::HelloReply>(hello(peer, 1, 1, std::string(below, 'n')));
    EXPECT_FALSE(peer.closed);
  }
  Client peer(*service);
  EXPECT_EQ(peer.error(hello(peer, 1, 1, std::string(kClientNameBytesMax + 1, 'n'))),
            "LimitExceeded: client_name: 257 bytes: kClientNameBytesMax is 256");
  EXPECT_TRUE(peer.closed);
}

TEST_F(Hello, ComesBeforeEverythingElse) {
  const std::vector<std::pair<const char*, std::function<void(Client&)>>> requests = {
      {"FeedBegin", [](Client& peer) { peer.begin(); }},
      {"Facts", [](Client& peer) { peer.facts({node_of("n", 1)}); }},
      {"FeedEnd", [](Client& peer) { peer.end(); }},
      {"Evaluate", [](Client& peer) { peer.evaluate({pod_of("p", 1)}); }},
      {"Place", [](Client& peer) { peer.place({pod_of("p", 1)}); }},
      {"Stats",
       [](Client& peer) { peer.ask([](Builder& builder) { return wire::CreateStats(builder); }); }},
  };
  for (const auto& [name, request] : requests) {
    Client peer(*service);
    request(peer);
    EXPECT_EQ(peer.error(0), fmt::format("Invalid: body: {} before the Hello", name));
    EXPECT_TRUE(peer.closed);
    EXPECT_FALSE(peer.has_answer());
  }
  EXPECT_FALSE(client.stats().resyncing());
}

TEST_F(Hello, IsSaidOnce) {
  EXPECT_EQ(client.error(hello(client, 1, 1, "again")),
            "Invalid: Hello: a connection says it once");
  EXPECT_TRUE(client.closed);
}

TEST_F(Hello, ConnectionsAreCounted) {
  EXPECT_EQ(client.stats().connections(), 2U);
  {
    Client third(*service);
    EXPECT_EQ(client.stats().connections(), 3U);
  }
  EXPECT_EQ(client.stats().connections(), 2U);
}

// --- Feeding -----------------------------------------------------------------------------------

TEST_F(Feeding, FactsWithoutBeginAreIgnoredAndToldOnce) {
  client.facts({node_of("n1", 8)});
  EXPECT_EQ(client.stopped(), "Gap: facts without a FeedBegin");
  client.facts({node_of("n2", 8)});
  client.end();
  EXPECT_EQ(client.stats().nodes(), 0U);
  EXPECT_FALSE(client.stats().ready());
}

TEST_F(Feeding, AGapStopsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.facts_as(3, {node_of("n3", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 where 2 was due");
  feeder.facts_as(2, {node_of("n2", 8)});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), 1U);
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 2U);
  feeder.facts_as(5, {});  // told again, as it fed again
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 5 where 2 was due");
}

TEST_F(Feeding, ASequenceNumberThatComesTwiceStopsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.facts_as(1, {node_of("n2", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 1 where 2 was due");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Feeding, AGapAtItsEndAbortsTheResync) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.ask([](Builder& builder) { return wire::CreateFeedEnd(builder, 2); });
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 2 where 1 was due");
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

TEST_F(Feeding, ARefusedChangeStopsNoOther) {
  feeder.feed({node_of("n0", 8)});
  Node bad = node_of("n2", 8);
  bad.allocatable = {{"cpu", Quantity::from_value(-1)}};
  const std::uint64_t id = feeder.facts(
      {node_of("n1", 8), Node(), removed_node("n0"), UnknownFact(), bad, node_of("n3", 8)});
  EXPECT_EQ(feeder.error(id), "Invalid: Node: metadata.name is empty (change 1)");
  EXPECT_EQ(feeder.error(id),
            "Unsupported: fact_type: 77 is not known; accepted: 1 to 6 (change 3)");
  const std::string negative = feeder.error(id);
  EXPECT_NE(negative.find("n2"), std::string::npos) << negative;
  EXPECT_NE(negative.find("(change 4)"), std::string::npos) << negative;
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), 2U);
  EXPECT_EQ(client.stats().fed_sequence(), 2U);
  EXPECT_EQ(text_of(*client.evaluated({pod_of("p", 8)}, {.top_k = 4}).decisions()->Get(0))
                .find("0 nodes 2 feasible 2"),
            0U);
  feeder.facts({node_of("n4", 8)});  // goes on
  EXPECT_EQ(client.stats().nodes(), 3U);
}

TEST_F(Feeding, AnUnchangedObjectAfterARefusedOneOfItsName) {
  const Pod pod = pod_of("p", 2);
  feeder.feed({node_of("n1", 8), pod});
  Pod bad = pod;
  bad.labels = {{"a", "1"}, {"a", "2"}};
  EXPECT_EQ(feeder.error(feeder.facts({bad})),
            "Invalid: pod team/p: labels: \"a\" comes twice (change 0)");
  EXPECT_EQ(client.best(pod.uid), "n1");
}

TEST_F(Feeding, RawScoresComeOnlyWhereTheyAreAskedFor) {
  feeder.feed({node_of("n1", 8)});
  const wire::Decision& without =
      *client.evaluated({pod_of("p", 1)}, {.scores = true, .raw_scores = false})
           .decisions()
           ->Get(0);
  ASSERT_NE(without.scores(), nullptr);
  EXPECT_EQ(without.scores()->size(), without.plugins()->size());
  EXPECT_EQ(without.raw_scores(), nullptr);
  EXPECT_EQ(client.evaluated({pod_of("p", 1)}).decisions()->Get(0)->raw_scores(), nullptr);
}

TEST_F(Feeding, AReplacedFeederIsTold) {
  feeder.feed({node_of("n1", 8)});
  client.begin();
  EXPECT_EQ(feeder.stopped(), "Replaced: test feeds now");
  feeder.facts({node_of("n2", 8)});
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  client.facts({node_of("n3", 8)});
  feeder.disconnect();  // not the feeder any more: the resync goes on
  EXPECT_TRUE(client.stats().resyncing());
  client.end();
  EXPECT_EQ(client.best(pod_of("p", 1)), "n3");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Feeding, ChangesHaveALimit) {
  const auto nodes = [](std::uint32_t count) {
    std::vector<Fact> facts;
    for (std::uint32_t n = 0; n < count; ++n) facts.emplace_back(node_of(fmt::format("n{}", n), 1));
    return facts;
  };
  feeder.begin();
  feeder.facts(nodes(kChangesPerFactsMax - 1));
  feeder.facts(nodes(kChangesPerFactsMax));
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
  const std::uint64_t id = feeder.facts(nodes(kChangesPerFactsMax + 1));
  EXPECT_EQ(feeder.error(id), "LimitExceeded: changes: 1025: kChangesPerFactsMax is 1024");
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 was refused as a whole");
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
  feeder.facts_as(4, {node_of("more", 1)});
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
}

TEST_F(Feeding, EndWithoutAResyncIsAConflict) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(feeder.error(feeder.end()), "Conflict: FeedEnd: no resync is under way");
  feeder.facts({node_of("n2", 8)});  // and the feeding goes on
  EXPECT_EQ(client.stats().nodes(), 2U);
}

TEST_F(Feeding, AnotherIncarnationIsAConflict) {
  feeder.begin(0, kIncarnation + 1);
  EXPECT_EQ(feeder.error(feeder.begin_id), "Conflict: incarnation: 8; the server's is 7");
  EXPECT_FALSE(client.stats().resyncing());
  feeder.begin(0, kIncarnation);
  EXPECT_TRUE(client.stats().resyncing());
  EXPECT_EQ(client.stats().incarnation(), kIncarnation);
}

TEST_F(Feeding, RemovedObjectsAreGone) {
  const Pod bound = pod_of("bound", 6, "n1");
  const Pod pending = pod_of("pending", 4);
  feeder.feed({node_of("n1", 8), node_of("n2", 2), bound, pending});
  EXPECT_EQ(client.best(pending.uid), "");
  feeder.facts({removed_pod(bound)});
  EXPECT_EQ(client.best(pending.uid), "n1");
  feeder.facts({removed_node("n1"), removed_node("unknown"), removed_metric("n2")});
  EXPECT_EQ(client.best(pending.uid), "");
  feeder.facts({removed_pod(pending)});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.error(client.evaluate({pending.uid})),
            "NotFound: pods[0]: pod: uid uid-pending was not fed as pending");
}

TEST_F(Feeding, TheFeedersTimeCounts) {
  feeder.begin(kNowUs - 100 * kSecondUs);
  feeder.facts({node_of("n1", 8)});
  feeder.end();
  wall_clock_us += 5 * kSecondUs;
  service->tick();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 100 * kSecondUs);
  feeder.facts({}, kNowUs - 90 * kSecondUs);
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  const std::string error = feeder.error(feeder.facts({node_of("n2", 8)}, kNowUs - 95 * kSecondUs));
  EXPECT_EQ(error.rfind("Invalid: ", 0), 0U) << error;
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  EXPECT_EQ(client.stats().nodes(), 2U);
  // Without a time: the server's clock again, for the new state only.
  feeder.begin();
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  feeder.end();
  EXPECT_EQ(service->engine().now_us(), wall_clock_us);
  feeder.begin(kNowUs);
  wall_clock_us += kSecondUs;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), wall_clock_us);
  feeder.end();
  EXPECT_EQ(service->engine().now_us(), kNowUs);
}

TEST_F(Feeding, TheServersClockMovesWithEveryFrameButNotBack) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().now_us(), kNowUs);
  wall_clock_us += 7;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
  wall_clock_us -= 5;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
  feeder.facts({}, kNowUs + 100);  // no time was given at FeedBegin
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
}

TEST_F(Feeding, MetricsExpireByTheClock) {
  NodeMetric metric;
  metric.name = "n1";
  metric.has_node_metric = true;
  metric.report_interval_seconds = 60;
  metric.update_time_us = kNowUs;
  metric.node_usage = cores(1);
  feeder.feed({node_of("n1", 8), metric});
  const auto answer = [&] {
    return text_of(*client.evaluated({pod_of("p", 1)}, {.reasons = true}).decisions()->Get(0));
  };
  EXPECT_EQ(answer().rfind("0 nodes 1 feasible 1", 0), 0U) << answer();
  wall_clock_us += (LoadAwareArgs().node_metric_expiration_seconds + 1) * kSecondUs;
  EXPECT_NE(answer().find("nodeMetric expired: 1"), std::string::npos) << answer();
  feeder.facts({removed_metric("n1")});
  EXPECT_EQ(answer().rfind("0 nodes 1 feasible 1", 0), 0U) << answer();
}

// --- Resync ------------------------------------------------------------------------------------

TEST_F(Resync, DecidesOnTheOldStateUntilItsEnd) {
  const Pod pending = pod_of("pending", 1);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("gone", 8, "n1"), pending});
  EXPECT_TRUE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  feeder.begin();
  feeder.facts({node_of("n1", 8), node_of("n3", 8), pod_of("new", 8, "n3")});
  EXPECT_TRUE(client.stats().resyncing());
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  EXPECT_EQ(client.best(pending.uid), "n2");
  feeder.end();
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.stats().nodes(), 2U);
  EXPECT_EQ(client.stats().pending_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n1");
  EXPECT_EQ(client.error(client.evaluate({pending.uid})),
            "NotFound: pods[0]: pod: uid uid-pending was not fed as pending");
  const std::vector<Fact> mentioned = {node_of("n1", 8), node_of("n3", 8), pod_of("new", 8, "n3")};
  EXPECT_EQ(client.stats(true).digest(),
            engine_with(Profile::standard(), mentioned, kNowUs).digest());
}

TEST_F(Resync, IsNotReadyBeforeItsFirstEnd) {
  EXPECT_FALSE(client.stats().ready());
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  EXPECT_FALSE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 1)), "");
  feeder.end();
  EXPECT_TRUE(client.stats().ready());
}

TEST_F(Resync, AGapAbortsItAndTheOldStateGoesOn) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.facts_as(3, {node_of("n3", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 where 2 was due");
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_TRUE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Resync, ALostFeederAbortsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.disconnect();
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

TEST_F(Resync, BegunTwiceBeginsAnew) {
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  feeder.feed({node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 1)), "n2");
}

TEST_F(Resync, EpochsNeverGoBack) {
  std::uint64_t last = 0;
  const auto grows = [&] {
    EXPECT_GT(client.stats().epoch(), last);
    const std::uint64_t evaluated = client.evaluated({pod_of("p", 1)}).epoch();
    EXPECT_GT(evaluated, last);
    last = client.stats().epoch();
    EXPECT_GE(last, evaluated);
  };
  std::vector<Fact> many;
  for (int n = 0; n < 100; ++n) many.emplace_back(node_of(fmt::format("n{}", n), 8));
  feeder.feed(many);
  grows();
  EXPECT_GE(last, 100U);
  feeder.feed({node_of("n1", 8)});  // its cluster counts from 0
  grows();
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n1"), "ok");
  grows();
  feeder.feed({});
  grows();
  feeder.feed({});
  grows();
}

TEST_F(Resync, CountersGoOn) {
  feeder.feed({node_of("n1", 8)});
  for (int i = 0; i < 3; ++i) client.best(pod_of("p", 1));
  EXPECT_EQ(client.stats().decisions(), 3U);
  feeder.feed({node_of("n1", 8)});
  client.best(pod_of("p", 1));
  EXPECT_EQ(client.stats().decisions(), 4U);
}

TEST_F(Resync, KeepsReservations) {
  const Pod fed = pod_of("fed", 3), whole = pod_of("whole", 2), left = pod_of("left", 1);
  feeder.feed({node_of("n1", 8), fed, left});
  EXPECT_EQ(client.reserve_text(fed.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(whole, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(left.uid, "n1"), "ok");
  EXPECT_EQ(client.stats().reserved_pods(), 3U);
  feeder.begin();
  feeder.facts({node_of("n1", 8), fed});
  const Pod during = pod_of("during", 1);
  EXPECT_EQ(client.reserve_text(during, "n1"), "ok");
  feeder.end();
  // fed 3, whole 2 and during 1 of 8 cores; left was fed before and is no longer.
  EXPECT_EQ(client.stats().reserved_pods(), 3U);
  EXPECT_EQ(client.best(pod_of("p", 2)), "n1");
  EXPECT_EQ(client.best(pod_of("p", 3)), "");
  client.unreserve(whole, whole.uid, "n1");
  EXPECT_EQ(client.best(pod_of("p", 4)), "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
}

TEST_F(Resync, SettlesReservationsOfBoundAndRemovedPods) {
  const Pod bound = pod_of("bound", 3), ended = pod_of("ended", 2);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), bound, ended});
  EXPECT_EQ(client.reserve_text(bound.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(ended.uid, "n1"), "ok");
  Pod done = ended;
  done.node_name = "n1";
  done.phase = "Succeeded";
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("bound", 3, "n2"), done});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n1");
  EXPECT_EQ(client.best(pod_of("p", 5)), "n1");
}

TEST_F(Resync, APodFedAsBoundAndReservedMeanwhileIsBound) {
  const Pod pending = pod_of("p", 3);
  for (const bool fed : {true, false}) {  // as pending, before
    feeder.feed({node_of("n1", 8), node_of("n2", 8), fed ? pending : pod_of("other", 1)});
    feeder.begin();
    feeder.facts({node_of("n1", 8), node_of("n2", 8), pod_of("p", 3, "n1")});
    EXPECT_EQ(client.reserve_text(pending, "n2"), "ok");  // the old state knows no better
    feeder.end();
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << fed;
    EXPECT_EQ(client.reserve_text(pending, "n2"), "Conflict: pod team/p is bound to node n1")
        << fed;
    feeder.feed({node_of("n1", 8), node_of("n2", 8)});  // gone: it counts nowhere
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << fed;
    EXPECT_EQ(client.place_text({pod_of("q", 8), pod_of("r", 8)}), "n1 n2") << fed;
    client.unreserve(pod_of("q", 8), "uid-q", "n1");
    client.unreserve(pod_of("r", 8), "uid-r", "n2");
  }
}

// Reserved as whole pods, which were never fed as pending.
TEST_F(Resync, WhatHappensDuringItSettlesReservations) {
  const std::vector<Fact> nodes = {node_of("n1", 8), node_of("n2", 8)};
  const Pod pod = pod_of("p", 3);
  Pod done = pod_of("p", 3, "n1"), failed = pod_of("p", 3);
  done.phase = "Succeeded";
  failed.phase = "Failed";
  Pod next = pod;
  next.uid = "next";
  const std::vector<std::pair<const char*, std::vector<Fact>>> cases = {
      {"removed", {removed_pod(pod)}},
      {"bound and removed", {pod_of("p", 3, "n1"), removed_pod(pod)}},
      {"succeeded", {done}},
      {"failed without a node", {failed}},
      {"another pod of its name", {next}},
  };
  for (const auto& [what, facts] : cases) {
    feeder.feed(nodes);
    EXPECT_EQ(client.reserve_text(pod, "n1"), "ok") << what;
    feeder.begin();
    feeder.facts(nodes);
    feeder.facts(facts);
    EXPECT_EQ(client.stats().reserved_pods(), 1U) << what;
    feeder.end();
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << what;
    EXPECT_EQ(client.best(pod_of("q", 8)), "n1") << what;
    feeder.feed(nodes);
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << what;
    EXPECT_EQ(client.best(pod_of("q", 8)), "n1") << what;
    client.unreserve(pod, pod.uid, "n1");  // for the next one
  }
}

TEST_F(Resync, AnAbortedOneSettlesNothing) {
  const Pod pending = pod_of("p", 3);
  feeder.feed({node_of("n1", 8), pending});
  EXPECT_EQ(client.reserve_text(pending.uid, "n1"), "ok");
  feeder.begin();
  feeder.facts({node_of("n1", 8), pending, removed_pod(pending)});
  feeder.facts_as(9, {});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 9 where 2 was due");
  // The old state goes on, the reservation with it: it can be undone.
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pending, pending.uid, "n1");
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

// --- Evaluate ----------------------------------------------------------------------------------

TEST_F(Evaluating, ByUidAndWholeAreTheSame) {
  const Pod pending = pod_of("pending", 2);
  feeder.feed({node_of("n1", 4), node_of("n2", 8), pod_of("b", 3, "n1"), pending});
  const Asked asked{.top_k = 4, .scores = true, .reasons = true};
  const std::string by_uid = text_of(*client.evaluated({pending.uid}, asked).decisions()->Get(0));
  EXPECT_EQ(text_of(*client.evaluated({pending}, asked).decisions()->Get(0)), by_uid);
  EXPECT_EQ(by_uid.find("0 nodes 2 feasible 1\n1 n2 "), 0U) << by_uid;
  EXPECT_NE(by_uid.find("\nInsufficient cpu: 1"), std::string::npos) << by_uid;
}

TEST_F(Evaluating, APodIsKnownByUidAsLongAsItWaits) {
  const Pod pending = pod_of("p", 2);
  const std::string not_found = "NotFound: pods[0]: pod: uid uid-p was not fed as pending";
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(client.error(client.evaluate({pending.uid})), not_found);
  feeder.facts({pending});
  EXPECT_EQ(client.best(pending.uid), "n1");
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  feeder.facts({pod_of("p", 2, "n1")});
  EXPECT_EQ(client.error(client.evaluate({pending.uid})), not_found);
  Pod failed = pod_of("q", 2);
  failed.phase = "Failed";
  feeder.facts({pod_of("q", 2), failed});
  EXPECT_EQ(client.stats().pending_pods(), 0U);
  Pod again = pod_of("r", 2);
  feeder.facts({again});
  again.uid = "another";
  feeder.facts({again});
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.best("another"), "n1");
  EXPECT_EQ(client.error(client.evaluate({"uid-r"})),
            "NotFound: pods[0]: pod: uid uid-r was not fed as pending");
}

TEST_F(Evaluating, AskedWithoutAPod) {
  EXPECT_EQ(client.error(client.evaluate({""})),
            "Invalid: pods[0]: pod: neither uid nor pod is given");
  EXPECT_EQ(client.error(client.evaluate({pod_of("p", 1), "nobody"})),
            "NotFound: pods[1]: pod: uid nobody was not fed as pending");
}

TEST_F(Evaluating, AnswersAsTheEngineDoes) {
  const ClusterGenerator generator({.nodes = 60, .pods = 600, .seed = 3, .bound_permille = 850});
  const std::vector<Fact> facts = generated_facts(generator);
  const std::int64_t now_us = generator.options().now_us;
  feeder.feed(facts, now_us);
  Engine engine = engine_with(Profile::standard(), facts, now_us);
  ASSERT_EQ(client.stats(true).digest(), engine.digest());
  std::vector<PodArg> by_uid, whole;
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    if (generator.is_bound(p)) continue;
    pods.push_back(generator.pod(p));
    by_uid.emplace_back(pods.back().uid);
    whole.emplace_back(pods.back());
  }
  ASSERT_GT(pods.size(), 50U);
  std::size_t feasible = 0, refused = 0;
  for (const bool scores : {false, true}) {
    for (const bool reasons : {false, true}) {
      const EvaluateOptions options{.top_k = 5, .plugin_scores = scores, .reasons = reasons};
      const Asked asked{.top_k = 5, .scores = scores, .reasons = reasons};
      const auto expected = engine.evaluate(pods, options);
      ASSERT_TRUE(expected);
      for (const auto* args : {&by_uid, &whole}) {
        const wire::Evaluated& evaluated = client.evaluated(*args, asked);
        ASSERT_EQ(evaluated.decisions()->size(), pods.size());
        EXPECT_EQ(evaluated.reserved(), nullptr);
        for (std::uint32_t p = 0; p < pods.size(); ++p) {
          const wire::Decision& decision = *evaluated.decisions()->Get(p);
          EXPECT_EQ(text_of(decision), text_of(engine, (*expected)[p], scores)) << pods[p].name;
          EXPECT_EQ(scores && decision.feasible() > 0, decision.plugins() != nullptr);
          EXPECT_EQ(scores && decision.feasible() > 0, decision.scores() != nullptr);
          EXPECT_EQ(scores && decision.feasible() > 0, decision.raw_scores() != nullptr);
          feasible += decision.feasible() > 0;
          refused += decision.reasons() != nullptr;
        }
      }
      for (std::uint32_t p = 0; p < 10; ++p) {  // one by one
        const auto one = engine.evaluate(pods[p], options);
        ASSERT_TRUE(one);
        EXPECT_EQ(text_of(*client.evaluated({by_uid[p]}, asked).decisions()->Get(0)),
                  text_of(engine, *one, scores));
      }
    }
  }
  EXPECT_GT(feasible, 100U);
  EXPECT_GT(refused, 100U);
}

TEST_F(Evaluating, TopKHasALimit) {
  std::vector<Fact> nodes;
  for (std::uint32_t n = 0; n < kTopKMax + 5; ++n) {
    nodes.emplace_back(node_of(fmt::format("n{}", n), 8));
  }
  feeder.feed(nodes);
  const Pod pod = pod_of("p", 1);
  for (const std::uint32_t top_k : {1U, kTopKMax - 1, kTopKMax}) {
    const wire::Decision& decision = *client.evaluated({pod}, {.top_k = top_k}).decisions()->Get(0);
    EXPECT_EQ(decision.node_names()->size(), top_k);
    EXPECT_EQ(decision.node_indices()->size(), top_k);
    EXPECT_EQ(decision.totals()->size(), top_k);
  }
  for (const std::uint32_t top_k : {0U, kTopKMax + 1}) {
    for (const std::vector<PodArg>& pods : {std::vector<PodArg>{pod}, {pod, pod}}) {
      const std::string error = client.error(client.evaluate(pods, {.top_k = top_k}));
      EXPECT_NE(error.find(fmt::format("{}", top_k)), std::string::npos) << error;
      EXPECT_NE(error.find("top_k"), std::string::npos) << error;
    }
  }
  // Of all pods together.
  static_assert(kCandidatesPerRequestMax % kTopKMax == 0);
  std::vector<PodArg> pods(kCandidatesPerRequestMax / kTopKMax, pod);
  EXPECT_EQ(client.evaluated(pods, {.top_k = kTopKMax}).decisions()->size(), pods.size());
  pods.emplace_back(pod);
  EXPECT_EQ(client.evaluated(pods, {.top_k = kTopKMax - 100}).decisions()->size(), pods.size());
  EXPECT_EQ(client.error(client.evaluate(pods, {.top_k = kTopKMax})),
            "LimitExceeded: pods * top_k: 17408: kCandidatesPerRequestMax is 16384");
  EXPECT_EQ(client.error(client.evaluate(pods, {.top_k = 0xFFFFFFFF})),
            "LimitExceeded: pods * top_k: 73014444015: kCandidatesPerRequestMax is 16384");
}

TEST_F(Evaluating, PodsHaveALimit) {
  feeder.feed({node_of("n1", 8)});
  const PodArg pod = pod_of("p", 1);
  for (const std::uint32_t count : {kPodsPerRequestMax - 1, kPodsPerRequestMax}) {
    const std::vector<PodArg> pods(count, pod);
    EXPECT_EQ(client.evaluated(pods).decisions()->size(), count);
  }
  EXPECT_EQ(client.error(client.evaluate(std::vector<PodArg>(kPodsPerRequestMax + 1, pod))),
            "LimitExceeded: pods: 1025: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.error(client.evaluate({})),
            "Invalid: pods: 0: at least 1, and kPodsPerRequestMax is 1024");
}

TEST_F(Evaluating, NodeIndicesStay) {
  feeder.feed({node_of("n1", 2), node_of("n2", 8)});
  const auto index = [&](const std::string& name) -> std::int64_t {
    const wire::Decision& decision =
        *client.evaluated({pod_of("p", 1)}, {.top_k = 9}).decisions()->Get(0);
    for (std::uint32_t c = 0; c < decision.node_names()->size(); ++c) {
      if (text(decision.node_names()->Get(c)) == name) return decision.node_indices()->Get(c);
    }
    return -1;
  };
  const std::int64_t n2 = index("n2");
  EXPECT_NE(n2, index("n1"));
  feeder.facts({removed_node("n1"), node_of("n3", 8)});
  EXPECT_EQ(index("n2"), n2);
  EXPECT_EQ(index("n1"), -1);
}

// --- Reserve -----------------------------------------------------------------------------------

TEST_F(Reserving, OneOfTwoGetsTheLastPlace) {
  feeder.feed({node_of("n1", 8), pod_of("b", 6, "n1")});
  Client other(*service);
  other.greet();
  const Pod mine = pod_of("mine", 2), theirs = pod_of("theirs", 2);
  EXPECT_EQ(client.best(mine), "n1");
  EXPECT_EQ(other.best(theirs), "n1");
  EXPECT_EQ(client.reserve_text(mine, "n1"), "ok");
  const std::string refused = other.reserve_text(theirs, "n1");
  EXPECT_EQ(refused.rfind("Conflict: node n1: Insufficient cpu", 0), 0U) << refused;
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(mine, mine.uid, "n1");
  EXPECT_EQ(other.reserve_text(theirs, "n1"), "ok");
}

TEST_F(Reserving, CountsLikeAnAssumedPod) {
  const Pod pod = pod_of("p", 2);
  const std::vector<Fact> facts = {node_of("n1", 8), node_of("n2", 8), pod};
  feeder.feed(facts);
  Engine engine = engine_with(Profile::standard(), facts, kNowUs);
  const std::uint64_t before = client.stats().epoch();
  const auto& reserved = client.reserve(pod.uid, "n2");
  EXPECT_GT(reserved.epoch(), before);
  EXPECT_EQ(reserved.code(), wire::ErrorCode::None);
  ASSERT_TRUE(engine.assume(pod, "n2"));
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

TEST_F(Reserving, OnWhatIsNotThere) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n9"), "NotFound: node n9 is not known");
  EXPECT_EQ(client.reserve_text("uid-p", "n1"), "NotFound: pod: uid uid-p was not fed as pending");
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "").rfind("NotFound", 0), 0U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.stats().pods(), 0U);
}

TEST_F(Reserving, ABoundPodIsAConflict) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("p", 1, "n1")});
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n2"), "Conflict: pod team/p is bound to node n1");
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n1"), "Conflict: pod team/p is bound to node n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, AgainMoves) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  EXPECT_EQ(client.best(pod_of("q", 6)), "n2");
  EXPECT_EQ(client.reserve_text(pod, "n2"), "ok");
  EXPECT_EQ(client.best(pod_of("q", 6)), "n1");
  EXPECT_EQ(client.reserve_text(pod, "n2"), "ok");  // it does not stand in its own way
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pod, pod.uid, "n1");  // not there any more
  EXPECT_EQ(client.best(pod_of("q", 6)), "n1");
  EXPECT_EQ(client.best(pod_of("r", 8)), "n1");
  client.unreserve(pod, pod.uid, "n2");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, ARefusedMoveChangesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 2)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  EXPECT_EQ(client.reserve_text(pod, "n2").rfind("Conflict: node n2", 0), 0U);
  EXPECT_EQ(client.stats(true).digest(), before);
  client.unreserve(pod, pod.uid, "n1");
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

TEST_F(Reserving, UnreserveOfAnotherChangesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  Pod other = pod;
  client.unreserve(pod, "another", "n1");
  client.unreserve(pod, pod.uid, "n2");
  client.unreserve(pod, pod.uid, "n9");
  other.namespace_name = "elsewhere";
  client.unreserve(other, pod.uid, "n1");
  EXPECT_EQ(client.stats(true).digest(), before);
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

TEST_F(Reserving, EndsWhenThePodIsBoundOrGone) {
  const Pod bound = pod_of("bound", 2), gone = pod_of("gone", 2);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), bound, gone});
  EXPECT_EQ(client.reserve_text(bound.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(gone.uid, "n1"), "ok");
  feeder.facts({bound, gone});  // still waiting: nothing changes
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  const std::vector<Fact> after = {node_of("n1", 8), node_of("n2", 8), pod_of("bound", 2, "n2")};
  feeder.facts({after[2], removed_pod(gone)});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.stats(true).digest(), engine_with(Profile::standard(), after, kNowUs).digest());
}

TEST_F(Reserving, EndsWhenAnotherPodHasTheName) {
  Pod pod = pod_of("p", 6);
  feeder.feed({node_of("n1", 8), pod});
  EXPECT_EQ(client.reserve_text(pod.uid, "n1"), "ok");
  pod.uid = "next";
  feeder.facts({pod});
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  feeder.feed({node_of("n1", 8), pod});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

TEST_F(Reserving, AndEvaluateInOne) {
  const Pod first = pod_of("first", 6), second = pod_of("second", 6);
  feeder.feed({node_of("n1", 8), node_of("n2", 7), first, second});
  EXPECT_EQ(client.best(second.uid), "n1");
  {
    const auto& evaluated = client.evaluated({second.uid}, {.reserve = {{first.uid, "n1"}}});
    ASSERT_NE(evaluated.reserved(), nullptr);
    EXPECT_EQ(Client::reserved_text(*evaluated.reserved()), "ok");
    EXPECT_EQ(evaluated.reserved()->epoch(), evaluated.epoch());
    EXPECT_EQ(text(evaluated.decisions()->Get(0)->node_names()->Get(0)), "n2");
  }
  // What is refused is told beside the answer.
  const Pod third = pod_of("third", 6);
  for (const std::vector<PodArg>& pods : {std::vector<PodArg>{second.uid}, {second.uid, second}}) {
    const auto& evaluated = client.evaluated(pods, {.reserve = {{third, "n1"}}});
    EXPECT_EQ(evaluated.reserved()->code(), wire::ErrorCode::Conflict);
    EXPECT_EQ(text(evaluated.decisions()->Get(0)->node_names()->Get(0)), "n2");
  }
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

// The client is told nothing of the reservation, so there must be none.
TEST_F(Reserving, WithARefusedEvaluateReservesNothing) {
  feeder.feed({node_of("n1", 8)});
  for (const std::vector<PodArg>& pods : {std::vector<PodArg>{"nobody"}, {"nobody", "nobody"}}) {
    EXPECT_EQ(client.error(client.evaluate(pods, {.reserve = {{pod_of("p", 6), "n1"}}})),
              "NotFound: pods[0]: pod: uid nobody was not fed as pending");
    EXPECT_EQ(client.stats().reserved_pods(), 0U);
  }
  EXPECT_EQ(client
                .error(client.evaluate({pod_of("q", 1)},
                                       {.top_k = 0, .reserve = {{pod_of("p", 6), "n1"}}}))
                .rfind("Invalid: ", 0),
            0U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, ARefusedEvaluateMovesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  Pod bad = pod_of("bad", 1);
  bad.containers[0].requests = {{"cpu", Quantity::from_value(-1)}};
  const std::vector<std::vector<PodArg>> requests = {{bad}, {pod_of("q", 1), bad}, {"nobody"}};
  for (const std::vector<PodArg>& pods : requests) {
    client.error(client.evaluate(pods, {.reserve = {{pod, "n2"}}}));
    EXPECT_EQ(client.stats(true).digest(), before);
    EXPECT_EQ(client.stats().reserved_pods(), 1U);
  }
  client.unreserve(pod, pod.uid, "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.place_text({pod_of("a", 8), pod_of("b", 8)}), "n1 n2");
}

TEST_F(Reserving, OutlivesTheConnection) {
  feeder.feed({node_of("n1", 8)});
  {
    Client other(*service);
    other.greet();
    EXPECT_EQ(other.reserve_text(pod_of("p", 6), "n1"), "ok");
  }
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  EXPECT_EQ(client.best(pod_of("q", 6)), "");
}

// --- Place -------------------------------------------------------------------------------------

TEST_F(Placing, AnswersAsTheEngineDoes) {
  const ClusterGenerator generator({.nodes = 12, .pods = 300, .seed = 5, .bound_permille = 600});
  const std::vector<Fact> facts = generated_facts(generator);
  const std::int64_t now_us = generator.options().now_us;
  feeder.feed(facts, now_us);
  Engine engine = engine_with(Profile::standard(), facts, now_us);
  std::vector<PodArg> args;
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    if (generator.is_bound(p)) continue;
    pods.push_back(generator.pod(p));
    if (p % 2 == 0) {
      args.emplace_back(pods.back().uid);
    } else {
      args.emplace_back(pods.back());
    }
  }
  Pod large = pod_of("large", 100'000);
  pods.push_back(large);
  args.emplace_back(large);
  const auto expected = engine.place(pods, {.top_k = 1, .plugin_scores = false, .reasons = true});
  ASSERT_TRUE(expected);
  const wire::Placed& placed = client.take<wire::Placed>(client.place(args, true));
  ASSERT_EQ(placed.node_names()->size(), pods.size());
  std::uint32_t failures = 0;
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    const Placement& placement = (*expected)[p];
    EXPECT_EQ(text(placed.node_names()->Get(p)), engine.node_name(placement.node));
    EXPECT_EQ(placed.node_indices()->Get(p), static_cast<std::uint32_t>(placement.node));
    if (placement.node != kNoNode) continue;
    ASSERT_LT(failures, placed.failures()->size());
    EXPECT_EQ(text_of(*placed.failures()->Get(failures++)),
              text_of(engine, placement.decision, false));
  }
  EXPECT_EQ(failures, placed.failures()->size());
  EXPECT_GE(failures, 1U);
  const auto reserved = static_cast<std::uint32_t>(pods.size() - failures);
  EXPECT_GE(reserved, 50U);
  EXPECT_EQ(client.stats().reserved_pods(), reserved);
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
}

TEST_F(Placing, OneAfterTheOther) {
  feeder.feed({node_of("n1", 8), node_of("n2", 5)});
  EXPECT_EQ(client.place_text({pod_of("a", 5), pod_of("b", 5), pod_of("c", 5), pod_of("d", 3)}),
            "n1 n2 - n1");
  const Pod a = pod_of("a", 5);
  client.unreserve(a, a.uid, "n1");
  EXPECT_EQ(client.place_text({pod_of("c", 5)}), "n1");
}

TEST_F(Placing, TwiceInOneRequestEndsOnTheLastNode) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const std::string names = client.place_text({pod_of("a", 5), pod_of("a", 5)});
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pod_of("a", 5), "uid-a", names.substr(names.find(' ') + 1));
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.place_text({pod_of("c", 8), pod_of("d", 8)}), "n1 n2");
}

TEST_F(Placing, AllOrNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("bound", 1, "n2")});
  const std::uint64_t before = client.stats(true).digest();
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), "nobody"})),
            "NotFound: pods[1]: pod: uid nobody was not fed as pending");
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), pod_of("bound", 1)})),
            "Conflict: pod team/bound is bound to node n2");
  Pod bad = pod_of("bad", 1);
  bad.containers[0].requests = {{"cpu", Quantity::from_value(-1)}};
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), bad})).rfind("Invalid: ", 0), 0U);
  Pod nameless = pod_of("", 1);
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), nameless})).rfind("Invalid: ", 0), 0U);
  EXPECT_EQ(client.error(client.place({})),
            "Invalid: pods: 0: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.error(client.place(std::vector<PodArg>(1025, pod_of("a", 1)))),
            "LimitExceeded: pods: 1025: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.stats(true).digest(), before);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

// --- Explain -----------------------------------------------------------------------------------

TEST_F(Explaining, AnswersAsTheEngineDoes) {
  const Pod pending = pod_of("p", 3);
  const std::vector<Fact> facts = {node_of("n1", 4), node_of("n2", 8), pod_of("b", 2, "n1"),
                                   pending};
  feeder.feed(facts);
  Engine engine = engine_with(Profile::standard(), facts, kNowUs);
  for (const std::string node : {"n1", "n2"}) {
    const wire::Explained& explained = client.take<wire::Explained>(client.ask([&](Builder& b) {
      const auto pod = write_ref(b, pending.uid);
      return wire::CreateExplain(b, pod, write(b, node));
    }));
    const auto expected = engine.explain(pending, node);
    ASSERT_TRUE(expected);
    EXPECT_EQ(static_cast<int>(explained.code()), static_cast<int>(expected->code));
    EXPECT_EQ(explained.total(), expected->total);
    ASSERT_EQ(explained.terms()->size(), expected->terms.size());
    EXPECT_GT(expected->terms.size(), 5U);
    for (std::uint32_t t = 0; t < expected->terms.size(); ++t) {
      const wire::ExplainTerm& got = *explained.terms()->Get(t);
      const ExplainTerm& term = expected->terms[t];
      EXPECT_EQ(fmt::format("{} {} {} {} {} {} {} {} {} {}", text(got.plugin()),
                            text(got.extension_point()), text(got.resource()), got.capacity(),
                            got.aggregate(), got.need(), text(got.formula()), got.result(),
                            got.passed(), text(got.note())),
                fmt::format("{} {} {} {} {} {} {} {} {} {}", to_string(term.plugin),
                            term.extension_point, term.resource, term.capacity, term.aggregate,
                            term.need, term.formula, term.result, term.passed, term.note));
    }
  }
}

TEST_F(Explaining, WhatIsNotThere) {
  feeder.feed({node_of("n1", 8)});
  const auto explain = [&](const PodArg& arg, const std::string& node) {
    return client.error(client.ask([&](Builder& builder) {
      const auto pod = write_ref(builder, arg);
      return wire::CreateExplain(builder, pod, write(builder, node));
    }));
  };
  EXPECT_EQ(explain(pod_of("p", 1), "n9"), "NotFound: node n9 is not known");
  EXPECT_EQ(explain("nobody", "n1"), "NotFound: pod: uid nobody was not fed as pending");
}

// --- Stats -------------------------------------------------------------------------------------

TEST_F(Stats, CountsAndDigest) {
  const ClusterGenerator generator({.nodes = 30, .pods = 200, .seed = 8});
  const std::vector<Fact> facts = generated_facts(generator);
  std::uint32_t bound = 0;
  for (std::uint32_t p = 0; p < 200; ++p) bound += generator.is_bound(p);
  ASSERT_LT(bound, 200U);
  feeder.feed(facts, generator.options().now_us);
  const Engine engine = engine_with(Profile::standard(), facts, generator.options().now_us);
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
  EXPECT_EQ(client.stats(false).digest(), 0U);
  const wire::StatsReply& stats = client.stats();
  EXPECT_EQ(stats.incarnation(), kIncarnation);
  EXPECT_EQ(stats.fed_sequence(), (facts.size() - 1) / kChangesPerFactsMax + 1);
  EXPECT_EQ(stats.nodes(), 30U);
  EXPECT_EQ(stats.pending_pods(), 200 - bound);
  EXPECT_EQ(stats.shapes(), engine.stats().shapes);
  EXPECT_EQ(stats.reserved_pods(), 0U);
}

TEST_F(Stats, PodsAreAllThatAreKnown) {
  Pod done = pod_of("done", 1, "n1");
  done.phase = "Succeeded";
  feeder.feed(
      {node_of("n1", 8), pod_of("b1", 1, "n1"), pod_of("b2", 1, "n1"), done, pod_of("waits", 1)});
  EXPECT_EQ(client.stats().pods(), 4U);
  EXPECT_EQ(client.reserve_text(pod_of("reserved", 1), "n1"), "ok");
  EXPECT_EQ(client.reserve_text("uid-waits", "n1"), "ok");
  EXPECT_EQ(client.stats().pods(), 5U);
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
}

TEST_F(Stats, DigestFollowsEveryFact) {
  feeder.feed({node_of("n1", 8)});
  const std::uint64_t one = client.stats(true).digest();
  feeder.facts({pod_of("p", 1, "n1")});
  EXPECT_NE(client.stats(true).digest(), one);
  feeder.facts({removed_pod(pod_of("p", 1))});
  EXPECT_EQ(client.stats(true).digest(), one);
}

// --- Another profile ---------------------------------------------------------------------------

TEST_F(ChangingProfile, TakesAResync) {
  const std::vector<Fact> facts = {node_of("n1", 8), node_of("n2", 4), pod_of("b", 5, "n1")};
  feeder.feed(facts);
  const std::string before = text_of(
      *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0));
  Profile profile = profile_of(PluginId::kNodeResourcesFit);
  profile.fit.strategy = NodeResourcesFitArgs::Strategy::kMostAllocated;
  profile.scheduler_name = "packer";
  ASSERT_TRUE(service->set_profile(profile));
  EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
  EXPECT_EQ(
      text_of(
          *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0)),
      before);
  feeder.facts({node_of("n3", 8)});  // not taken
  EXPECT_EQ(client.stats().nodes(), 2U);
  const std::uint64_t epoch = client.stats().epoch();
  feeder.feed(facts);
  EXPECT_GT(client.stats().epoch(), epoch);
  Engine engine = engine_with(profile, facts, kNowUs);
  const auto expected = engine.evaluate(pod_of("p", 1), {.top_k = 2});
  ASSERT_TRUE(expected);
  EXPECT_EQ(
      text_of(
          *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0)),
      text_of(engine, *expected, true));
  EXPECT_NE(text_of(engine, *expected, true), before);
  Client next(*service);
  const auto& reply = next.take<wire::HelloReply>(
      next.ask([](Builder& builder) { return wire::CreateHelloDirect(builder, 1, 1, "next"); }));
  EXPECT_EQ(text(reply.profiles()->Get(0)->scheduler_name()), "packer");
}

TEST_F(ChangingProfile, HoldsAtOnceWithoutFacts) {
  const std::uint64_t epoch = client.stats().epoch();
  ASSERT_TRUE(service->set_profile(profile_of(PluginId::kNodeResourcesFit)));
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
  EXPECT_GE(client.stats().epoch(), epoch);
  EXPECT_FALSE(feeder.has_answer());
}

TEST_F(ChangingProfile, DuringAResyncAbortsIt) {
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  ASSERT_TRUE(service->set_profile(profile_of(PluginId::kNodeResourcesFit)));
  EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
  EXPECT_FALSE(client.stats().resyncing());
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

TEST_F(ChangingProfile, WithoutAFeederWaitsForOne) {
  feeder.feed({node_of("n1", 8)});
  feeder.disconnect();
  ASSERT_TRUE(service->set_profile(profile_of(PluginId::kNodeResourcesFit)));
  EXPECT_EQ(service->engine().profile().filters.size(), 7U);
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
  client.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
}

TEST_F(ChangingProfile, ABadOneKeepsTheOld) {
  feeder.feed({node_of("n1", 8)});
  Profile bad = profile_of(PluginId::kNodeResourcesFit);
  bad.scores[0].weight = kPluginWeightMax + 1;
  const Result<void> set = service->set_profile(bad);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("10001"), std::string::npos) << set.error().message;
  EXPECT_FALSE(feeder.has_answer());
  feeder.facts({node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 2U);
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), 7U);
}

// What was fed is a fact, whether or not a node is among it.
TEST_F(ChangingProfile, LosesNoFactThatWasFed) {
  const auto lost = [&](const std::vector<Fact>& facts) {
    feeder.feed(facts, kNowUs);
    const std::uint64_t before = client.stats(true).digest();
    EXPECT_TRUE(service->set_profile(Profile::standard()));
    const bool told = feeder.has_answer();
    if (told) {
      EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
    }
    return !told && client.stats(true).digest() != before;
  };
  NodeMetric metric;
  metric.name = "n1";
  metric.update_time_us = kNowUs;
  EXPECT_FALSE(lost({node_of("n1", 8)}));
  EXPECT_FALSE(lost({pod_of("p", 1)}));
  EXPECT_FALSE(lost({metric}));
}

TEST_F(ChangingProfile, KeepsTheFeedersTime) {
  feeder.feed({}, kNowUs - 500 * kSecondUs);
  ASSERT_TRUE(service->set_profile(profile_of(PluginId::kNodeResourcesFit)));
  if (feeder.has_answer()) return;  // then it resyncs and says the time again
  service->tick();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 500 * kSecondUs);
}

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
  full.scheduled = PodCondition{.is_true = true, .last_transition_us = 4};
  full.initialized = PodCondition{};
  full.init_containers = full.containers;
  full.init_containers[0].restart_always = true;
  full.init_containers[0].actuated_requests.emplace();
  full.containers[0].actuated_requests = cores(3);
  full.containers[0].allocated_requests = cores(4);
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

TEST_F(Objects, WhatIsAbsentIsEmpty) {
  Builder builder;
  const auto text = write(builder, "x");
  builder.Finish(wire::CreatePod(builder, text, text, text));
  Pod full = pod_of("full", 1, "n1"), bare;
  full.phase = full.qos_class = "set";
  full.labels = full.annotations = full.node_selector = {{"k", "v"}};
  full.tolerations = {{"k", "Exists", "", ""}};
  full.priority = 3;
  full.overhead = full.pod_requests = full.pod_limits = cores(1);
  full.daemon_set = true;
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
    const auto shared = write(builder, name);
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
    const std::vector values(kItemsPerListMax, write(builder, std::string(1000, 'v')));
    const auto key = write(builder, "k");
    const auto op = write(builder, "In");
    const std::vector requirements(
        32, wire::CreateNodeSelectorRequirement(builder, key, op, builder.CreateVector(values)));
    const std::vector terms = {
        wire::CreateNodeSelectorTerm(builder, builder.CreateVector(requirements))};
    const auto affinity = wire::CreateNodeSelector(builder, builder.CreateVector(terms));
    const auto name = write(builder, "p");
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
}  // namespace headroom
