// FineSums beside sums by domain that are kept one by one.
#include "engine/domains/fine_sums.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

namespace headroom::fine_sums_test {
namespace {

constexpr std::uint32_t kCounters = 2;

using Cells = std::array<FedCell, kCounters>;

void expect_same(const FineSums& sums, const std::map<std::uint32_t, Cells>& truth) {
  std::size_t fed = 0;
  std::map<FineSums::Standing, std::uint32_t> domains;
  for (const auto& [domain, cells] : truth) {
    const bool is_fed = cells != Cells();
    const FineSums::Standing standing = sums.of(domain);
    ASSERT_EQ(standing != FineSums::kNothing, is_fed) << "domain " << domain;
    for (std::uint32_t c = 0; c < kCounters; ++c) {
      ASSERT_EQ(sums.cell(standing, c), cells[c]) << "domain " << domain << ", counter " << c;
    }
    fed += is_fed ? 1 : 0;
    domains[standing] += is_fed ? 1 : 0;
  }
  EXPECT_EQ(sums.by_domain().size(), fed);
  for (FineSums::Standing its = 1; its < sums.standings(); ++its) {
    ASSERT_EQ(sums.domains(its), domains[its]) << "standing " << its;
    for (FineSums::Standing other = 0; other < its; ++other) {
      ASSERT_FALSE(sums.cell(its, 0) == sums.cell(other, 0) &&
                   sums.cell(its, 1) == sums.cell(other, 1))
          << "standings " << its << " and " << other;
    }
  }
}

TEST(FineSums, AreThoseOfEachDomain) {
  FineSums sums(TopologyKeyId{0});
  EXPECT_EQ(sums.add_counter(), 0U);
  EXPECT_EQ(sums.add_counter(), 1U);
  struct Fed {
    std::uint32_t domain, counter;
    std::int64_t weight;
  };
  std::mt19937 random(7);
  std::map<std::uint32_t, Cells> truth;
  std::vector<Fed> fed;
  int renumbered = 0;
  for (int step = 0; step < 6'000; ++step) {
    // It grows, then falls to nothing.
    const bool gone = !fed.empty() && (step >= 4'000 || random() % 3 == 0);
    Fed one{static_cast<std::uint32_t>(random() % 20), static_cast<std::uint32_t>(random() % 2), 0};
    one.weight = one.counter == 0 ? 1 : static_cast<std::int64_t>(random() % 5) - 2;
    if (gone) {
      std::swap(fed[random() % fed.size()], fed.back());
      one = fed.back();
      fed.pop_back();
    } else {
      fed.push_back(one);
    }
    const FineSums::Standing was = sums.of(one.domain);
    EXPECT_EQ(sums.feed(one.domain, one.counter, one.weight, gone ? -1 : 1), was);
    FedCell& cell = truth[one.domain][one.counter];
    cell.sum += gone ? -one.weight : one.weight;
    cell.pods += gone ? -1U : 1U;
    if (sums.crowded()) {
      sums.renumber();
      EXPECT_FALSE(sums.crowded());
      ++renumbered;
    }
    if (step % 50 == 0) {
      expect_same(sums, truth);
    }
  }
  expect_same(sums, truth);
  EXPECT_GT(renumbered, 0);
}

}  // namespace
}  // namespace headroom::fine_sums_test
