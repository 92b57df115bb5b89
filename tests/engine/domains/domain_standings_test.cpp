// DomainStandings beside a map, while standings and domains are small and where they are not.
#include "engine/domains/domain_standings.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace headroom::domain_standings_test {
namespace {

using Truth = std::map<DomainId, DomainStandings::Standing>;

void set(DomainStandings& standings, Truth& truth, DomainId domain,
         DomainStandings::Standing standing) {
  standings.set(standings.find(domain), domain, standing);
  if (standing == DomainStandings::kNothing) {
    truth.erase(domain);
  } else {
    truth[domain] = standing;
  }
}

void expect_same(const DomainStandings& standings, const Truth& truth) {
  ASSERT_EQ(standings.size(), truth.size());
  Truth found;
  standings.each([&found](DomainId domain, DomainStandings::Standing standing) {
    EXPECT_TRUE(found.emplace(domain, standing).second) << "domain " << domain << " twice";
  });
  ASSERT_EQ(found, truth);
  for (const auto& [domain, standing] : truth) {
    ASSERT_EQ(standings.of(domain), standing) << "domain " << domain;
  }
}

TEST(DomainStandings, AreThoseThatWereSet) {
  std::mt19937 random(5);
  const auto drawn = [&random](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  DomainStandings standings;
  Truth truth;
  EXPECT_EQ(standings.of(3), DomainStandings::kNothing);
  for (int step = 0; step < 20'000; ++step) {
    // It grows, then falls; some domains stand beside each other, as those of new nodes do.
    const bool gone = step >= 12'000 || drawn(4) == 0;
    const DomainId domain = drawn(2) == 0 ? drawn(512) : drawn(1U << 24U);
    if (gone && !truth.empty() && drawn(2) == 0) {
      set(standings, truth,
          std::next(truth.begin(), drawn(static_cast<std::uint32_t>(truth.size())))->first, 0);
    } else {
      set(standings, truth, domain, gone ? 0 : 1 + drawn(255));
    }
    ASSERT_EQ(standings.of(domain), truth.contains(domain) ? truth[domain] : 0) << "step " << step;
    if (step % 500 == 0) {
      expect_same(standings, truth);
    }
  }
  expect_same(standings, truth);
}

TEST(DomainStandings, TakeAWordEachWhileAllAreSmall) {
  DomainStandings narrow, standing_wide, domain_wide;
  Truth of_narrow, of_standing_wide, of_domain_wide;
  for (DomainId domain = 0; domain < 200; ++domain) {
    set(narrow, of_narrow, (1U << 24U) - 1 - domain, 255);
    set(standing_wide, of_standing_wide, domain, domain == 150 ? 256 : 1);
    set(domain_wide, of_domain_wide, domain == 150 ? 1U << 24U : domain, 1);
  }
  expect_same(narrow, of_narrow);
  expect_same(standing_wide, of_standing_wide);
  expect_same(domain_wide, of_domain_wide);
  EXPECT_LT(narrow.bytes(), allocated_bytes(200 * 8));
  EXPECT_GT(standing_wide.bytes(), 3 * narrow.bytes() / 2);
  EXPECT_EQ(domain_wide.bytes(), standing_wide.bytes());
}

TEST(DomainStandings, AreRenamedAndForgotten) {
  DomainStandings standings;
  Truth truth;
  for (DomainId domain = 0; domain < 50; ++domain) {
    set(standings, truth, 7 * domain, 1 + domain % 3);
  }
  const auto renamed = [](DomainStandings::Standing its) { return 4 - its; };
  standings.rename(renamed);
  for (auto& its : truth) {
    its.second = renamed(its.second);
  }
  expect_same(standings, truth);
  // No row has it.
  EXPECT_EQ(standings.of(kNoDomain), DomainStandings::kNothing);
  standings.clear();
  expect_same(standings, {});
}

}  // namespace
}  // namespace headroom::domain_standings_test
