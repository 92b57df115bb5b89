// collide_dns: 9,000 pod names that the API server accepts and that had one hash. The table of pods
// grew until memory ended, at every resync again.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/colliding_names.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

// A tenth where ThreadSanitizer looks at the daemon's threads: how many names there are makes none
// more.
#ifdef HEADROOM_SANITIZED_THREAD
constexpr std::size_t kNames = 900;
#else
constexpr std::size_t kNames = 9000;
#endif

std::vector<Object> pods(const std::vector<std::string>& names) {
  std::vector<Object> pods = {small_node("n1")};
  for (const std::string& name : names) pods.emplace_back(small_pod(name));
  return pods;
}

// Of one daemon's whole life: it is fed the names in a resync, and once more. A thread of its own
// frees what the second one replaced: that is waited for where there is more than `expected`.
std::size_t memory_with(const std::vector<std::string>& names, std::size_t expected) {
#ifdef HEADROOM_SANITIZED
  const std::string shell;  // Its shadow needs more.
#else
  const std::string shell = "ulimit -v 6000000";  // as the attack does it
#endif
  TestDaemon daemon({.shell = shell});
  Bystander bystander(daemon);
  for (int i = 0; i < 2; ++i) daemon.feed(pods(names));
  EXPECT_EQ(must(daemon.client().stats()).pending_pods, kNames);
  EXPECT_TRUE(daemon.running());
  EXPECT_EQ(bystander.noticed(), "");
  std::size_t bytes = 0;
  (void)eventually([&] { return (bytes = resident_bytes(daemon.pid())) < expected; });
  return bytes;
}

TEST(CollideDns, NamesOfOneHashCostWhatOthersCost) {
  std::vector<std::string> ordinary;
  for (std::size_t i = 0; i < kNames; ++i) {
    const std::string name = "web-" + std::to_string(i);
    ordinary.push_back(name + std::string(224 - name.size(), 'x'));
  }
  const std::vector<std::string> colliding = colliding_names("test/", kNames);
  ASSERT_EQ(colliding.size(), kNames);
  const std::size_t usual = memory_with(ordinary, SIZE_MAX), bound = usual + (usual >> 1);
  EXPECT_LT(memory_with(colliding, bound), bound);
}

}  // namespace
}  // namespace headroom
