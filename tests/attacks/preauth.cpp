// 300 idle TCP connections before the TLS handshake, each replaced when it is closed: clients of
// the Unix socket were refused, because one budget was for all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr std::size_t kIdle = 300;

TEST(Attack, Preauth) {
  const Certificates certificates;
  certificates.make_authority("ca");
  certificates.make("server", "ca");
  certificates.make("client", "ca");
  const TestDaemon daemon({.arguments = certificates.server_arguments("ca"), .metrics = true});
  daemon.feed({small_node("a")});
  const Endpoint tls = daemon.logged_endpoint("tls://");
  Bystander bystander(daemon);
  std::vector<std::unique_ptr<RawSocket>> idle;
  const auto hold = [&] {
    std::erase_if(idle,
                  [](const auto& peer) { return peer->await_close(std::chrono::seconds(0)); });
    while (idle.size() < kIdle) idle.push_back(std::make_unique<RawSocket>(tls));
  };
  for (int round = 0; round < 10; ++round) {
    hold();
    EXPECT_NO_THROW(must(daemon.client().stats())) << "Unix, round " << round;
    // Even of the same address, once there is no new idle connection for a moment.
    const auto client = Client::connect(tls, certificates.client_options("client", "ca"));
    EXPECT_TRUE(client) << "TLS, round " << round << ": " << client.error().message;
  }
  EXPECT_EQ(daemon.metric(R"(headroomd_connections_refused_total{reason="kConnectionsMax"})"), 0);
  EXPECT_GE(daemon.metric(R"(headroomd_connections_let_go_total{reason="hello"})"), kIdle / 2);
  EXPECT_EQ(bystander.noticed(), "");
}

}  // namespace
}  // namespace headroom
