// The last changes, beside all of them.
#include "layout/recent_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headroom::recent_changes_test {
namespace {

constexpr std::uint64_t kKept = 1024;

struct Change {
  std::uint32_t row, from, to;
};

std::vector<std::uint32_t> rows_after(const RecentChanges<Change, kKept>& changes,
                                      std::uint64_t version) {
  std::vector<std::uint32_t> rows;
  changes.each_after(version, [&](const Change& change) {
    EXPECT_EQ(change.from, change.row + 1);
    EXPECT_EQ(change.to, change.row + 2);
    rows.push_back(change.row);
  });
  return rows;
}

TEST(RecentChanges, LeadFromEachVersionThatIsNotTooOld) {
  RecentChanges<Change, kKept> changes;
  const std::uint64_t first = changes.version();
  EXPECT_FALSE(changes.leads_from(0)) << "the version of who has followed none yet";
  EXPECT_TRUE(changes.leads_from(first));
  EXPECT_TRUE(rows_after(changes, first).empty());
  std::vector<std::uint32_t> all;
  for (std::uint32_t row = 0; row < 2 * kKept + 3; ++row) {
    changes.append({row, row + 1, row + 2});
    all.push_back(row);
    const std::uint64_t oldest = changes.version() - std::min<std::uint64_t>(all.size(), kKept);
    EXPECT_EQ(changes.version(), first + all.size());
    EXPECT_EQ(changes.leads_from(first), all.size() <= kKept);
    ASSERT_TRUE(changes.leads_from(oldest));
    EXPECT_EQ(rows_after(changes, oldest),
              std::vector<std::uint32_t>(all.begin() + static_cast<std::ptrdiff_t>(oldest - first),
                                         all.end()));
  }
}

}  // namespace
}  // namespace headroom::recent_changes_test
