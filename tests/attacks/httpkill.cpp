// Headers without end on the metrics port: 517 MiB of them ended the daemon.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr std::size_t kKillBytes = 256 << 20;

TEST(Attack, Httpkill) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed({small_node("a")});
  Bystander bystander(daemon);
  const std::size_t before = peak_resident_bytes(daemon.pid());
  RawSocket peer(daemon.metrics_endpoint());
  bool taken = peer.send("GET /metrics HTTP/1.1\r\n");
  const std::string value(4000, 'v');
  std::size_t sent = 0;
  for (int n = 0; taken && sent < kKillBytes; ++n) {
    std::string headers;
    for (int j = 0; j < 64; ++j) headers += fmt::format("X-{}-{}: {}\r\n", n, j, value);
    taken = peer.send(headers);
    sent += headers.size();
  }
  EXPECT_FALSE(taken) << sent << " bytes were taken";
  EXPECT_TRUE(daemon.running());
  EXPECT_LT(peak_resident_bytes(daemon.pid()), before + kGrowthBytesMax);
  EXPECT_EQ(daemon.get("/healthz").status, 200);
  EXPECT_EQ(bystander.noticed(), "");
}

}  // namespace
}  // namespace headroom
