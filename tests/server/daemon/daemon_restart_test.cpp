// headroomd is killed and started again, a hundred times (fewer in sanitized builds), while facts
// change and a client asks: the client is served again, the feeder resyncs, and no fact is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "tests/support/daemon_harness.h"
#include "tests/support/seed.h"
#include "tools/load/facts.h"
#include "workloads/cluster_generator.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kNodes = 200, kPods = 2000;
constexpr int kRestarts = HEADROOM_RESTARTS;

std::unique_ptr<LoadFacts> make_facts(std::uint64_t seed) {
  const ClusterGenerator generator({.nodes = kNodes, .pods = kPods, .seed = seed});
  LoadFacts::Objects objects;
  objects.now_us = generator.options().now_us;
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    objects.nodes.push_back(generator.node(n));
    if (generator.has_node_metric(n)) objects.node_metrics.push_back(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < kPods; ++p) objects.pods.push_back(generator.pod(p));
  return must(LoadFacts::create(std::move(objects), Profile::standard(), seed));
}

// Asks one pod after the other, as a front-end does, whatever happens to the server.
class Asker {
 public:
  Asker(const TestDaemon& daemon, const LoadFacts& facts)
      : client_(daemon.client("asker")), facts_(facts) {
    thread_ = std::thread([this] { run(); });
  }
  ~Asker() {
    stop_ = true;
    thread_.join();
  }
  // Answers that knew all nodes.
  std::uint64_t answers() const { return answers_; }
  std::uint64_t early_answers() const { return early_answers_; }
  std::uint64_t failures() const { return failures_; }
  // Incarnations that it was served by.
  std::uint64_t servers() const { return servers_; }

 private:
  void run() {
    std::uint64_t asked = 0, incarnation = 0;
    while (!stop_) {
      const Pod& pod = facts_.request_pods()[asked++ % facts_.request_pods().size()];
      const auto evaluated = client_.evaluate(pod, {.top_k = 4});
      if (!evaluated) {
        ++failures_;
        continue;
      }
      // Before the answer is counted, for which the test waits.
      if (client_.greeting().incarnation != incarnation) {
        incarnation = client_.greeting().incarnation;
        ++servers_;
      }
      // A server that has just started knows nothing until the feeder's resync.
      const std::uint32_t nodes = evaluated->decisions[0].nodes;
      if (nodes == kNodes) {
        ++answers_;
      } else if (nodes == 0) {
        ++early_answers_;
      } else {
        ++failures_;
      }
    }
  }

  Client client_;
  const LoadFacts& facts_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> answers_ = 0, early_answers_ = 0, failures_ = 0, servers_ = 0;
  std::thread thread_;
};

TEST(DaemonRestart, NothingIsLostWhenItIsKilled) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  const std::unique_ptr<LoadFacts> facts = make_facts(seed);
  TestDaemon daemon;
  Feeder::Options options;
  options.client.socket.timeout = std::chrono::seconds(20);
  options.clock = [&] { return facts->now_us(); };
  std::atomic<int> refused = 0;
  options.on_refused = [&](const Error&) { ++refused; };
  Feeder feeder(daemon.endpoint(), std::move(options),
                [&](const Feeder::Emit& emit) { facts->for_each(emit); });
  must(feeder.resync());
  const Asker asker(daemon, *facts);
  ASSERT_TRUE(eventually([&] { return asker.answers() > 0; }));

  std::uint64_t events = 0;
  for (int restart = 1; restart <= kRestarts; ++restart) {
    SCOPED_TRACE("restart " + std::to_string(restart));
    // Anywhere in the next events, or in the resync that the last restart made necessary.
    const milliseconds delay(random() % 30);
    std::atomic<bool> restarted = false;
    std::string failure;
    std::thread killer([&] {
      std::this_thread::sleep_for(delay);
      daemon.process().signal(SIGKILL);
      if (daemon.process().wait() != -SIGKILL) failure = "it had ended before it was killed";
      try {
        daemon.start_again();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      restarted = true;
    });
    while (!restarted) {
      ++events;
      const auto fed = facts->next_event(feeder);
      EXPECT_TRUE(fed) << fed.error().message;
      if (!fed) break;
    }
    killer.join();
    ASSERT_EQ(failure, "");
    const std::uint64_t answers = asker.answers();
    ASSERT_TRUE(must(feeder.barrier()).ready);
    EXPECT_EQ(must(feeder.barrier(true)).digest, facts->engine().digest());
    // Of this server: an answer of the last one may be counted late.
    const auto served = static_cast<std::uint64_t>(restart) + 1;
    EXPECT_TRUE(eventually([&] { return asker.servers() >= served && asker.answers() > answers; }));
    ASSERT_FALSE(HasFailure()) << "after " << events << " events";
  }
  EXPECT_GE(feeder.resyncs(), std::uint64_t{kRestarts} + 1);
  EXPECT_GE(asker.servers(), std::uint64_t{kRestarts} + 1);
  EXPECT_EQ(asker.failures(), 0u);
  EXPECT_EQ(refused, 0);
  must(facts->engine().validate());
  std::printf("%d restarts, %llu events, %llu answers, %llu of servers without facts\n", kRestarts,
              static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(asker.answers()),
              static_cast<unsigned long long>(asker.early_answers()));
}

}  // namespace
}  // namespace headroom
