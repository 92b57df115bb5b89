// Reservations of nodes through the service: what they take and give back, and what a resync keeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/capacity_texts.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::capacity_test {
namespace {

class CapacityReserving : public ServiceTest {};

// --- Reservations ------------------------------------------------------------------------------

TEST_F(CapacityReserving, AllOrNone) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}}), unusable("broken")});
  const wire::CapacityReserved& refused =
      client.capacity_reserved("r", {{sized("", 1), 2}, {sized("", 3), 1}}, kSoonUs);
  EXPECT_EQ(text_of(refused), "refused 2 0");
  EXPECT_EQ(text_of(refused.stopped()),
            "item 1 fits 0: CapacityQuota/q cpu limit 4000 used 0 reserved 2000 need 3000 headroom"
            " 2000 shortfall 1000 max 0 binding");
  EXPECT_EQ(refused.now_us(), kNowUs);
  EXPECT_EQ(skipped_of(refused), kUnusable);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
  const wire::CapacityReserved& accepted =
      client.capacity_reserved("r", {{sized("", 1), 2}, {sized("", 2), 1}}, kSoonUs);
  EXPECT_EQ(text_of(accepted), "accepted 2 1");
  EXPECT_EQ(accepted.stopped(), nullptr);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  const wire::CapacityReservationsReply& live = client.capacity_reservations();
  EXPECT_EQ(text_of(live), "r left 3 registered 0");
  EXPECT_EQ(live.reservations()->Get(0)->expires_us(), kSoonUs);
  EXPECT_EQ(live.now_us(), kNowUs);
  EXPECT_FALSE(live.more());
}

TEST_F(CapacityReserving, AsManyAsFit) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}})});
  const auto up_to = wire::ReserveMode::UpTo;
  const wire::CapacityReserved& some =
      client.capacity_reserved("r", {{sized("", 3), 2}, {sized("", 1), 2}}, kSoonUs, up_to);
  EXPECT_TRUE(some.accepted());
  EXPECT_EQ(some.allowed()->Get(0), 1);
  ASSERT_NE(some.stopped(), nullptr);
  EXPECT_EQ(some.stopped()->item(), 0U);
  EXPECT_EQ(some.stopped()->fits(), 1);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 5), 2}}, kSoonUs, up_to)),
            "refused 0");
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
}

TEST_F(CapacityReserving, ReleasingGivesBack) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "4"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 2), 2}}, kSoonUs)), "accepted 2");
  EXPECT_FALSE(client.capacity_released("other"));
  EXPECT_FALSE(client.capacity_released(""));
  EXPECT_EQ(client.allowed(sized("", 2), 2), 0);
  Client other(*service);
  other.greet("other");
  EXPECT_EQ(other.error(other.capacity_release("r")), "Forbidden: id: r was reserved by test");
  EXPECT_EQ(client.allowed(sized("", 2), 2), 0);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_FALSE(client.capacity_released("r"));
  EXPECT_EQ(client.allowed(sized("", 2), 2), 2);
}

TEST_F(CapacityReserving, ErrorsNameTheField) {
  feeder.feed({});
  const NodeCounts one = {{sized("", 1), 1}};
  EXPECT_EQ(client.error(client.capacity_reserve("", one, kSoonUs)).rfind("Invalid: ", 0), 0U);
  const std::string longest(kTextBytesMax, 'i');
  EXPECT_EQ(text_of(client.capacity_reserved(longest, one, kSoonUs)), "accepted 1");
  EXPECT_EQ(client.error(client.capacity_reserve(longest + "i", one, kSoonUs)),
            "LimitExceeded: id: 1025 bytes: kTextBytesMax is 1024");
  EXPECT_EQ(
      client.error(client.capacity_reserve("r", one, kSoonUs, static_cast<wire::ReserveMode>(2))),
      "Unsupported: mode: 2 is not known; accepted: 0 to 1");
  for (const std::int64_t expires_us : {std::int64_t{0}, std::int64_t{-1}, kNowUs}) {
    const std::string error = client.error(client.capacity_reserve("r", one, expires_us));
    EXPECT_EQ(error.rfind("Invalid: ", 0), 0U) << error;
    EXPECT_NE(error.find(fmt::to_string(expires_us)), std::string::npos) << error;
  }
  const std::int64_t last_us = kNowUs + kNodeReservationSecondsMax * kSecondUs;
  EXPECT_EQ(client.error(client.capacity_reserve("r", one, last_us + 1)),
            fmt::format("LimitExceeded: expires_us: {}: it is {}, and kNodeReservationSecondsMax is"
                        " 604800",
                        last_us + 1, kNowUs));
  EXPECT_EQ(text_of(client.capacity_reserved("longest", one, last_us)), "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("r", one, kNowUs + 1)), "accepted 1");
  EXPECT_EQ(client.error(client.capacity_reserve("r", one, kSoonUs)).rfind("Conflict: ", 0), 0U);
  EXPECT_EQ(client.error(client.capacity_reserve("s", {{sized("", 1), kMost}, one[0]}, kSoonUs))
                .rfind("LimitExceeded: ", 0),
            0U);
}

TEST_F(CapacityReserving, OneOfTwoGetsTheLastNode) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  Client other(*service);
  other.greet();
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(other.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(other.capacity_reserved("b", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("a", {{sized("", 1), 1}}, kSoonUs)), "refused 0");
  other.disconnect();  // it holds on
  EXPECT_EQ(text_of(client.capacity_reserved("a", {{sized("", 1), 1}}, kSoonUs)), "refused 0");
}

TEST_F(CapacityReserving, LapsesByTheServersClock) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  wall_clock_us = kSoonUs - 1;
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 0");
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  wall_clock_us = kSoonUs;
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
  EXPECT_FALSE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs + 1)), "accepted 1");
}

