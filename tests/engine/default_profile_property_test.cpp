// Properties of the engine under kube-scheduler's default profile, over random applications and
// sequences of events: it agrees with the oracle of the default plugins and with itself in every
// configuration (instruction sets, cache, threads), goes back by rollback to what it was, and goes
// on from a state file as if nothing had happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/engine/random/applications_script.h"
#include "tests/engine/random/cached_and_plain.h"
#include "tests/support/seed.h"

namespace headroom {
namespace {

// Of the rounds that a release build runs.
int rounds(int in_release) { return std::max(1, in_release * HEADROOM_ROUNDS_PERCENT / 100); }

TEST(DefaultProfileProperty, AgreesWithTheOracleInEveryConfiguration) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(100); ++round) {
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const nlohmann::json profile = random_default_profile(draws);
    const nlohmann::json script = random_applications_script(draws, 60);
    if (const auto failure = run_applications_script(profile, script)) {
      // First as it is, in case that looking for a short script ends in a crash.
      std::printf("round %d, step %zu: %s\n", round, failure->step, failure->text.c_str());
      FAIL() << "round " << round << ", HEADROOM_SEED=" << seed + static_cast<std::uint64_t>(round)
             << "\n"
             << applications_failure_report(profile, script);
    }
  }
}

// Under every profile, the standard one with ElasticQuotas and cross-node preemption among them.
TEST(EveryProfileProperty, CacheBoundAndForksChangeNoAnswer) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < rounds(300); ++round) {
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const auto wrong = disagreement(draws, 60);
    ASSERT_FALSE(wrong) << *wrong << ", HEADROOM_SEED=" << seed + static_cast<std::uint64_t>(round);
  }
}

}  // namespace
}  // namespace headroom
