// Peers that do not read their replies, or do not end their frames: each kept to its own limit, and
// 200 of them held 2.2 GB together.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "schema/limits.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

// Enough for each to stay below its own limit, and for all to be far above what they may together.
constexpr std::size_t kSlowPeers = 40;

class SlowPeers : public testing::Test {
 protected:
  SlowPeers() { daemon_.feed(many_nodes(1100, 250)); }

  std::vector<std::unique_ptr<RawSocket>> greeted_peers() {
    std::vector<std::unique_ptr<RawSocket>> peers;
    for (std::size_t p = 0; p < kSlowPeers; ++p) {
      peers.push_back(std::make_unique<RawSocket>(daemon_.endpoint()));
      peers.back()->greet("slow");
    }
    return peers;
  }

  void expect_all_well() {
    EXPECT_GE(daemon_.metric(R"(headroomd_connections_let_go_total{reason="memory"})"), 1);
    EXPECT_TRUE(daemon_.logged("kBufferedBytesMax"));
    EXPECT_LT(peak_resident_bytes(daemon_.pid()),
              before_ + kBytesPerByte * kBufferedBytesMax + kGrowthBytesMax);
    EXPECT_EQ(bystander_.noticed(), "");
  }

  TestDaemon daemon_{{.metrics = true}};
  Bystander bystander_{daemon_};
  const std::size_t before_ = peak_resident_bytes(daemon_.pid());
};

TEST_F(SlowPeers, DoNotRead) {
  const auto peers = greeted_peers();
  const Pod pod = small_pod("large");
  const PodRef ref = pod;
  // A reply has some 280,000 bytes.
  for (std::uint64_t request = 2; request < 80; ++request) {
    const Bytes frame = evaluate_frame(request, std::span(&ref, 1), {.top_k = 1024});
    for (const auto& peer : peers) peer->send(frame);
  }
  // The last of them is heard of: then all that was sent has been handled.
  EXPECT_TRUE(eventually([&] {
    return daemon_.metric(R"(headroomd_connections_let_go_total{reason="memory"})") >= 1;
  }));
  expect_all_well();
}

TEST_F(SlowPeers, DoNotEndTheirFrames) {
  const auto peers = greeted_peers();
  Bytes frame = padded(stats_frame(2), kFrameBytesMax);
  frame.pop_back();
  for (const auto& peer : peers) peer->send(frame);
  EXPECT_TRUE(eventually([&] {
    return daemon_.metric(R"(headroomd_connections_let_go_total{reason="memory"})") >= 1;
  }));
  expect_all_well();
}

}  // namespace
}  // namespace headroom
