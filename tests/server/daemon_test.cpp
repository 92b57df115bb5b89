// A running headroomd over its socket: every message, its limits, and peers that do not behave
// while others are served.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A cluster of the generator as facts, and an engine that knows them.
struct Cluster {
  std::vector<Object> objects;
  std::vector<Pod> pending;
  Engine engine = must(Engine::create(Profile::standard()));

  Cluster(std::uint32_t nodes, std::uint32_t pods) {
    const ClusterGenerator generator(
        {.nodes = nodes, .pods = pods, .seed = 5, .now_us = kTestNowUs});
    for (std::uint32_t n = 0; n < nodes; ++n) {
      objects.emplace_back(generator.node(n));
      if (generator.has_node_metric(n)) objects.emplace_back(generator.node_metric(n));
    }
    for (std::uint32_t p = 0; p < pods; ++p) {
      const Pod pod = generator.pod(p);
      if (pod.node_name.empty() && !pod.terminal()) pending.push_back(pod);
      objects.emplace_back(pod);
    }
    must(engine.advance(kTestNowUs));
    for (const Object& object : objects) must(engine.upsert(object));
  }
};

// "n-1:87 n-2:85 (7 of 9)": what a decision of the wire and one of the engine have in common.
std::string text_of(const answers::Decision& decision) {
  std::string text;
  for (const answers::Candidate& candidate : decision.candidates) {
    text += fmt::format("{}:{} ", candidate.node_name, candidate.total);
  }
  return text + fmt::format("({} of {})", decision.feasible, decision.nodes);
}

std::string text_of(const Decision& decision, const Engine& engine) {
  std::string text;
  for (const NodeScore& candidate : decision.candidates) {
    text += fmt::format("{}:{} ", engine.node_name(candidate.node), candidate.total);
  }
  return text + fmt::format("({} of {})", decision.feasible, decision.nodes);
}

class DaemonMessages : public testing::Test {
 protected:
  DaemonMessages() {
    must(feeder_->resync());
    must(feeder_->barrier());
  }

  std::uint64_t digest() { return must(client_.stats(true)).digest; }

  Cluster cluster_{60, 400};
  TestDaemon daemon_;
  std::unique_ptr<Feeder> feeder_ = daemon_.feeder(cluster_.objects);
  Client client_ = daemon_.client();
};

TEST_F(DaemonMessages, TheGreetingSaysWhoServes) {
  EXPECT_EQ(client_.greeting().server.find("headroomd "), 0u) << client_.greeting().server;
  EXPECT_NE(client_.greeting().incarnation, 0u);
  EXPECT_EQ(client_.greeting().scheduler_name, Profile::standard().scheduler_name);
  EXPECT_EQ(daemon_.client().greeting().incarnation, client_.greeting().incarnation);
  EXPECT_FALSE(client_.greeting().plugin_names.empty());
}

