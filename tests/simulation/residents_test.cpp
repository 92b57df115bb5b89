// Residents: who leaves when, and who had to go before.
#include "simulation/residents.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

Resident resident(const std::string& name, std::int64_t departure_us) {
  return {.namespace_name = "default", .name = name, .holding = {}, .departure_us = departure_us};
}

TEST(Residents, LeaveInTheOrderOfTheirTimes) {
  Residents residents(false);
  residents.add(resident("late", 30), true);
  residents.add(resident("early", 10), true);
  residents.add(resident("stays", 5), false);
  EXPECT_EQ(residents.next_departure_us(), 10);
  EXPECT_FALSE(residents.take_departing(9));
  EXPECT_EQ(residents.take_departing(10)->name, "early");
  EXPECT_FALSE(residents.take_departing(10));
  EXPECT_EQ(residents.take_departing(40)->name, "late");
  EXPECT_EQ(residents.next_departure_us(), kNeverUs);
  EXPECT_FALSE(residents.take_departing(kNeverUs - 1));
}

TEST(Residents, OfOneTimeTheLowerSlotLeavesFirstAlsoWhereItWasUsedBefore) {
  Residents residents(true);
  residents.add(resident("first", 10), true);
  residents.add(resident("second", 10), true);
  EXPECT_EQ(residents.remove("default/first").name, "first");
  residents.add(resident("third", 10), true);
  EXPECT_EQ(residents.take_departing(10)->name, "third");
  EXPECT_EQ(residents.take_departing(10)->name, "second");
}

// Nobody waits for the time of one who had to go before it.
TEST(Residents, WhoHadToGoHasNoDepartureAnyMore) {
  Residents residents(true);
  residents.add(resident("victim", 10), true);
  residents.add(resident("other", 20), true);
  ASSERT_NE(residents.find("default/victim"), nullptr);
  EXPECT_EQ(residents.remove("default/victim").departure_us, 10);
  EXPECT_EQ(residents.find("default/victim"), nullptr);
  EXPECT_EQ(residents.next_departure_us(), 20);
  // Its name and its slot are another's.
  residents.add(resident("victim", 30), true);
  EXPECT_EQ(residents.find("default/victim")->departure_us, 30);
  EXPECT_FALSE(residents.take_departing(19));
  EXPECT_EQ(residents.take_departing(20)->name, "other");
  EXPECT_EQ(residents.next_departure_us(), 30);
}

}  // namespace
}  // namespace headroom
