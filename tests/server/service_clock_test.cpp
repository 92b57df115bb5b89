// The server's clock is set, by a day or by a second, and set right again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_clock_test {
namespace {

class Clock : public ServiceTest {
 protected:
  void pass(std::int64_t seconds) {
    steady += std::chrono::seconds(seconds);
    wall_clock_us += seconds * kSecondUs;
    service->tick();
  }
  void set(std::int64_t seconds) {
    wall_clock_us += seconds * kSecondUs;
    service->tick();
  }
  // Full by its metric.
  NodeMetric busy(std::int64_t updated_us) const {
    return node_metric_of("n1", updated_us, cores(63), 60);
  }
  // Why the node is not feasible.
  std::string why() {
    const wire::Decision& decision =
        *client.evaluated({pod_of("y", 1)}, {.reasons = true}).decisions()->Get(0);
    return std::string(text(decision.reasons()->Get(0)->reason()));
  }
  bool jumped(const char* direction, int times) {
    return metrics.text().find(fmt::format("headroomd_clock_jumps_total{{direction=\"{}\"}} {}\n",
                                           direction, times)) != std::string::npos;
  }
};

TEST_F(Clock, SaysHowLongAgoFactsCame) {
  const auto age = [this](const char* seconds) {
    service->tick();
    return metrics.text().find(fmt::format("headroomd_facts_age_seconds {}\n", seconds)) !=
           std::string::npos;
  };
  pass(60);
  EXPECT_TRUE(age("0")) << "none have come";
  feeder.feed({node_of("n1", 64)});
  EXPECT_TRUE(age("0"));
  pass(90);
  client.stats();
  EXPECT_TRUE(age("90")) << "what is asked are no facts";
  feeder.facts({pod_of("p", 1, "n1")});
  EXPECT_TRUE(age("0"));
}

// The attack "clock": a day ahead, and corrected.
TEST_F(Clock, FollowsACorrectedClock) {
  feeder.feed({node_of("n1", 64), busy(wall_clock_us)});
  const std::string loaded = "node(s) cpu usage exceed threshold";
  const std::string expired = "node(s) nodeMetric expired";
  ASSERT_EQ(why(), loaded);
  ASSERT_TRUE(jumped("ahead", 0));
  log.clear();
  set(86'400);
  EXPECT_EQ(why(), expired);
  EXPECT_TRUE(jumped("ahead", 1));
  EXPECT_NE(log.find("the clock jumped seconds=86400"), std::string::npos) << log;
  feeder.facts({pod_of("seen-tomorrow", 1, "n1")});
  set(-86'400);
  EXPECT_EQ(why(), loaded) << "they count again";
  EXPECT_TRUE(jumped("back", 1));
  EXPECT_NE(log.find("the clock jumped seconds=-86400"), std::string::npos) << log;
  EXPECT_EQ(client.stats().time_us(), wall_clock_us);
  // As if nothing had been.
  EXPECT_EQ(client.stats(true).digest(),
            engine_with(Profile::standard(),
                        {node_of("n1", 64), busy(kNowUs), pod_of("seen-tomorrow", 1, "n1")},
                        wall_clock_us)
                .digest());
  // And they expire when they are due.
  pass(86'400);
  EXPECT_EQ(why(), expired);
  EXPECT_TRUE(jumped("back", 1));
  EXPECT_TRUE(jumped("ahead", 1));
}

TEST_F(Clock, ALittleBackStandsStill) {
  const std::int64_t before = client.stats().time_us();
  set(-59);
  EXPECT_EQ(client.stats().time_us(), before);
  pass(30);
  EXPECT_EQ(client.stats().time_us(), before);
  pass(30);
  EXPECT_EQ(client.stats().time_us(), before + kSecondUs);
  EXPECT_TRUE(jumped("back", 0));
}

TEST_F(Clock, ALittleBackAgainAndAgainIsFollowed) {
  set(-59);
  set(-59);
  EXPECT_EQ(client.stats().time_us(), wall_clock_us);
}

TEST_F(Clock, IsTheFeedersWhereItGivesTheTime) {
  feeder.feed({node_of("n1", 64)}, kNowUs / 2);
  set(-86'400);
  EXPECT_EQ(client.stats().time_us(), kNowUs / 2);
}

TEST_F(Clock, OfCapacityQuotasIsCorrectedToo) {
  feeder.feed({node_of("n1", 64)});
  client.capacity_reserved("late", {{node_of("x", 1), 1}}, wall_clock_us + 2 * 86'400 * kSecondUs);
  client.capacity_reserved("soon", {{node_of("x", 1), 1}}, wall_clock_us + 100 * kSecondUs);
  set(86'400);
  set(-86'400);
  const auto& held = client.capacity_reservations();
  EXPECT_EQ(held.now_us(), wall_clock_us);
  ASSERT_EQ(held.reservations()->size(), 1U) << "what lapsed meanwhile stays gone";
  EXPECT_EQ(text(held.reservations()->Get(0)->id()), "late");
}

// --- The engine alone --------------------------------------------------------------------------

TEST(CorrectClock, IsAsIfItHadNeverBeenLater) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const ClusterGenerator generator({.nodes = 40, .pods = 300, .seed = seed});
    const std::vector<Fact> facts = generated_facts(generator);
    const std::int64_t now_us = kNowUs;
    Engine never = engine_with(Profile::standard(), facts, now_us);
    Engine corrected = engine_with(Profile::standard(), facts, now_us);
    for (const std::int64_t ahead_s : {1, 100, 200, 400, 1000, 86'400}) {
      ASSERT_TRUE(corrected.advance(now_us + ahead_s * kSecondUs));
      const std::uint64_t ahead = corrected.digest();
      corrected.fork();
      corrected.correct_clock(now_us);
      EXPECT_EQ(corrected.digest(), never.digest()) << ahead_s;
      EXPECT_TRUE(corrected.validate());
      corrected.rollback();
      EXPECT_EQ(corrected.digest(), ahead) << ahead_s;
      EXPECT_TRUE(corrected.validate());
      corrected.correct_clock(now_us);
      EXPECT_EQ(corrected.digest(), never.digest()) << ahead_s;
      EXPECT_TRUE(corrected.validate());
      const Pod pod = pod_of("asked", 1);
      EXPECT_EQ(text_of(corrected, corrected.evaluate(pod, {.top_k = 8}).value(), true),
                text_of(never, never.evaluate(pod, {.top_k = 8}).value(), true));
    }
    // What expires later does.
    ASSERT_TRUE(corrected.advance(now_us + 86'400 * kSecondUs));
    ASSERT_TRUE(never.advance(now_us + 86'400 * kSecondUs));
    EXPECT_EQ(corrected.digest(), never.digest());
  }
}

}  // namespace
}  // namespace headroom::in_memory::service_clock_test