TEST_F(CapacityReserving, LapsesByTheFeedersClock) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1000);
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, 2000)), "accepted 1");
  wall_clock_us = kSoonUs;
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.facts({}, 1999);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.facts({}, 2000);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(client.capacity_reservations().now_us(), 2000);
}

TEST_F(CapacityReserving, ANodeThatNamesItTakesOneOff) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "3"}}), sized("n0", 1)});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 2}}, kSoonUs)), "accepted 2");
  const Node first = reserved_as("r", sized("n1", 1));
  feeder.facts({first});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 1");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 2 nodes 3 2 1");
  feeder.facts({first, reserved_as("other", sized("n0", 1))});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 1");
  feeder.facts({reserved_as("r", sized("n2", 1))});
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 3 nodes 3 3 0");
}

// --- Reservations over a resync ------------------------------------------------------------------

TEST_F(CapacityReserving, OutlivesAResync) {
  const std::vector<Fact> facts = {capacity_quota_of("q", {{"nodes", "5"}}), sized("n0", 1)};
  feeder.feed(facts);
  EXPECT_EQ(text_of(client.capacity_reserved("before", {{sized("", 1), 1}}, kSoonUs)),
            "accepted 1");
  feeder.begin();
  EXPECT_EQ(text_of(client.capacity_reserved("during", {{sized("", 1), 1}}, kSoonUs)),
            "accepted 1");
  EXPECT_EQ(text_of(client.capacity_reserved("gone", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  feeder.facts(facts);
  EXPECT_TRUE(client.capacity_released("gone"));
  feeder.end();
  EXPECT_EQ(text_of(client.capacity_reservations()),
            "before left 1 registered 0, during left 1 registered 0");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 1 nodes 5 1 2");
  EXPECT_EQ(client.error(client.capacity_reserve("before", {{sized("", 1), 1}}, kSoonUs))
                .rfind("Conflict: ", 0),
            0U);
  EXPECT_EQ(client.stats().capacity_reservations(), 2U);
  EXPECT_TRUE(client.capacity_released("before"));
  EXPECT_EQ(client.allowed(sized("", 1), 9), 3);
  wall_clock_us = kSoonUs;  // it still knows when
  EXPECT_EQ(client.allowed(sized("", 1), 9), 4);
}

// A node that was there before the resync has taken its part already; a new one takes it now.
TEST_F(CapacityReserving, AResyncCountsEveryNodeOnce) {
  const Fact quota = capacity_quota_of("q", {{"nodes", "9"}});
  const Fact one = reserved_as("r", sized("n1", 1)), two = reserved_as("r", sized("n2", 1));
  feeder.feed({quota});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 3}}, kSoonUs)), "accepted 3");
  feeder.facts({one});
  feeder.feed({quota, one});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 2 registered 1");
  feeder.feed({one, two, quota});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 2");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 2 nodes 9 2 1");
  feeder.feed({quota});
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 1 registered 2");
}

TEST_F(CapacityReserving, AResyncThatLimitsMoreKeepsIt) {
  feeder.feed({capacity_quota_of("q", {{"cpu", "9"}})});
  EXPECT_EQ(
      text_of(client.capacity_reserved("r", {{sized("", 1), 1}, {sized("", 4, "b"), 2}}, kSoonUs)),
      "accepted 1 2");
  // Another limit, and a selector that reads a label which none read before.
  feeder.feed({capacity_quota_of("q", {{"cpu", "2"}}, "b")});
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 cpu 2000 0 8000");
  EXPECT_EQ(client.allowed(sized("", 1, "b"), 1), 0);
  EXPECT_TRUE(client.capacity_released("r"));
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 cpu 2000 0 0");
}

TEST_F(CapacityReserving, AResyncLaterThanItEndsIt) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1000);
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, 2000)), "accepted 1");
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 1999);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 0);
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})}, 2000);
  EXPECT_EQ(client.allowed(sized("", 1), 1), 1);
  EXPECT_EQ(text_of(client.capacity_reservations()), "");
}

TEST_F(CapacityReserving, AnAbortedResyncChangesNothing) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "5"}})});
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 2}}, kSoonUs)), "accepted 2");
  {
    Client other(*service);
    other.greet();
    other.begin();
    other.facts({reserved_as("r", sized("n1", 1))});
  }
  EXPECT_EQ(feeder.stopped().rfind("Replaced", 0), 0U);
  EXPECT_EQ(text_of(client.capacity_reservations()), "r left 2 registered 0");
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 nodes 5 0 2");
}

TEST_F(CapacityReserving, AProfileForgetsNoQuota) {
  feeder.feed({capacity_quota_of("q", {{"nodes", "1"}})});
  feeder.disconnect();
  EXPECT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  EXPECT_EQ(text_of(client.capacity_reserved("r", {{sized("", 1), 1}}, kSoonUs)), "accepted 1");
  EXPECT_TRUE(service->set_profiles({Profile::standard()}));
  EXPECT_EQ(text_of(client.capacity_quota_status()), "CapacityQuota/q 1/1 nodes 0 nodes 1 0 1");
}

}  // namespace
}  // namespace headroom::in_memory::capacity_test
