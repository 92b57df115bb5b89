// TLS handshakes as fast as a few peers can: each cost a signature of the one thread that decides,
// and their number at once was limited, their rate was not.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr int kPeers = 4, kHandshakes = 100;

TEST(Attack, Handshakes) {
  const Certificates certificates;
  for (const char* authority : {"ca", "other-ca"}) certificates.make_authority(authority);
  certificates.make("server", "ca");
  certificates.make("client", "ca");
  certificates.make("stranger", "other-ca");
  const TestDaemon daemon({.arguments = certificates.server_arguments("ca"), .metrics = true});
  daemon.feed({small_node("a")});
  const Endpoint tls = daemon.logged_endpoint("tls://");
  const auto connect = [&](const char* name) {
    return Client::connect(tls, certificates.client_options(name, "ca"));
  };
  Bystander bystander(daemon);
  std::atomic<int> tried = 0, let_in = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> peers;
  for (int p = 0; p < kPeers; ++p) {
    peers.emplace_back([&] {
      for (; !over; ++tried) let_in += connect("stranger").has_value() ? 1 : 0;
    });
  }
  Client unix_client = daemon.client();
  int answered = 0;
  for (; tried < kHandshakes; ++answered) EXPECT_TRUE(unix_client.stats());
  const int tried_by_then = tried;
  // Who may come in does so in the midst of it.
  const auto client = connect("client");
  EXPECT_TRUE(client) << client.error().message;
  over = true;
  for (std::thread& peer : peers) peer.join();
  EXPECT_EQ(let_in, 0);
  EXPECT_GE(daemon.metric(R"(headroomd_connections_refused_total{reason="tls"})"), kHandshakes);
  EXPECT_GE(answered, tried_by_then / 2);
  EXPECT_EQ(bystander.noticed(), "");
}

}  // namespace
}  // namespace headroom
