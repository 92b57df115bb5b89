// Peers of a running headroomd that do not behave, while others are served.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/limits.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
