// The service without sockets: a peer in memory, objects to feed, and answers as text. Facts are
// compared with an engine in process that has been told the same.
#pragma once

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
#include "schema/write.h"
#include "server/service/service.h"
#include "tests/support/objects.h"
#include "workloads/cluster_generator.h"

namespace headroom::in_memory {

using flatbuffers::Offset;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kNowUs = 1'767'225'600 * kSecondUs;  // 2026-01-01T00:00:00Z
constexpr std::uint64_t kIncarnation = 7;

// Tests that feed one thread up to a limit of many thousands leave ThreadSanitizer out: it takes up
// to a minute for one, and sees nothing there that it does not see of a few.
#ifdef HEADROOM_SANITIZED_THREAD
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
constexpr const char* kManyOfOneThread =
    "many facts and one thread: release and ASan look at them, ThreadSanitizer has nothing to";

// --- Objects on the wire -----------------------------------------------------------------------

struct Removed {
  wire::Fact kind;
  std::string name, namespace_name;
  wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota;
};
// Another limit of an autoscaler.
struct ClassedCapacityQuota {
  CapacityQuota quota;
  wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota;
};
// The same as text, which may be none.
struct ReferredJson {
  std::string json;
};
struct RemovedReferred {
  std::string kind, key;
};
// Of a change that no server knows.
struct UnknownFact {};
using Fact = std::variant<Node, Pod, NodeMetric, ElasticQuota, PodDisruptionBudget, PriorityClass,
                          CapacityQuota, ClassedCapacityQuota, ReferredObject, ReferredJson,
                          Removed, RemovedReferred, UnknownFact>;

inline Removed removed_node(const std::string& name) { return {wire::Fact::RemovedNode, name, ""}; }
inline Removed removed_metric(const std::string& name) {
  return {wire::Fact::RemovedNodeMetric, name, ""};
}
inline Removed removed_class(const std::string& name) {
  return {wire::Fact::RemovedPriorityClass, name, ""};
}
inline Removed removed_pod(const Pod& pod) {
  return {wire::Fact::RemovedPod, pod.name, pod.namespace_name};
}
inline Removed removed_elastic_quota(const ElasticQuota& quota) {
  return {wire::Fact::RemovedElasticQuota, quota.name, quota.namespace_name};
}
inline Removed removed_budget(const PodDisruptionBudget& budget) {
  return {wire::Fact::RemovedPodDisruptionBudget, budget.name, budget.namespace_name};
}

inline Removed removed_capacity_quota(
    const std::string& name,
    wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota) {
  return {wire::Fact::RemovedCapacityQuota, name, "", quota_class};
}

inline Offset<wire::Change> write(Builder& builder, const Removed& removed) {
  const std::string& in = removed.namespace_name;
  switch (removed.kind) {
    case wire::Fact::RemovedPod:
      return encode_removed_pod(builder, in, removed.name);
    case wire::Fact::RemovedNodeMetric:
      return encode_removed_node_metric(builder, removed.name);
    case wire::Fact::RemovedElasticQuota:
      return encode_removed_elastic_quota(builder, in, removed.name);
    case wire::Fact::RemovedPodDisruptionBudget:
      return encode_removed_pod_disruption_budget(builder, in, removed.name);
    case wire::Fact::RemovedPriorityClass:
      return encode_removed_priority_class(builder, removed.name);
    case wire::Fact::RemovedCapacityQuota:
      return encode_removed_capacity_quota(builder, removed.name, removed.quota_class);
    default:
      return encode_removed_node(builder, removed.name);
  }
}

inline Offset<wire::Change> write(Builder& builder, const Fact& fact) {
  return std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, Removed>) {
          return write(builder, held);
        } else if constexpr (std::is_same_v<Held, ClassedCapacityQuota>) {
          return encode_upsert(builder, held.quota, held.quota_class);
        } else if constexpr (std::is_same_v<Held, ReferredJson>) {
          const auto json = write_text(builder, held.json);
          return wire::CreateChange(builder, wire::Fact::ReferredObject,
                                    wire::CreateReferredObject(builder, json).Union());
        } else if constexpr (std::is_same_v<Held, RemovedReferred>) {
          const auto kind = write_text(builder, held.kind);
          const auto removed =
              wire::CreateRemovedReferredObject(builder, kind, write_text(builder, held.key));
          return wire::CreateChange(builder, wire::Fact::RemovedReferredObject, removed.Union());
        } else if constexpr (std::is_same_v<Held, UnknownFact>) {
          return wire::CreateChange(builder, static_cast<wire::Fact>(77),
                                    wire::CreateUnreserved(builder, 1).Union());
        } else {
          return encode_upsert(builder, held);
        }
      },
      fact);
}