TEST_F(DaemonMessages, EvaluatesByUidAndWholeAsTheEngineDoes) {
  ASSERT_GE(cluster_.pending.size(), 10u);
  for (std::size_t p = 0; p < 10; ++p) {
    const Pod& pod = cluster_.pending[p];
    const std::string expected =
        text_of(must(cluster_.engine.evaluate(pod, {.top_k = 8})), cluster_.engine);
    const EvaluateRequest request{.top_k = 8, .scores = true, .reasons = true};
    EXPECT_EQ(text_of(must(client_.evaluate(pod, request)).decisions[0]), expected);
    EXPECT_EQ(text_of(must(client_.evaluate(PodRef::by_uid(pod.uid), request)).decisions[0]),
              expected);
  }
  const auto unknown = client_.evaluate(PodRef::by_uid("nobody"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST_F(DaemonMessages, EvaluatesABatchInItsOrder) {
  std::vector<PodRef> refs;
  for (const Pod& pod : cluster_.pending) refs.push_back(pod);
  const answers::Evaluated evaluated = must(client_.evaluate(refs, {.top_k = 4}));
  ASSERT_EQ(evaluated.decisions.size(), cluster_.pending.size());
  const auto expected = must(cluster_.engine.evaluate(cluster_.pending, {.top_k = 4}));
  for (std::uint32_t p = 0; p < expected.size(); ++p) {
    EXPECT_EQ(text_of(evaluated.decisions[p]), text_of(expected[p], cluster_.engine));
  }
}

TEST_F(DaemonMessages, TheDigestIsThatOfAnEngineInProcess) {
  EXPECT_EQ(digest(), cluster_.engine.digest());
  // And after changes, reservations among them.
  const Pod moved = small_pod("moved", "10m", std::get<Node>(cluster_.objects[0]).name);
  must(feeder_->upsert(moved));
  must(feeder_->barrier());
  EXPECT_NE(digest(), cluster_.engine.digest());
  must(cluster_.engine.upsert(moved));
  EXPECT_EQ(digest(), cluster_.engine.digest());
  must(feeder_->remove_pod(moved.namespace_name, moved.name));
  must(feeder_->remove_node_metric(std::get<Node>(cluster_.objects[0]).name));
  must(feeder_->remove_node(std::get<Node>(cluster_.objects[0]).name));
  must(feeder_->barrier());
  cluster_.engine.remove_pod(moved.namespace_name, moved.name);
  cluster_.engine.remove_node_metric(std::get<Node>(cluster_.objects[0]).name);
  cluster_.engine.remove_node(std::get<Node>(cluster_.objects[0]).name);
  EXPECT_EQ(digest(), cluster_.engine.digest());
}

TEST_F(DaemonMessages, ReservesAndUnreserves) {
  const Pod pod = small_pod("one");
  const std::string node = must(client_.evaluate(pod)).decisions[0].candidates[0].node_name;
  const std::uint64_t before = digest();
  must(client_.reserve(pod, node));
  EXPECT_EQ(must(client_.stats()).reserved_pods, 1u);
  must(cluster_.engine.assume(pod, node));
  EXPECT_EQ(digest(), cluster_.engine.digest());
  must(client_.reserve(pod, node));  // again is fine
  must(client_.unreserve(pod, node));
  EXPECT_EQ(must(client_.stats()).reserved_pods, 0u);
  EXPECT_EQ(digest(), before);
  const auto unknown = client_.reserve(pod, "no-such-node");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST_F(DaemonMessages, ReservesAndEvaluatesInOneRoundTrip) {
  const Pod first = small_pod("first"), second = small_pod("second");
  const std::string node = must(client_.evaluate(first)).decisions[0].candidates[0].node_name;
  const ReserveRequest reserve{.pod = first, .node_name = node};
  const answers::Evaluated evaluated =
      must(client_.evaluate(second, {.top_k = 60, .reserve = &reserve}));
  EXPECT_TRUE(evaluated.reserved);
  must(cluster_.engine.assume(first, node));
  EXPECT_EQ(text_of(evaluated.decisions[0]),
            text_of(must(cluster_.engine.evaluate(second, {.top_k = 60})), cluster_.engine));
}

TEST_F(DaemonMessages, PlacesAsTheEngineDoes) {
  std::vector<Pod> pods;
  for (int p = 0; p < 20; ++p) pods.push_back(small_pod(fmt::format("p-{}", p), "1500m"));
  pods.push_back(small_pod("giant", "100000"));
  const std::vector<PodRef> refs(pods.begin(), pods.end());
  const answers::Placed placed = must(client_.place(refs));
  const auto expected = must(cluster_.engine.place(pods));
  ASSERT_EQ(placed.node_names.size(), pods.size());
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    EXPECT_EQ(placed.node_names[p], cluster_.engine.node_name(expected[p].node));
  }
  ASSERT_EQ(placed.failures.size(), 1u);
  EXPECT_GT(placed.failures[0].reasons.size(), 0u);
  EXPECT_EQ(digest(), cluster_.engine.digest());
}

TEST_F(DaemonMessages, ExplainsOnePodOnOneNode) {
  const Pod pod = small_pod("why");
  const std::string node = must(client_.evaluate(pod)).decisions[0].candidates[0].node_name;
  const answers::Explained explained = must(client_.explain(pod, node));
  const Explanation expected = must(cluster_.engine.explain(pod, node));
  EXPECT_EQ(explained.code, wire::Code::Success);
  EXPECT_EQ(explained.total, expected.total);
  EXPECT_EQ(explained.terms.size(), expected.terms.size());
  const auto unknown = client_.explain(pod, "no-such-node");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST_F(DaemonMessages, BindsNoVolumesOfAPodWithoutClaims) {
  const Pod pod = small_pod("plain");
  const std::string node = must(client_.evaluate(pod)).decisions[0].candidates[0].node_name;
  EXPECT_TRUE(must(client_.bound_volumes(pod, node)).objects.empty());
  const auto unknown = client_.bound_volumes(pod, "no-such-node");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST_F(DaemonMessages, CountsInStats) {
  const Client other = daemon_.client();
  must(client_.evaluate(cluster_.pending[0]));
  must(client_.evaluate(cluster_.pending[0]));
  const answers::Stats stats = must(client_.stats());
  EXPECT_TRUE(stats.ready);
  EXPECT_FALSE(stats.resyncing);
  EXPECT_EQ(stats.nodes, 60u);
  EXPECT_EQ(stats.pods, 400u);
  EXPECT_EQ(stats.pending_pods, cluster_.pending.size());
  EXPECT_EQ(stats.decisions, 2u);
  EXPECT_GE(stats.cache_hits, 1u);
  EXPECT_EQ(stats.connections, 3u);  // the feeder, and the two of this test
  EXPECT_EQ(stats.incarnation, client_.greeting().incarnation);
}

// --- Quotas and preemption -----------------------------------------------------------------------

// "red 4000 0, ": namespace, used and nominated cpu.
std::string elastic_quotas_text(Client& client) {
  std::string text;
  for (const answers::ElasticQuotaState& quota : must(client.elastic_quota_status()).quotas) {
    text += fmt::format("{} {} {}, ", quota.namespace_name, quota.amounts[0].used,
                        quota.amounts[0].nominated);
  }
  return text;
}

// What a front-end and a feeder do from a rejection to the binding.
TEST(Daemon, GivesBackWhatWasBorrowed) {
  const TestDaemon daemon;
  Pod borrower = small_pod("borrower", "4", "n1"), waiting = small_pod("waiting", "4");
  borrower.namespace_name = "blue";
  waiting.namespace_name = "red";
  borrower.priority_class_name = "low";
  borrower.labels = {{"app", "web"}};
  const std::vector<Object> objects = {small_node("n1", "4"),
                                       borrower,
                                       waiting,
                                       priority_class("low", -7),
                                       disruption_budget("blue", "budget", "web", 0),
                                       elastic_quota("red", 4, 4),
                                       elastic_quota("blue", 0, 4)};
  const auto feeder = daemon.feeder(objects);
  must(feeder->resync());
  must(feeder->barrier());
  Client client = daemon.client();
  const PodRef pod = PodRef::by_uid(waiting.uid);
  const answers::Evaluated evaluated = must(client.evaluate(pod));
  EXPECT_EQ(evaluated.decisions[0].code, wire::Code::Unschedulable);
  ASSERT_EQ(evaluated.decisions[0].pre_filter.size(), 1u);
  EXPECT_EQ(evaluated.decisions[0].pre_filter[0],
            "ElasticQuota red/quota: cpu: of all quotas used 4 + nominated 0 + requested 4"
            " is more than min 4");
  EXPECT_EQ(client.reserve(pod, "n1").error().code, ErrorCode::kConflict);

  answers::PostFiltered answer = must(client.post_filter(pod, true));
  EXPECT_EQ(answer.code, wire::Code::Success);
  EXPECT_EQ(answer.nominated_node, "n1");
  ASSERT_EQ(answer.victims.size(), 1u);
  EXPECT_EQ(answer.victims[0].uid, borrower.uid);
  EXPECT_EQ(answer.victims[0].priority, -7);
  EXPECT_EQ(answer.pdb_violations, 1);
  EXPECT_EQ(answer.candidates.size(), 1u);
  must(client.explain_victims(pod, "n1"));
  EXPECT_EQ(client.explain_victims(pod, "n9").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(client.post_filter(PodRef::by_uid("nobody")).error().code, ErrorCode::kNotFound);

  must(feeder->remove_pod_disruption_budget("blue", "budget"));
  must(feeder->remove_priority_class("low"));
  must(feeder->barrier());
  answer = must(client.post_filter(pod));
  EXPECT_EQ(answer.victims[0].priority, 0);
  EXPECT_EQ(answer.pdb_violations, 0);
  EXPECT_EQ(elastic_quotas_text(client), "blue 4000 0, red 0 0, ");

  waiting.nominated_node_name = "n1";
  must(feeder->upsert(waiting));
  must(feeder->remove_pod("blue", "borrower"));
  must(feeder->barrier());
  EXPECT_EQ(elastic_quotas_text(client), "blue 0 0, red 0 4000, ");
  must(client.reserve(pod, "n1"));
  EXPECT_EQ(elastic_quotas_text(client), "blue 0 0, red 4000 0, ");
  waiting.node_name = "n1";
  must(feeder->upsert(waiting));
  must(feeder->remove_elastic_quota("blue", "quota"));
  EXPECT_EQ(must(feeder->barrier(false, true)).invalid, "");
  EXPECT_EQ(elastic_quotas_text(client), "red 4000 0, ");
}

// --- Who is first ------------------------------------------------------------------------------

TEST(Daemon, OneOfTwoFrontEndsGetsTheLastPlace) {
  const TestDaemon daemon;
  daemon.feed({small_node("last", "8", "1")});
  constexpr int kRounds = 50;
  std::barrier<> line(2);
  std::array<std::array<ErrorCode, kRounds>, 2> refused{};
  std::array<std::array<bool, kRounds>, 2> won{};
  const auto race = [&](std::size_t me) {
    Client client = daemon.client(fmt::format("front-end-{}", me));
    for (std::size_t round = 0; round < kRounds; ++round) {
      const Pod pod = small_pod(fmt::format("p-{}-{}", me, round));
      line.arrive_and_wait();
      const auto reserved = client.reserve(pod, "last");
      won[me][round] = reserved.has_value();
      if (!reserved) refused[me][round] = reserved.error().code;
      line.arrive_and_wait();
      if (reserved) must(client.unreserve(pod, "last"));
    }
  };
  std::thread other([&] { race(1); });
  race(0);
  other.join();
  for (std::size_t round = 0; round < kRounds; ++round) {
    EXPECT_NE(won[0][round], won[1][round]) << "round " << round;
    EXPECT_EQ(refused[won[0][round] ? 1 : 0][round], ErrorCode::kConflict) << "round " << round;
  }
}

TEST(Daemon, ANewerFeederTakesOver) {
  const TestDaemon daemon;
  const std::vector<Object> old_facts = {small_node("a")};
  const std::vector<Object> new_facts = {small_node("b"), small_node("c")};
  const auto older = daemon.feeder(old_facts, "older"), newer = daemon.feeder(new_facts, "newer");
  must(older->resync());
  must(older->barrier());
  must(newer->resync());
  EXPECT_EQ(must(newer->barrier()).nodes, 2u);
  const Node late = small_node("late");
  ErrorCode code = ErrorCode::kInvalid;
  EXPECT_TRUE(eventually([&] {
    const auto fed = older->upsert(late);
    const auto flushed = fed ? older->flush() : fed;
    if (!flushed) code = flushed.error().code;
    return !flushed;
  }));
  EXPECT_EQ(code, ErrorCode::kConflict);
  EXPECT_FALSE(older->flush());  // and it stays so
  EXPECT_EQ(must(newer->barrier()).nodes, 2u);
  must(older->resync());
  EXPECT_EQ(must(older->barrier()).nodes, 1u);
}

// Each fits a frame, and not all together.
TEST(Daemon, LargeObjectsGoInFramesOfTheirOwn) {
  const TestDaemon daemon;
  std::vector<Object> facts;
  for (int n = 0; n < 12; ++n) {
    Node node = small_node(fmt::format("n{}", n));
    for (int i = 0; i < 1'500; ++i) {
      node.images.push_back({.names = {fmt::format("{:01000}", i)}, .size_bytes = 1});
    }
    facts.emplace_back(std::move(node));
  }
  const auto feeder = daemon.feeder(facts, "large");
  must(feeder->resync());
  EXPECT_EQ(must(feeder->barrier()).nodes, 12u);
  for (const Object& object : facts) must(feeder->upsert(object));
  EXPECT_EQ(must(feeder->barrier()).nodes, 12u);
  EXPECT_EQ(feeder->resyncs(), 1u);
}

TEST(Daemon, AGapStopsAFeederUntilItsResync) {
  const TestDaemon daemon;
  RawSocket feeder(daemon.endpoint());
  feeder.greet("gap");
  feeder.send(feed_begin_frame(2));
  feeder.send(facts_frame(3, 1, {small_node("a")}));
  feeder.send(facts_frame(4, 3, {small_node("b")}));
  feeder.send(facts_frame(5, 4, {small_node("c")}));
  feeder.send(feed_end_frame(6, 4));
  feeder.send(stats_frame(7));
  const wire::Frame* frame = feeder.receive();
  ASSERT_NE(frame, nullptr);
  ASSERT_NE(frame->body_as_FeedStopped(), nullptr);
  EXPECT_EQ(frame->id(), 0u);
  EXPECT_EQ(frame->body_as_FeedStopped()->why(), wire::FeedStop::Gap);
  EXPECT_EQ(text(frame->body_as_FeedStopped()->message()), "sequence: 3 where 2 was due");
  // Said once; the rest was ignored.
  frame = feeder.receive();
  ASSERT_NE(frame, nullptr);
  ASSERT_NE(frame->body_as_StatsReply(), nullptr);
  EXPECT_EQ(frame->id(), 7u);
  EXPECT_FALSE(frame->body_as_StatsReply()->ready());
  EXPECT_EQ(frame->body_as_StatsReply()->nodes(), 0u);

  feeder.send(feed_begin_frame(8));
  feeder.send(facts_frame(9, 1, {small_node("a"), small_node("b")}));
  feeder.send(stats_frame(10));
  feeder.send(feed_end_frame(11, 1));
  feeder.send(facts_frame(12, 2, {small_node("c")}));
  feeder.send(stats_frame(13));
  frame = feeder.receive();
  ASSERT_NE(frame, nullptr);
  ASSERT_NE(frame->body_as_StatsReply(), nullptr);
  EXPECT_TRUE(frame->body_as_StatsReply()->resyncing());
  EXPECT_EQ(frame->body_as_StatsReply()->nodes(), 0u);
  frame = feeder.receive();
  ASSERT_NE(frame, nullptr);
  ASSERT_NE(frame->body_as_StatsReply(), nullptr);
  EXPECT_TRUE(frame->body_as_StatsReply()->ready());
  EXPECT_EQ(frame->body_as_StatsReply()->nodes(), 3u);
  EXPECT_EQ(frame->body_as_StatsReply()->fed_sequence(), 2u);
}

// --- Limits ------------------------------------------------------------------------------------

// Each one below, at and above, while another client is served.
class DaemonLimits : public testing::Test {
 protected:
  DaemonLimits() { daemon_.feed(many_nodes(1100)); }
  ~DaemonLimits() override { EXPECT_EQ(bystander_->noticed(), ""); }

  // What the server says to a change; "" where it takes it.
  std::string refusal_of(const Object& object) {
    RawSocket feeder(daemon_.endpoint());
    feeder.greet("limits");
    feeder.send(feed_begin_frame(2));
    feeder.send(facts_frame(3, 1, {object}));
    feeder.send(stats_frame(4));
    const wire::Frame* frame = feeder.receive();
    if (frame == nullptr) return "no answer";
    const wire::Error* error = frame->body_as_Error();
    if (error == nullptr) return "";
    EXPECT_EQ(frame->id(), 3u);
    EXPECT_EQ(error->code(), wire::ErrorCode::LimitExceeded);
    EXPECT_EQ(error->change(), 0);
    return error_text(frame);
  }
  // What the server says to an Evaluate of so many pods.
  Error refusal_of(std::uint32_t pods, std::uint32_t top_k) {
    Client client = daemon_.client();
    const Pod pod = small_pod("one");
    const std::vector<PodRef> refs(pods, PodRef(pod));
    const auto evaluated = client.evaluate(refs, {.top_k = top_k});
    if (!evaluated) {
      EXPECT_TRUE(client.stats());  // the connection goes on
      return evaluated.error();
    }
    EXPECT_EQ(evaluated->decisions.size(), pods);
    EXPECT_EQ(evaluated->decisions[0].candidates.size(), std::min(top_k, 1100u));
    return {ErrorCode::kIo, ""};
  }

  TestDaemon daemon_{{.metrics = true}};
  std::unique_ptr<Bystander> bystander_ = std::make_unique<Bystander>(daemon_);
};

testing::AssertionResult names(const std::string& message, const std::string& limit,
                               std::uint64_t value) {
  if (message.find(limit) != std::string::npos &&
      message.find(fmt::to_string(value)) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "\"" << message << "\" does not name " << limit << " and " << value;
}

TEST_F(DaemonLimits, FrameBytesBeforeTheHello) {
  for (const std::size_t bytes : {kHelloBytesMax - 1, kHelloBytesMax}) {
    RawSocket peer(daemon_.endpoint());
    peer.send(padded(hello_frame(), bytes));
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_NE(reply->body_as_HelloReply(), nullptr) << error_text(reply);
  }
  RawSocket peer(daemon_.endpoint());
  peer.send(padded(hello_frame(), kHelloBytesMax + 1));
  const wire::Frame* reply = peer.receive();
  EXPECT_TRUE(names(error_text(reply), "kHelloBytesMax", kHelloBytesMax));
  EXPECT_EQ(reply->id(), 0u);
  EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::LimitExceeded);
  EXPECT_TRUE(peer.await_close());
  EXPECT_EQ(daemon_.metric(R"(headroomd_frames_rejected_total{reason="oversized"})"), 1);
}

TEST_F(DaemonLimits, FrameBytesAfterTheHello) {
  RawSocket peer(daemon_.endpoint());
  peer.greet();
  for (const std::size_t bytes : {kFrameBytesMax - 1, kFrameBytesMax}) {
    ASSERT_TRUE(peer.send(padded(stats_frame(7), bytes)));
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_NE(reply->body_as_StatsReply(), nullptr) << error_text(reply);
  }
  // As soon as the prefix is there.
  const Bytes frame = padded(stats_frame(8), kFrameBytesMax + 1);
  peer.send(std::span(frame).first(4));
  const wire::Frame* reply = peer.receive();
  EXPECT_TRUE(names(error_text(reply), "kFrameBytesMax", kFrameBytesMax));
  EXPECT_EQ(reply->id(), 0u);
  EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::LimitExceeded);
  EXPECT_TRUE(peer.await_close());
}

// The Error can be read although the peer was still sending what was refused.
TEST_F(DaemonLimits, ATooLargeFrameIsAnsweredWhileItIsSent) {
  TestDaemon other({.arguments = {"--listen", "tcp://127.0.0.1:0"}});
  for (const Endpoint& endpoint : {other.endpoint(), other.logged_endpoint("tcp://")}) {
    RawSocket peer(endpoint);
    peer.greet();
    peer.send(padded(stats_frame(8), kFrameBytesMax + 1));
    EXPECT_TRUE(names(error_text(peer.receive()), "kFrameBytesMax", kFrameBytesMax));
  }
}

TEST_F(DaemonLimits, AClientIsToldThatItsRequestIsTooLarge) {
  Pod pod = small_pod("large");
  pod.annotations = {{"note", std::string(100'000, 'v')}};
  Client client = daemon_.client();
  const auto start = std::chrono::steady_clock::now();
  const auto evaluated = client.evaluate(std::vector<PodRef>(100, PodRef(pod)));
  ASSERT_FALSE(evaluated);
  EXPECT_EQ(evaluated.error().code, ErrorCode::kLimitExceeded) << evaluated.error().message;
  EXPECT_TRUE(names(evaluated.error().message, "kFrameBytesMax", kFrameBytesMax));
  // It was asked once.
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(3));
  EXPECT_TRUE(client.stats());
}

TEST_F(DaemonLimits, ClientName) {
  for (const std::size_t bytes : {kClientNameBytesMax - 1, kClientNameBytesMax}) {
    RawSocket peer(daemon_.endpoint());
    peer.send(hello_frame(std::string(bytes, 'n')));
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_NE(reply->body_as_HelloReply(), nullptr) << error_text(reply);
  }
  RawSocket peer(daemon_.endpoint());
  peer.send(hello_frame(std::string(kClientNameBytesMax + 1, 'n')));
  const wire::Frame* reply = peer.receive();
  EXPECT_TRUE(names(error_text(reply), "kClientNameBytesMax", kClientNameBytesMax));
  EXPECT_EQ(reply->id(), 1u);
  EXPECT_TRUE(peer.await_close());
}

TEST_F(DaemonLimits, ChangesPerFacts) {
  for (const std::uint32_t count :
       {kChangesPerFactsMax - 1, kChangesPerFactsMax, kChangesPerFactsMax + 1}) {
    RawSocket feeder(daemon_.endpoint());
    feeder.greet("changes");
    feeder.send(feed_begin_frame(2));
    feeder.send(facts_frame(3, 1, many_nodes(count)));
    feeder.send(feed_end_frame(4, 1));
    feeder.send(stats_frame(5));
    const wire::Frame* reply = feeder.receive();
    ASSERT_NE(reply, nullptr);
    if (count <= kChangesPerFactsMax) {
      ASSERT_NE(reply->body_as_StatsReply(), nullptr) << error_text(reply);
      EXPECT_EQ(reply->body_as_StatsReply()->nodes(), count);
      continue;
    }
    EXPECT_TRUE(names(error_text(reply), "kChangesPerFactsMax", kChangesPerFactsMax));
    EXPECT_EQ(reply->id(), 3u);
    reply = feeder.receive();
    ASSERT_NE(reply, nullptr);
    ASSERT_NE(reply->body_as_FeedStopped(), nullptr);
    EXPECT_EQ(reply->body_as_FeedStopped()->why(), wire::FeedStop::Gap);
    reply = feeder.receive();  // none of it was applied, and the connection goes on
    ASSERT_NE(reply, nullptr);
    ASSERT_NE(reply->body_as_StatsReply(), nullptr);
    EXPECT_EQ(reply->body_as_StatsReply()->nodes(), kChangesPerFactsMax);
  }
}

TEST_F(DaemonLimits, PodsPerRequest) {
  EXPECT_EQ(refusal_of(kPodsPerRequestMax - 1, 1).message, "");
  EXPECT_EQ(refusal_of(kPodsPerRequestMax, 1).message, "");
  const Error refused = refusal_of(kPodsPerRequestMax + 1, 1);
  EXPECT_EQ(refused.code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(names(refused.message, "kPodsPerRequestMax", kPodsPerRequestMax));
  // The same limit of Place.
  Client client = daemon_.client();
  const Pod pod = small_pod("one");
  EXPECT_TRUE(client.place(std::vector<PodRef>(kPodsPerRequestMax, PodRef(pod))));
  const auto placed = client.place(std::vector<PodRef>(kPodsPerRequestMax + 1, PodRef(pod)));
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(names(placed.error().message, "kPodsPerRequestMax", kPodsPerRequestMax));
}

TEST_F(DaemonLimits, CandidatesPerRequest) {
  static_assert(43 * 381 == kCandidatesPerRequestMax - 1);
  static_assert(64 * 256 == kCandidatesPerRequestMax);
  static_assert(29 * 565 == kCandidatesPerRequestMax + 1);
  EXPECT_EQ(refusal_of(43, 381).message, "");
  EXPECT_EQ(refusal_of(64, 256).message, "");
  const Error refused = refusal_of(29, 565);
  EXPECT_EQ(refused.code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(names(refused.message, "kCandidatesPerRequestMax", kCandidatesPerRequestMax));
}

TEST_F(DaemonLimits, TopK) {
  EXPECT_EQ(refusal_of(1, kTopKMax - 1).message, "");
  EXPECT_EQ(refusal_of(1, kTopKMax).message, "");
  for (const std::uint32_t top_k : {kTopKMax + 1, 0u}) {
    const Error refused = refusal_of(1, top_k);
    EXPECT_EQ(refused.code, ErrorCode::kInvalid);
    EXPECT_TRUE(names(refused.message, "kTopKMax", kTopKMax));
    EXPECT_TRUE(names(refused.message, "top_k", top_k));
  }
}

TEST_F(DaemonLimits, ResourcesPerList) {
  for (const std::uint32_t count :
       {kResourcesPerListMax - 1, kResourcesPerListMax, kResourcesPerListMax + 1}) {
    NodeMetric metric;
    metric.name = "n-0000";
    metric.has_node_metric = true;
    for (std::uint32_t r = 0; r < count; ++r) {
      metric.node_usage.emplace_back(fmt::format("example.com/r{:02}", r),
                                     must(Quantity::parse("1")));
    }
    if (count <= kResourcesPerListMax) {
      EXPECT_EQ(refusal_of(metric), "");
    } else {
      EXPECT_TRUE(names(refusal_of(metric), "kResourcesPerListMax", kResourcesPerListMax));
    }
  }
}

TEST_F(DaemonLimits, LabelBytes) {
  for (const std::size_t bytes : {kLabelBytesMax - 1, kLabelBytesMax, kLabelBytesMax + 1}) {
    Node node = small_node("labels");
    // Over labels and annotations together.
    node.labels = {{"key", std::string(1000, 'v')}};
    node.annotations = {{"note", std::string(bytes - 1000 - 3 - 4, 'v')}};
    if (bytes <= kLabelBytesMax) {
      EXPECT_EQ(refusal_of(node), "");
    } else {
      EXPECT_TRUE(names(refusal_of(node), "kLabelBytesMax", kLabelBytesMax));
    }
  }
}

TEST_F(DaemonLimits, Connections) {
  std::vector<std::unique_ptr<RawSocket>> peers;
  for (std::uint32_t c = 1; c < kConnectionsMax; ++c) {  // the bystander has one
    peers.push_back(std::make_unique<RawSocket>(daemon_.endpoint()));
    peers.back()->greet(fmt::format("peer-{}", c));
  }
  RawSocket refused(daemon_.endpoint());
  const wire::Frame* reply = refused.receive();
  EXPECT_TRUE(names(error_text(reply), "kConnectionsMax", kConnectionsMax));
  EXPECT_EQ(reply->id(), 0u);
  EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::LimitExceeded);
  EXPECT_TRUE(refused.await_close());
  EXPECT_EQ(daemon_.metric(R"(headroomd_connections_refused_total{reason="kConnectionsMax"})"), 1);
  // A client is told too, whether its hello was in time or not.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto client = Client::connect(daemon_.endpoint());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::kLimitExceeded) << client.error().message;
  }
  // Those there are served, and one that leaves makes room.
  peers.front()->send(stats_frame(5));
  reply = peers.front()->receive();
  ASSERT_NE(reply, nullptr);
  ASSERT_NE(reply->body_as_StatsReply(), nullptr);
  EXPECT_EQ(reply->body_as_StatsReply()->connections(), kConnectionsMax);
  peers.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawSocket next(daemon_.endpoint());
    next.send(hello_frame());
    const wire::Frame* greeting = next.receive();
    return greeting != nullptr && greeting->body_as_HelloReply() != nullptr;
  }));
}

// One below, at and above: the oldest that has not said hello gives way.
TEST_F(DaemonLimits, ConnectionsBeforeHello) {
  const auto let_go = [&] {
    return daemon_.metric(R"(headroomd_connections_let_go_total{reason="hello"})");
  };
  std::vector<std::unique_ptr<RawSocket>> silent;
  const auto one_more = [&] {
    silent.push_back(std::make_unique<RawSocket>(daemon_.endpoint()));
    must(daemon_.client().stats());  // accepted after it, and gone again
  };
  while (silent.size() + 1 < kConnectionsBeforeHelloMax) one_more();
  EXPECT_EQ(let_go(), 0);
  EXPECT_FALSE(silent.front()->await_close(milliseconds(0)));
  // The client that follows it is one above, until it has said hello.
  one_more();
  EXPECT_EQ(let_go(), 1);
  EXPECT_TRUE(silent[0]->await_close());
  EXPECT_FALSE(silent[1]->await_close(milliseconds(0)));
  silent.back()->greet();
}

// SO_PEERCRED is that of the moment of connecting.
TEST_F(DaemonLimits, OneUserDoesNotTakeAllConnections) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to connect as another user";
  constexpr uid_t kOther = 65534;
  ASSERT_EQ(::chmod(daemon_.directory().c_str(), 0711), 0);
  ASSERT_EQ(::chmod(daemon_.endpoint().path.c_str(), 0666), 0);
  std::vector<std::unique_ptr<RawSocket>> peers;
  for (std::uint32_t c = 1; c < kConnectionsMax; ++c) {  // the bystander has one
    peers.push_back(std::make_unique<RawSocket>(daemon_.endpoint()));
    peers.back()->greet();
  }
  ASSERT_EQ(::seteuid(kOther), 0);
  RawSocket other(daemon_.endpoint());
  ASSERT_EQ(::seteuid(0), 0);
  other.greet();
  EXPECT_EQ(daemon_.metric(R"(headroomd_connections_let_go_total{reason="share"})"), 1);
  EXPECT_TRUE(peers.front()->await_close());  // the one that was silent the longest
  RawSocket refused(daemon_.endpoint());
  EXPECT_TRUE(names(error_text(refused.receive()), "kConnectionsMax", kConnectionsMax));
  EXPECT_TRUE(daemon_.logged("principal=user:0")) << daemon_.log();
}

TEST_F(DaemonLimits, AnIdleConnectionGivesWay) {
  if (std::getenv("HEADROOM_LONG") == nullptr) GTEST_SKIP() << "HEADROOM_LONG=1: takes a while";
  std::vector<std::unique_ptr<RawSocket>> peers;
  for (std::uint32_t c = 1; c < kConnectionsMax; ++c) {
    peers.push_back(std::make_unique<RawSocket>(daemon_.endpoint()));
    peers.back()->greet();
  }
  std::this_thread::sleep_for(seconds(kIdleSecondsMax + 1));
  peers.front()->send(stats_frame(2));
  ASSERT_NE(peers.front()->receive(), nullptr);
  RawSocket(daemon_.endpoint()).greet();
  EXPECT_EQ(daemon_.metric(R"(headroomd_connections_let_go_total{reason="idle"})"), 1);
  EXPECT_FALSE(peers.front()->await_close(milliseconds(0)));
  EXPECT_TRUE(peers[1]->await_close());
}

// --- Peers that do not behave ------------------------------------------------------------------

constexpr std::size_t kLongNameBytes = 250;

// A reply to it has about a quarter of a megabyte.
Bytes large_request(std::uint64_t id) {
  const Pod pod = small_pod("large");
  const PodRef ref = pod;
  return evaluate_frame(id, std::span(&ref, 1), {.top_k = kTopKMax});
}
constexpr std::size_t kLargeReplyBytes = 280'000;

class DaemonPeers : public testing::Test {
 protected:
  DaemonPeers() { daemon_.feed(many_nodes(1100, kLongNameBytes)); }

  std::uint64_t decisions() { return must(daemon_.client().stats()).decisions; }

  TestDaemon daemon_{{.metrics = true}};
};

TEST_F(DaemonPeers, OneThatDoesNotReadIsCutOff) {
  Bystander bystander(daemon_);
  const std::size_t before = resident_bytes(daemon_.pid());
  RawSocket peer(daemon_.endpoint());
  peer.greet("slow-reader");
  bool sent = true;
  std::uint64_t requests = 0;
  while (sent && requests < 1000) sent = peer.send(large_request(++requests + 1));
  EXPECT_TRUE(daemon_.logged("cut off: it does not read its replies"));
  EXPECT_NE(daemon_.log().find("client=slow-reader"), std::string::npos) << daemon_.log();
  EXPECT_TRUE(peer.await_close());
  EXPECT_EQ(daemon_.metric(R"(headroomd_frames_rejected_total{reason="slow_reader"})"), 1);
  EXPECT_LT(resident_bytes(daemon_.pid()), before + kGrowthBytesMax);
  EXPECT_EQ(bystander.noticed(), "");
}

// Below kQueuedBytesMax a peer may read late: every reply is whole and in its place.
TEST_F(DaemonPeers, OneThatReadsLateGetsEveryReply) {
  Bystander bystander(daemon_);
  constexpr std::uint64_t kRequests = 80;
  static_assert(kRequests * kLargeReplyBytes < kQueuedBytesMax);
  RawSocket peer(daemon_.endpoint());
  peer.greet("late-reader");
  for (std::uint64_t id = 2; id < 2 + kRequests; ++id) {
    ASSERT_TRUE(peer.send(large_request(id)));
    if (id % 8 == 0) std::this_thread::sleep_for(milliseconds(5));  // so that it takes many turns
  }
  peer.send(stats_frame(2 + kRequests));
  std::this_thread::sleep_for(milliseconds(300));
  for (std::uint64_t id = 2; id < 2 + kRequests; ++id) {
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr) << "request " << id << (peer.closed() ? ": closed" : ": no answer");
    ASSERT_EQ(reply->id(), id);
    ASSERT_NE(reply->body_as_Evaluated(), nullptr) << error_text(reply);
    const wire::Decision& decision = *reply->body_as_Evaluated()->decisions()->Get(0);
    ASSERT_EQ(decision.node_names()->size(), kTopKMax);
    ASSERT_EQ(decision.node_names()->Get(0)->size(), kLongNameBytes);
  }
  const wire::Frame* last = peer.receive();
  ASSERT_NE(last, nullptr);
  EXPECT_NE(last->body_as_StatsReply(), nullptr);
  EXPECT_EQ(bystander.noticed(), "");
}

// A peer that is always some replies behind costs no more memory than that.
TEST_F(DaemonPeers, OneThatIsAlwaysBehindTakesBoundedMemory) {
  constexpr std::uint64_t kBehind = 16, kRequests = 1500;
  RawSocket peer(daemon_.endpoint());
  peer.greet("behind");
  const std::size_t before = resident_bytes(daemon_.pid());
  std::uint64_t asked = 0;
  while (asked < kBehind) ASSERT_TRUE(peer.send(large_request(++asked + 1)));
  for (std::uint64_t answered = 0; answered < kRequests; ++answered) {
    ASSERT_TRUE(peer.send(large_request(++asked + 1)));
    std::this_thread::sleep_for(milliseconds(1));  // slower than the server
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr) << "reply " << answered << (peer.closed() ? ": closed" : "");
    ASSERT_EQ(reply->id(), answered + 2);
  }
  static_assert(kRequests * kLargeReplyBytes > 3 * kGrowthBytesMax ||
                kGrowthBytesMax > (100 << 20));
  EXPECT_LT(resident_bytes(daemon_.pid()), before + kGrowthBytesMax);
}

TEST_F(DaemonPeers, ATruncatedFrameIsDropped) {
  Bystander bystander(daemon_);
  const Bytes frame = large_request(2);
  for (std::size_t cut = 0; cut < frame.size(); cut += 7) {
    RawSocket peer(daemon_.endpoint());
    if (cut % 2 == 0) peer.greet();
    peer.send(std::span(frame).first(cut));
  }
  EXPECT_EQ(bystander.noticed(), "");
  // The bystander's, and that of the question.
  EXPECT_TRUE(eventually([&] { return must(daemon_.client().stats()).connections == 2; }));
}

TEST_F(DaemonPeers, ASlowlyDrippedFrameIsAnswered) {
  Bystander bystander(daemon_);
  RawSocket peer(daemon_.endpoint());
  for (const Bytes& frame : {hello_frame(), stats_frame(9)}) {
    for (const std::uint8_t byte : frame) {
      ASSERT_TRUE(peer.send(std::span(&byte, 1)));
      std::this_thread::sleep_for(milliseconds(2));
    }
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_EQ(error_text(reply), "");
  }
  EXPECT_EQ(bystander.noticed(), "");
}

TEST_F(DaemonPeers, AHalfClosedPeerGetsItsReplies) {
  RawSocket peer(daemon_.endpoint());
  constexpr std::uint64_t kRequests = 40;
  Bytes all = hello_frame();
  for (std::uint64_t id = 2; id < 2 + kRequests; ++id) {
    const Bytes request = large_request(id);
    all.insert(all.end(), request.begin(), request.end());
  }
  ASSERT_TRUE(peer.send(all));
  peer.shut_write();
  std::this_thread::sleep_for(milliseconds(100));
  for (std::uint64_t id = 1; id < 2 + kRequests; ++id) {
    const wire::Frame* reply = peer.receive();
    ASSERT_NE(reply, nullptr) << "request " << id;
    EXPECT_EQ(reply->id(), id);
    EXPECT_EQ(error_text(reply), "");
  }
  EXPECT_EQ(peer.receive(seconds(2)), nullptr);
  EXPECT_TRUE(peer.closed());
}

TEST_F(DaemonPeers, WhatIsNoRequestIsRefused) {
  Bystander bystander(daemon_);
  {
    RawSocket early(daemon_.endpoint());
    early.send(stats_frame(5));
    EXPECT_NE(error_text(early.receive()).find("before the Hello"), std::string::npos);
    EXPECT_TRUE(early.await_close());
  }
  {
    RawSocket twice(daemon_.endpoint());
    twice.greet();
    twice.send(hello_frame("again", 2));
    EXPECT_NE(error_text(twice.receive()).find("once"), std::string::npos);
    EXPECT_TRUE(twice.await_close());
  }
  {
    RawSocket newer(daemon_.endpoint());
    newer.send(make_frame(1, [](Builder& builder) {
      return wire::CreateHello(builder, kProtocolVersion + 1, kProtocolVersion + 7);
    }));
    const wire::Frame* reply = newer.receive();
    ASSERT_NE(reply, nullptr);
    ASSERT_NE(reply->body_as_Error(), nullptr);
    EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::Unsupported);
    EXPECT_TRUE(newer.await_close());
  }
  {
    RawSocket confused(daemon_.endpoint());
    confused.greet();
    confused.send(
        make_frame(2, [](Builder& builder) { return wire::CreateUnreserved(builder, 1); }));
    const wire::Frame* reply = confused.receive();
    ASSERT_NE(reply, nullptr);
    ASSERT_NE(reply->body_as_Error(), nullptr);
    EXPECT_EQ(reply->id(), 2u);
    EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::Unsupported);
    confused.send(stats_frame(3));  // the connection goes on
    reply = confused.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_NE(reply->body_as_StatsReply(), nullptr);
  }
  {
    RawSocket noise(daemon_.endpoint());
    noise.greet();
    Bytes frame = stats_frame(2);
    std::fill(frame.begin() + 4, frame.end(), std::uint8_t{0xEE});
    noise.send(frame);
    const wire::Frame* reply = noise.receive();
    ASSERT_NE(reply, nullptr);
    EXPECT_EQ(reply->id(), 0u);
    EXPECT_NE(error_text(reply).find("HDRM"), std::string::npos) << error_text(reply);
    EXPECT_TRUE(noise.await_close());
  }
  EXPECT_EQ(daemon_.metric(R"(headroomd_frames_rejected_total{reason="malformed"})"), 1);
  EXPECT_EQ(daemon_.metric(R"(headroomd_frames_rejected_total{reason="unexpected"})"), 2);
  EXPECT_EQ(bystander.noticed(), "");
}

