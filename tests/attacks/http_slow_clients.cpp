// Slow clients of the metrics port: four of them kept /healthz waiting, and the probe restarted the
// daemon. Here four times as many as may be connected send a header now and then, others do not
// read, and every health check is answered.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "server/sockets/http_server.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

TEST(Attack, HttpSlowClients) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed({small_node("a")});
  std::vector<std::unique_ptr<RawSocket>> slow;
  const auto more = [&](std::string_view start) {
    slow.push_back(std::make_unique<RawSocket>(daemon.metrics_endpoint()));
    slow.back()->send(start);
  };
  for (std::size_t c = 0; c < 4 * kHttpConnectionsMax; ++c) more("GET /metrics HTTP/1.1\r\n");
  for (int round = 0; round < 20; ++round) {
    for (const auto& peer : slow) {
      // Those that had to go are missed at the second write.
      const std::string_view header = "X: 1\r\n";
      peer->send_now(
          std::span(reinterpret_cast<const std::uint8_t*>(header.data()), header.size()));
    }
    more("GET ");
    EXPECT_EQ(daemon.get("/healthz").status, 200);
    EXPECT_EQ(daemon.get("/readyz").status, 200);
  }
  EXPECT_GE(daemon.metric("headroomd_http_connections_evicted_total"), 3 * kHttpConnectionsMax);
}

TEST(Attack, HttpSlowReaders) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed({small_node("a")});
  const std::size_t before = peak_resident_bytes(daemon.pid());
  std::string many;
  for (int r = 0; r < 200; ++r) many += "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<std::unique_ptr<RawSocket>> slow;
  for (std::size_t c = 0; c < 2 * kHttpConnectionsMax; ++c) {
    slow.push_back(std::make_unique<RawSocket>(daemon.metrics_endpoint()));
    slow.back()->send_now(
        std::span(reinterpret_cast<const std::uint8_t*>(many.data()), many.size()));
  }
  for (int round = 0; round < 20; ++round) EXPECT_EQ(daemon.get("/healthz").status, 200);
  EXPECT_LT(peak_resident_bytes(daemon.pid()), before + kGrowthBytesMax);
}

}  // namespace
}  // namespace headroom
