// The simulation of service_simulation.h from a seed, with all checks after every step.
//
// HEADROOM_STEPS is how long it is (CONTRIBUTING.md has the long command).
#include "tests/server/service_simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/seed.h"

namespace headroom::in_memory::service_simulation_test {
namespace {

#ifdef HEADROOM_SANITIZED
constexpr std::uint64_t kSteps = 2'000;
#else
constexpr std::uint64_t kSteps = 20'000;
#endif

std::uint64_t steps_wanted() {
  const char* text = std::getenv("HEADROOM_STEPS");
  return text == nullptr ? kSteps : std::strtoull(text, nullptr, 10);
}

unsigned long long printed(std::uint64_t number) { return number; }

void run(const std::vector<Profile>& others) {
  const std::uint64_t seed = test_seed();
  const std::uint64_t steps = steps_wanted();
  ServiceSimulation simulation{Draws(seed), others};
  for (std::uint64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "HEADROOM_SEED=" << seed << ", step " << step);
    simulation.step();
    if (!testing::Test::HasFatalFailure()) simulation.check();
    if (!testing::Test::HasFatalFailure()) simulation.validate();
  }
  const ServiceSimulation::Counts& counts = simulation.counts();
  std::printf(
      "%llu resyncs, %llu reservations, %llu refused, %llu expired, %llu places cut short,"
      " %llu preemptions, %llu feeds stopped, %llu unknown uids, %llu crashes\n",
      printed(counts.resyncs), printed(counts.reserved), printed(counts.refused),
      printed(counts.expired), printed(counts.cut_short), printed(counts.preemptions),
      printed(counts.feeds_stopped), printed(counts.unknown_uids), printed(counts.crashes));
  // Few enough for any seed: of 61 runs of 2,000 steps one had 9 reservations, half of them 67 and
  // more.
  const std::uint64_t least = steps / 2'000;
  EXPECT_GE(counts.resyncs, least);
  EXPECT_GE(counts.reserved, least);
  EXPECT_GE(counts.refused, least);
  EXPECT_GE(counts.cut_short, least);
  EXPECT_GE(counts.unknown_uids, least);
}

TEST(ServiceSimulation, WhatTheModelSaysHoldsAfterEveryStep) { run({}); }

// All profiles' engines have the facts and the reservations, and agree about them.
TEST(ServiceSimulation, OfSeveralProfilesToo) {
  Profile other = Profile::kube_scheduler();
  other.scheduler_name = "other";
  other.mode = Mode::kProposal;
  run({other});
}

}  // namespace
}  // namespace headroom::in_memory::service_simulation_test
