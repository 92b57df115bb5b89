// A running headroomd over its socket: every message, quotas and preemption, and who of several is
// first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

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

}  // namespace
}  // namespace headroom
