// Limits of a running headroomd: each one below, at and above, while another client is served.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/limits.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

// The next frame, which nobody asked for, names the limit; then the peer is closed.
void expect_turned_away(RawSocket& peer, const std::string& limit, std::uint64_t value) {
  const wire::Frame* reply = peer.receive();
  ASSERT_NE(reply, nullptr);
  EXPECT_TRUE(names(error_text(reply), limit, value));
  EXPECT_EQ(reply->id(), 0u);
  EXPECT_EQ(reply->body_as_Error()->code(), wire::ErrorCode::LimitExceeded);
  EXPECT_TRUE(peer.await_close());
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
  ASSERT_NO_FATAL_FAILURE(expect_turned_away(peer, "kHelloBytesMax", kHelloBytesMax));
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
  ASSERT_NO_FATAL_FAILURE(expect_turned_away(peer, "kFrameBytesMax", kFrameBytesMax));
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
  ASSERT_NO_FATAL_FAILURE(expect_turned_away(refused, "kConnectionsMax", kConnectionsMax));
  EXPECT_EQ(daemon_.metric(R"(headroomd_connections_refused_total{reason="kConnectionsMax"})"), 1);
  // A client is told too, whether its hello was in time or not.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto client = Client::connect(daemon_.endpoint());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::kLimitExceeded) << client.error().message;
  }
  // Those there are served, and one that leaves makes room.
  peers.front()->send(stats_frame(5));
  const wire::Frame* reply = peers.front()->receive();
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

}  // namespace
}  // namespace headroom
