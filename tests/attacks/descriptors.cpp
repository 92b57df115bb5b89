// More connections than the process has descriptors for: it neither ends nor spins, those there are
// served, and others when there is room again.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr std::size_t kConnections = 60;  // fewer than may be before their hello

TEST(Attack, Descriptors) {
  const TestDaemon daemon({.metrics = true, .shell = "ulimit -n 40"});
  daemon.feed({small_node("a")});
  Bystander bystander(daemon);
  std::vector<std::unique_ptr<RawSocket>> held;
  for (std::size_t c = 0; c < kConnections; ++c) {
    held.push_back(std::make_unique<RawSocket>(daemon.endpoint()));
    held.push_back(std::make_unique<RawSocket>(daemon.metrics_endpoint()));
  }
  EXPECT_TRUE(daemon.logged("accept failed"));
  // Failed attempts pause: far fewer of them than a loop without rest would make.
  const std::size_t before = daemon.log_lines();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LE(daemon.log_lines(), before + 40);
  EXPECT_TRUE(daemon.running());
  held.clear();
  EXPECT_TRUE(eventually([&] { return daemon.get("/healthz").status == 200; }));
  must(daemon.client().stats());
  EXPECT_EQ(bystander.noticed(), "");
}

}  // namespace
}  // namespace headroom