inline void tell(Engine& engine, const Fact& fact) {
  const Result<void> told = std::visit(
      [&](const auto& object) -> Result<void> {
        using Object = std::decay_t<decltype(object)>;
        if constexpr (std::is_same_v<Object, Removed> ||
                      std::is_same_v<Object, ClassedCapacityQuota> ||
                      std::is_same_v<Object, ReferredJson> ||
                      std::is_same_v<Object, RemovedReferred> ||
                      std::is_same_v<Object, UnknownFact>) {
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

inline Offset<wire::PodRef> write_ref(Builder& builder, const PodArg& arg) {
  if (const auto* pod = std::get_if<Pod>(&arg)) {
    return wire::CreatePodRef(builder, 0, encode(builder, *pod));
  }
  return wire::CreatePodRef(builder, write_text(builder, std::get<std::string>(arg)));
}

inline Offset<flatbuffers::Vector<Offset<wire::PodRef>>> write(Builder& builder,
                                                               const std::vector<PodArg>& pods) {
  return write_list<wire::PodRef>(builder, pods,
                                  [&](const PodArg& pod) { return write_ref(builder, pod); });
}

inline Offset<wire::Reserve> write_reserve(Builder& builder, const PodArg& arg,
                                           const std::string& node) {
  const auto pod = write_ref(builder, arg);
  return wire::CreateReserve(builder, pod, write_text(builder, node));
}

// Templates and counts.
using NodeCounts = std::vector<std::pair<Node, std::int64_t>>;

inline std::vector<CapacityItem> items_of(const NodeCounts& nodes) {
  std::vector<CapacityItem> items;
  for (const auto& [node, count] : nodes) items.push_back({.node = &node, .count = count});
  return items;
}

inline Bytes to_bytes(const Builder& builder) {
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
  explicit Client(RequestService& service) : service_(service) { service_.connected(*this); }
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
    const wire::Frame& its = *wire::GetSizePrefixedFrame(frame.data());
    const bool unasked = its.id() == 0 && its.body_as_HelloReply() != nullptr;
    (unasked ? greetings_ : frames_).emplace_back(frame.begin(), frame.end());
  }
  void close() override { closed = true; }

  // The bytes as a socket would bring them. An answer that takes turns is given all of them, unless
  // `in_turns` leaves that to the test; what comes until then waits.
  void give(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      if (waiting_) {
        backlog_.insert(backlog_.end(), bytes.begin(), bytes.end());
        return;
      }
      const std::span<std::uint8_t> room = in_.room();
      const std::size_t size = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), size);
      in_.received(size);
      bytes = bytes.subspan(size);
      read_frames();
    }
  }
  void resume() override { waiting_ = false; }
  bool waiting() const { return waiting_; }
  // A turn of the service, for whoever is first in line.
  void step() {
    service_.step();
    if (waiting_) return;
    read_frames();
    give(std::exchange(backlog_, {}));
  }
  bool in_turns = false;

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
    return take_from<Body>(frames_, id);
  }
  template <typename Body>
  const Body& take_from(std::deque<Bytes>& frames, std::uint64_t id) {
    if (frames.empty()) throw std::logic_error("the service has not answered");
    last_ = std::move(frames.front());
    frames.pop_front();
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
  // Takes the oldest answer; false where it has another body.
  template <typename Body>
  bool is_answer(std::uint64_t id) {
    if (frames_.empty()) throw std::logic_error("the service has not answered");
    const wire::Frame& frame = *wire::GetSizePrefixedFrame(frames_.front().data());
    const bool is = frame.id() == id && frame.body_as<Body>() != nullptr;
    frames_.pop_front();
    return is;
  }

  // Takes all answers: is one of them Forbidden?
  bool is_forbidden() {
    bool forbidden = false;
    for (; !frames_.empty(); frames_.pop_front()) {
      const auto* error = wire::GetSizePrefixedFrame(frames_.front().data())->body_as_Error();
      forbidden |= error != nullptr && error->code() == wire::ErrorCode::Forbidden;
    }
    return forbidden;
  }

  const wire::HelloReply& greet(const char* as = "test", const char* scheduler = nullptr) {
    return take<wire::HelloReply>(hello(as, scheduler));
  }
  // The oldest of those that came unasked.
  const wire::HelloReply& greeted_again() { return take_from<wire::HelloReply>(greetings_, 0); }
  bool is_greeted_again() const { return !greetings_.empty(); }
  std::uint64_t hello(const char* as, const char* scheduler) {
    return ask(
        [&](Builder& builder) { return wire::CreateHelloDirect(builder, 1, 1, as, scheduler); });
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
      const auto changes = write_list<wire::Change>(
          builder, facts, [&](const Fact& fact) { return write(builder, fact); });
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
  std::uint32_t renew_reservations() {
    return take<wire::ReservationsRenewed>(
               ask([](Builder& builder) { return wire::CreateRenewReservations(builder); }))
        .renewed();
  }
  const wire::ReservationsReply& reservations(const PodName& after = {}) {
    return take<wire::ReservationsReply>(
        ask([&](Builder& builder) { return encode_reservations(builder, after); }));
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
  std::uint64_t post_filter(const PodArg& pod, bool candidates = false) {
    return ask([&](Builder& builder) {
      return wire::CreatePostFilter(builder, write_ref(builder, pod), candidates);
    });
  }
  const wire::PostFiltered& post_filtered(const PodArg& pod, bool candidates = false) {
    return take<wire::PostFiltered>(post_filter(pod, candidates));
  }
  const wire::ElasticQuotaStatusReply& elastic_quota_status(const std::string& after = "") {
    return take<wire::ElasticQuotaStatusReply>(
        ask([&](Builder& builder) { return encode_elastic_quota_status(builder, after); }));
  }
  std::uint64_t explain_victims(const PodArg& pod, const std::string& node) {
    return ask([&](Builder& builder) {
      const auto ref = write_ref(builder, pod);
      return wire::CreateExplainVictims(builder, ref, write_text(builder, node));
    });
  }
  std::uint64_t capacity_check(const NodeCounts& nodes, bool binding_only = false) {
    return ask([&](Builder& builder) {
      return encode_capacity_check(builder, items_of(nodes), binding_only);
    });
  }
  const wire::CapacityChecked& capacity_checked(const NodeCounts& nodes,
                                                bool binding_only = false) {
    return take<wire::CapacityChecked>(capacity_check(nodes, binding_only));
  }
  std::int64_t allowed(const Node& node, std::int64_t count) {
    return capacity_checked({{node, count}}).answers()->Get(0)->allowed();
  }
  std::uint64_t capacity_plan(const NodeCounts& add, const std::vector<std::string>& remove) {
    return ask(
        [&](Builder& builder) { return encode_capacity_plan(builder, items_of(add), remove); });
  }
  std::uint64_t capacity_reserve(const std::string& id, const NodeCounts& nodes,
                                 std::int64_t expires_us,
                                 wire::ReserveMode mode = wire::ReserveMode::All) {
    return ask([&](Builder& builder) {
      const std::vector<CapacityItem> items = items_of(nodes);
      return encode_capacity_reserve(
          builder, {.id = id, .items = items, .expires_us = expires_us, .mode = mode});
    });
  }
  const wire::CapacityReserved& capacity_reserved(const std::string& id, const NodeCounts& nodes,
                                                  std::int64_t expires_us,
                                                  wire::ReserveMode mode = wire::ReserveMode::All) {
    return take<wire::CapacityReserved>(capacity_reserve(id, nodes, expires_us, mode));
  }
  std::uint64_t capacity_release(const std::string& id) {
    return ask([&](Builder& builder) { return encode_capacity_release(builder, id); });
  }
  bool capacity_released(const std::string& id) {
    return take<wire::CapacityReleased>(capacity_release(id)).released();
  }
  std::uint64_t ask_capacity_quota_status(const std::string& after) {
    return ask([&](Builder& builder) { return encode_capacity_quota_status(builder, after); });
  }
  const wire::CapacityQuotaStatusReply& capacity_quota_status(const std::string& after = "") {
    return take<wire::CapacityQuotaStatusReply>(ask_capacity_quota_status(after));
  }
  const wire::CapacityReservationsReply& capacity_reservations(const std::string& after = "") {
    return take<wire::CapacityReservationsReply>(
        ask([&](Builder& builder) { return encode_capacity_reservations(builder, after); }));
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
  void read_frames() {
    while (!closed && !waiting_) {
      const Result<FrameBuffer::Received> next = in_.next();
      if (!next) {
        service_.broken(*this, in_.fault(), next.error());
        continue;
      }
      if (next->frame == nullptr) return;
      waiting_ = !service_.handle(*this, *next);
      while (waiting_ && !in_turns) service_.step();
    }
  }

  RequestService& service_;
  bool waiting_ = false;
  Bytes backlog_;
  FrameBuffer in_{kFrameBytesMax};
  std::deque<Bytes> frames_, greetings_;
  Bytes last_;
  std::uint64_t id_ = 0, sequence_ = 0;
  bool gone_ = false;
};

// --- Facts -------------------------------------------------------------------------------------

// With 64 GiB of memory.
inline Node node_of(const std::string& name, std::int64_t cpu, std::int64_t pods = 110) {
  ResourceList allocatable = cpu_and_memory(cpu * 1'000, std::int64_t{64} << 30);
  allocatable.emplace_back("pods", Quantity::from_value(pods));
  return headroom::node_of(name, std::move(allocatable));
}

// In namespace "team", its uid is "uid-NAME"; cores as request and limit.
inline Pod pod_of(const std::string& name, std::int64_t request,
                  const std::string& node_name = "") {
  return headroom::pod_of("team", name, cores(request),
                          {.limits = cores(request), .node_name = node_name, .uid = "uid-" + name});
}

inline std::vector<Fact> generated_facts(const ClusterGenerator& generator) {
  std::vector<Fact> facts;
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    facts.emplace_back(generator.node(n));
    if (generator.has_node_metric(n)) facts.emplace_back(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) facts.emplace_back(generator.pod(p));
  return facts;
}

inline Engine engine_with(const Profile& profile, const std::vector<Fact>& facts,
                          std::int64_t now_us) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  if (!engine->advance(now_us)) throw std::invalid_argument("now_us");
  for (const Fact& fact : facts) tell(*engine, fact);
  return std::move(*engine);
}

inline Profile profile_of(PluginId plugin) {
  Profile profile;
  profile.filters = {plugin};
  profile.scores = {{plugin, 1}};
  return profile;
}

// Answers as text, to be compared whole.
inline std::string text_of(const Engine& engine, const Decision& decision, bool scores) {
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

inline std::string text_of(const wire::Decision& decision) {
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
      : ServiceTest(std::vector{std::move(profile)}) {}
  explicit ServiceTest(std::vector<Profile> profiles)
      : service(create(std::move(profiles))), feeder(*service), client(*service) {
    feeder.greet();
    client.greet();
  }
  ~ServiceTest() override {
    const Result<void> valid = service->validate();
    EXPECT_TRUE(valid) << valid.error().message;
  }

  std::unique_ptr<RequestService> create(std::vector<Profile> profiles) {
    ServiceOptions options;
    options.profiles = std::move(profiles);
    options.engine.threads = 1;
    options.incarnation = kIncarnation;
    options.wall_clock = [this] { return wall_clock_us; };
    options.steady_clock = [this] { return steady += clock_step; };
    options.log = [this](LogLevel, const char* what, LogFields fields) {
      log += what;
      for (const auto& [name, value] : fields) log += fmt::format(" {}={}", name, value);
      log += "\n";
    };
    auto made = RequestService::create(std::move(options), metrics);
    if (!made) throw std::invalid_argument(made.error().message);
    return std::move(*made);
  }

  std::int64_t wall_clock_us = kNowUs;
  SteadyTime steady{std::chrono::hours(1)};
  std::chrono::nanoseconds clock_step{0};  // kWorkTurnTime: a turn is one piece of work
  std::string log;
  Metrics metrics;
  std::unique_ptr<RequestService> service;
  Client feeder, client;
};

}  // namespace headroom::in_memory
