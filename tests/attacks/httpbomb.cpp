// Requests without end on the metrics port, of every kind that HTTP has: each is refused by its
// status, takes no memory, and keeps nobody waiting.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr std::size_t kBombBytes = 128 << 20;

struct Bomb {
  const char* name;
  const char* status;  // of the refusal
  std::string start;   // once
  std::string more;    // again and again
};

std::vector<Bomb> bombs() {
  const std::string bytes(64 << 10, 'v');
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  const std::string post = "POST /metrics HTTP/1.1\r\nHost: x\r\n";
  return {{"headers", "431", "GET /metrics HTTP/1.1\r\n", "X: " + std::string(4000, 'v') + "\r\n"},
          {"header", "431", "GET /metrics HTTP/1.1\r\nX: ", bytes},
          {"target", "431", "GET /", bytes},
          {"chunks", "413", post + "Transfer-Encoding: chunked\r\n\r\n", chunk},
          {"length", "413", post + "Content-Length: 99999999999\r\n\r\n", bytes},
          {"multipart", "413",
           post + "Content-Type: multipart/form-data; boundary=a\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n",
           chunk},
          {"nothing", "400", "\r\n\r\n\r\n", bytes}};
}

TEST(Attack, Httpbomb) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed({small_node("a")});
  Bystander bystander(daemon);
  const std::size_t before = peak_resident_bytes(daemon.pid());
  for (const Bomb& bomb : bombs()) {
    SCOPED_TRACE(bomb.name);
    RawSocket peer(daemon.metrics_endpoint());
    bool taken = peer.send(bomb.start);
    std::size_t sent = 0;
    for (; taken && sent < kBombBytes; sent += bomb.more.size()) taken = peer.send(bomb.more);
    EXPECT_FALSE(taken) << sent << " bytes were taken";
    EXPECT_EQ(peer.receive_text().substr(0, 12), fmt::format("HTTP/1.1 {}", bomb.status));
    EXPECT_TRUE(daemon.running());
    EXPECT_EQ(daemon.get("/healthz").status, 200);
  }
  EXPECT_LT(peak_resident_bytes(daemon.pid()), before + kGrowthBytesMax);
  EXPECT_EQ(bystander.noticed(), "");
}

}  // namespace
}  // namespace headroom