// A session that uses every request; what a mutation starts from.
std::vector<Bytes> valid_frames() {
  std::vector<Bytes> frames;
  const ClusterGenerator generator({.nodes = 8, .pods = 24, .seed = 3, .now_us = kTestNowUs});
  std::vector<Object> objects;
  for (std::uint32_t n = 0; n < 8; ++n) {
    objects.emplace_back(generator.node(n));
    if (generator.has_node_metric(n)) objects.emplace_back(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < 24; ++p) objects.emplace_back(generator.pod(p));
  const Pod pod = generator.pod(0);
  const std::string node = generator.node_name(0);
  const PodRef ref = pod;
  const std::vector<PodRef> refs(3, ref);
  const ReserveRequest reserve{.pod = ref, .node_name = node};
  frames.push_back(feed_begin_frame(2));
  frames.push_back(facts_frame(3, 1, objects));
  frames.push_back(feed_end_frame(4, 1));
  frames.push_back(evaluate_frame(5, refs, {.top_k = 4, .scores = true, .reserve = &reserve}));
  frames.push_back(
      make_frame(6, [&](Builder& builder) { return encode_place(builder, refs, true); }));
  frames.push_back(
      make_frame(7, [&](Builder& builder) { return encode_reserve(builder, reserve); }));
  frames.push_back(
      make_frame(8, [&](Builder& builder) { return encode_unreserve(builder, pod, node); }));
  frames.push_back(
      make_frame(9, [&](Builder& builder) { return encode_explain(builder, ref, node); }));
  frames.push_back(stats_frame(10));
  return frames;
}

TEST_F(DaemonPeers, HostileFramesHurtNobody) {
  constexpr int kMutations = 2000;
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const std::vector<Bytes> frames = valid_frames();
  Bystander bystander(daemon_);
  const std::size_t before = resident_bytes(daemon_.pid());
  std::unique_ptr<RawSocket> peer;
  int connections = 0, replies = 0;
  for (int m = 0; m < kMutations; ++m) {
    if (peer == nullptr || peer->closed()) {
      peer = std::make_unique<RawSocket>(daemon_.endpoint());
      ++connections;
      // A hello may be hostile too.
      Bytes hello = hello_frame();
      if (below(8) == 0) hello[below(hello.size())] ^= static_cast<std::uint8_t>(1 + below(255));
      peer->send(hello);
    }
    Bytes frame = frames[below(frames.size())];
    switch (below(4)) {
      case 0:  // some bytes anywhere but in the prefix
        for (std::size_t flips = 1 + below(4); flips > 0; --flips) {
          frame[4 + below(frame.size() - 4)] = static_cast<std::uint8_t>(random());
        }
        break;
      case 1: {  // an offset that points elsewhere
        const std::size_t at = (4 + below(frame.size() - 8)) & ~std::size_t{3};
        flatbuffers::WriteScalar(frame.data() + at, static_cast<std::uint32_t>(random()));
        break;
      }
      case 2:  // nearly where it pointed
        frame[4 + below(frame.size() - 4)] ^= static_cast<std::uint8_t>(1u << below(4));
        break;
      default:  // a shorter frame that says so, or one that does not
        frame.resize(8 + below(frame.size() - 8));
        if (below(2) == 0) {
          flatbuffers::WriteScalar(frame.data(), static_cast<std::uint32_t>(frame.size() - 4));
        }
    }
    if (!peer->send(frame)) {
      EXPECT_TRUE(peer->await_close());
      continue;
    }
    // Every few frames the peer is done: what it asked is answered, and then it is closed. So a
    // frame that promised more than it had does not swallow all the others.
    if (below(2) > 0) continue;
    peer->shut_write();
    while (const wire::Frame* reply = peer->receive()) replies += reply->id() > 1 ? 1 : 0;
    EXPECT_TRUE(peer->closed());
  }
  EXPECT_TRUE(daemon_.running());
  EXPECT_EQ(bystander.noticed(), "");
  EXPECT_LT(resident_bytes(daemon_.pid()), before + kGrowthBytesMax);
  // Both kinds: frames that were refused, and such as were taken for good.
  EXPECT_GT(daemon_.metric(R"(headroomd_frames_rejected_total{reason="malformed"})"), 100);
  EXPECT_GT(replies, 20);
  EXPECT_GT(connections, 100);
}

TEST(Daemon, NoHelloInTimeIsTheEnd) {
  const TestDaemon daemon;
  const auto start = std::chrono::steady_clock::now();
  RawSocket silent(daemon.endpoint()), halfway(daemon.endpoint()), greeted(daemon.endpoint());
  const Bytes hello = hello_frame();
  halfway.send(std::span(hello).first(20));
  greeted.greet();
  EXPECT_FALSE(silent.await_close(milliseconds(kHelloSecondsMax * 1000 - 500)));
  EXPECT_TRUE(silent.await_close(seconds(3)));
  EXPECT_TRUE(halfway.await_close(seconds(1)));
  EXPECT_GE(std::chrono::steady_clock::now() - start, seconds(kHelloSecondsMax));
  EXPECT_TRUE(daemon.logged("no hello in time"));
  EXPECT_FALSE(greeted.await_close(milliseconds(200)));
  greeted.send(stats_frame(2));
  EXPECT_NE(greeted.receive(), nullptr);
}

}  // namespace
}  // namespace headroom
