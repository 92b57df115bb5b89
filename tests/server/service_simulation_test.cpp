// The simulation of service_simulation.h from a seed, with all checks after every step.
//
// HEADROOM_SEED repeats a run; without it the seed is the time, and printed. HEADROOM_STEPS is how
// long it is (CONTRIBUTING.md has the long command).
#include "tests/server/service_simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace headroom::in_memory::service_simulation_test {
namespace {

#ifdef HEADROOM_SANITIZED
constexpr std::uint64_t kSteps = 2'000;
#else
constexpr std::uint64_t kSteps = 20'000;
#endif

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

unsigned long long printed(std::uint64_t number) { return number; }

void run(const std::vector<Profile>& others) {
  const std::uint64_t seed =
      number_of("HEADROOM_SEED", static_cast<std::uint64_t>(std::time(nullptr)));
  const std::uint64_t steps = number_of("HEADROOM_STEPS", kSteps);
  std::printf("HEADROOM_SEED=%llu\n", printed(seed));
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
  if (steps >= 2'000) {
    EXPECT_GT(counts.resyncs, 5);
    EXPECT_GT(counts.reserved, 20);
    EXPECT_GT(counts.refused, 5);
    EXPECT_GT(counts.cut_short, 5);
    EXPECT_GT(counts.unknown_uids, 5);
  }
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
