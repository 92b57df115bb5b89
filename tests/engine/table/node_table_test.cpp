// NodeTable: columns follow from sums and bases, narrow columns from the truth, whatever rows and
// columns come and go; the log leads from every epoch that it still knows to the present.
#include "engine/table/node_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/exact.h"
#include "tests/support/seed.h"

namespace headroom::node_table_test {
namespace {

// One sum, the headroom under it and its capacity.
struct NodeTableTest : testing::Test {
  NodeTableTest()
      : sum(table.add_sum("sum")),
        limit(table.add_base(kUnlimited)),
        all(table.add_base(0)),
        headroom(table.add_headroom(limit, sum)),
        capacity(table.add_capacity(all)) {}

  std::uint32_t new_row(std::int64_t base) {
    const std::uint32_t row = table.acquire_row();
    table.set_base(row, limit, base);
    table.set_base(row, all, base);
    table.set_class(row, 1);
    table.commit(row);
    return row;
  }
  void add(std::uint32_t row, std::int64_t amount) {
    const Contribution contribution{sum, amount};
    table.add(row, {&contribution, 1});
    table.commit(row);
  }
  // In the order of their last changes.
  std::vector<std::uint32_t> changed_since(std::uint64_t epoch) const {
    std::vector<std::uint32_t> rows;
    table.log().for_each_after(epoch, [&](std::uint32_t row) { rows.push_back(row); });
    return rows;
  }
  float narrow(std::uint32_t row, ColumnId id) const { return table.columns().narrow[id][row]; }

  NodeTable table;
  SumId sum;
  BaseId limit, all;
  ColumnId headroom, capacity;
};

TEST_F(NodeTableTest, AFreshRowHoldsNothing) {
  const std::uint32_t row = table.acquire_row();
  table.commit(row);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.sum(row, sum), 0);
  EXPECT_EQ(table.truth(row, headroom), kUnlimited);
  EXPECT_EQ(narrow(row, headroom), HUGE_VALF);
  EXPECT_EQ(table.truth(row, capacity), 0);
  EXPECT_EQ(narrow(row, capacity), 0.0F);
  EXPECT_EQ(table.node_class(row), kNoNodeClass);
}

TEST_F(NodeTableTest, HeadroomIsBaseLessSum) {
  const std::uint32_t row = new_row(4000);
  add(row, 1500);
  EXPECT_EQ(table.truth(row, headroom), 2500);
  EXPECT_EQ(narrow(row, headroom), 2500.0F);
  add(row, 5000);
  EXPECT_EQ(table.truth(row, headroom), -2500);
  EXPECT_EQ(table.truth(row, capacity), 4000);
  EXPECT_EQ(narrow(row, capacity), 0.025F);
  EXPECT_TRUE(table.narrow_consistent(row));
}

// Rounded towards -infinity: 2^24 + 1 is no float32.
TEST_F(NodeTableTest, NarrowNeverExceedsTheTruth) {
  const std::uint32_t row = new_row((1 << 24) + 1);
  EXPECT_EQ(narrow(row, headroom), 0x1p24F);
  add(row, 2 * ((1 << 24) + 1));
  EXPECT_EQ(table.truth(row, headroom), -(1 << 24) - 1);
  EXPECT_EQ(narrow(row, headroom), -0x1.000002p24F);
}

TEST_F(NodeTableTest, OnlyAnUnlimitedBaseIsUnlimited) {
  const std::uint32_t row = new_row(kUnlimited);
  add(row, 77);
  EXPECT_EQ(table.truth(row, headroom), kUnlimited);
  // What falls on kUnlimited, or beyond it, stays one below: it is a limit all the same.
  table.set_base(row, limit, kUnlimited - 1);
  table.set_sum(row, sum, -1);
  table.commit(row);
  EXPECT_EQ(table.truth(row, headroom), kUnlimited - 1);
  table.set_sum(row, sum, INT64_MIN);
  table.commit(row);
  EXPECT_EQ(table.truth(row, headroom), kUnlimited - 1);
  table.set_base(row, limit, -2);
  table.set_sum(row, sum, kUnlimited);
  table.commit(row);
  EXPECT_EQ(table.truth(row, headroom), INT64_MIN);
  EXPECT_TRUE(table.narrow_consistent(row));
}

TEST_F(NodeTableTest, SumsBeyondInt64ComeBack) {
  const std::uint32_t row = table.acquire_row();
  const Contribution great[] = {{sum, INT64_MAX}, {sum, INT64_MAX}, {sum, 12}};
  table.add(row, great);
  EXPECT_EQ(table.sum(row, sum), INT64_MAX);
  EXPECT_TRUE(table.exact_sum(row, sum) == Int128{INT64_MAX} * 2 + 12);
  EXPECT_EQ(in_int64(table.exact_sum(row, sum), BeyondInt64::kWraps), 10);
  EXPECT_TRUE(table.beyond_int64(row));
  table.subtract(row, great);
  EXPECT_FALSE(table.beyond_int64(row));
  EXPECT_EQ(table.sum(row, sum), 0);
  const Contribution least{sum, INT64_MIN};
  table.subtract(row, {&least, 1});
  table.add(row, {&least, 1});
  EXPECT_EQ(table.sum(row, sum), 0);
}

TEST_F(NodeTableTest, SumsBeyondInt64AreAsTheModeSays) {
  NodeTable wraps(BeyondInt64::kWraps);
  const SumId wrapping = wraps.add_sum("sum");
  const ColumnId left = wraps.add_headroom(wraps.add_base(5), wrapping);
  const std::uint32_t row = wraps.acquire_row();
  wraps.set_sum(row, wrapping, Int128{INT64_MAX} * 2 + 12);
  wraps.commit(row);
  EXPECT_EQ(wraps.sum(row, wrapping), 10);
  EXPECT_EQ(wraps.truth(row, left), -5);
  EXPECT_TRUE(wraps.narrow_consistent(row));

  const std::uint32_t other = new_row(5);
  table.set_sum(other, sum, Int128{INT64_MAX} * 2 + 12);
  table.commit(other);
  EXPECT_EQ(table.sum(other, sum), INT64_MAX);
  EXPECT_EQ(table.truth(other, headroom), 5 - INT64_MAX);
  add(other, -1);
  EXPECT_TRUE(table.exact_sum(other, sum) == Int128{INT64_MAX} * 2 + 11);
  EXPECT_EQ(table.rows_beyond_int64(), std::vector<std::uint32_t>{other});
}

// What a node has is a capacity and where several headrooms begin; removed, it limits nothing, and
// its number begins anew.
TEST_F(NodeTableTest, ABaseOfSeveralColumns) {
  const std::uint32_t row = new_row(100);
  add(row, 30);
  const SumId more = table.add_sum("more");
  const ColumnId second = table.add_headroom(all, more);
  EXPECT_EQ(table.truth(row, second), 100);
  EXPECT_EQ(narrow(row, second), 100.0F);
  table.set_base(row, all, 200);
  table.set_sum(row, more, 50);
  table.commit(row);
  EXPECT_EQ(table.truth(row, capacity), 200);
  EXPECT_EQ(narrow(row, capacity), 0.5F);
  EXPECT_EQ(table.truth(row, second), 150);
  EXPECT_EQ(narrow(row, second), 150.0F);
  EXPECT_EQ(table.truth(row, headroom), 70);
  EXPECT_TRUE(table.narrow_consistent(row));

  table.set_sum(row, more, 0);
  table.remove_column(second);
  EXPECT_EQ(narrow(row, second), HUGE_VALF);
  table.remove_column(capacity);
  table.remove_base(all);
  table.remove_sum(more);
  table.commit(row);
  EXPECT_TRUE(table.narrow_consistent(row));
  EXPECT_EQ(table.truth(row, headroom), 70);

  EXPECT_EQ(table.add_base(9), all);
  const ColumnId anew = table.add_headroom(all, table.add_sum("anew"));
  EXPECT_TRUE(anew == second || anew == capacity) << "numbers are used again";
  EXPECT_EQ(table.truth(row, anew), 9);
  EXPECT_TRUE(table.limited(anew));
  EXPECT_TRUE(table.narrow_consistent(row));
}

TEST_F(NodeTableTest, LimitedWhileAnyRowIs) {
  const std::uint32_t first = table.acquire_row();
  const std::uint32_t second = table.acquire_row();
  const std::uint64_t unlimited = table.limited_generation();
  EXPECT_FALSE(table.limited(headroom));

  table.set_base(first, limit, 5);
  const std::uint64_t limited = table.limited_generation();
  EXPECT_TRUE(table.limited(headroom));
  EXPECT_GT(limited, unlimited);

  table.set_base(first, limit, 6);
  table.set_base(second, limit, 0);
  table.set_base(first, limit, kUnlimited);
  EXPECT_TRUE(table.limited(headroom));
  EXPECT_EQ(table.limited_generation(), limited) << "the answer has not changed";

  table.set_base(second, limit, kUnlimited);
  EXPECT_FALSE(table.limited(headroom));
  EXPECT_GT(table.limited_generation(), limited);
}

TEST_F(NodeTableTest, AReleasedRowLimitsNothing) {
  table.release_row(new_row(5));
  EXPECT_FALSE(table.limited(headroom));
}

TEST_F(NodeTableTest, AnInitialBaseLimits) {
  const ColumnId limited = table.add_headroom(table.add_base(100), sum);
  EXPECT_FALSE(table.limited(limited)) << "there are no rows";
  const std::uint32_t row = table.acquire_row();
  table.commit(row);
  EXPECT_TRUE(table.limited(limited));
  EXPECT_EQ(table.truth(row, limited), 100);
}

TEST_F(NodeTableTest, ReleasedRowsAreUsedAgainLowestFirst) {
  for (std::int64_t base = 1; base <= 5; ++base) {
    add(new_row(base), base);
  }
  for (const std::uint32_t row : {3u, 1u, 4u}) {
    table.release_row(row);
    EXPECT_EQ(table.node_class(row), kNoNodeClass);
  }
  EXPECT_EQ(table.size(), 5u);
  for (const std::uint32_t expected : {1u, 3u, 4u, 5u}) {
    const std::uint32_t row = table.acquire_row();
    table.commit(row);
    EXPECT_EQ(row, expected);
    EXPECT_EQ(table.sum(row, sum), 0);
    EXPECT_EQ(table.truth(row, headroom), kUnlimited);
    EXPECT_EQ(table.truth(row, capacity), 0);
    EXPECT_TRUE(table.narrow_consistent(row));
  }
}

// More columns and rows than there is room for at first: what was there stays, and stays aligned.
TEST_F(NodeTableTest, Growth) {
  std::vector<ColumnId> headrooms = {headroom};
  std::vector<SumId> sums = {sum};
  std::uint32_t rows = 0;
  for (const std::uint32_t target : {10u, 1024u, 1025u, 5000u}) {
    for (int column = 0; column < 7; ++column) {
      sums.push_back(table.add_sum("more " + std::to_string(sums.size())));
      headrooms.push_back(table.add_headroom(table.add_base(1000 * column), sums.back()));
    }
    for (; rows < target; ++rows) {
      const std::uint32_t row = table.acquire_row();
      ASSERT_EQ(row, rows);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        table.set_base(row, table.base_of(headrooms[i]), 1'000'000'007 * std::int64_t{row});
        table.set_sum(row, sums[i], static_cast<std::int64_t>(i) * 3 + row);
      }
      table.set_base(row, all, row);
      table.set_class(row, row + 7);
      table.commit(row);
    }
    const Columns columns = table.columns();
    for (ColumnId id = 0; id < table.column_count(); ++id) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(columns.narrow[id]) % 64, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.log_columns().narrow[id]) % 64, 0u);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
      ASSERT_TRUE(table.narrow_consistent(row)) << row;
      ASSERT_EQ(columns.node_class[row], row + 7);
      ASSERT_EQ(table.truth(row, capacity), row);
      ASSERT_EQ(columns.narrow[capacity][row], percent_scale(row));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(columns.truth_of(row)[headrooms[i]],
                  table.base(row, table.base_of(headrooms[i])) - table.sum(row, sums[i]));
        ASSERT_EQ(columns.narrow[headrooms[i]][row], round_down(table.truth(row, headrooms[i])));
      }
    }
  }
}

// Rows that are there already get the initial base of a new column, without a commit.
TEST_F(NodeTableTest, ANewColumnOfOldRows) {
  const std::uint32_t row = new_row(10);
  add(row, 4);
  const std::uint64_t epoch = table.epoch();
  const ColumnId second = table.add_headroom(table.add_base(100), sum);
  EXPECT_EQ(table.truth(row, second), 96);
  EXPECT_EQ(table.truth(row, headroom), 6);
  EXPECT_TRUE(table.narrow_consistent(row));
  EXPECT_TRUE(table.limited(second));
  EXPECT_GT(table.log().oldest(), epoch) << "cached shapes start afresh";
}

// --- The log ---

TEST_F(NodeTableTest, ACommitIsAnEpochWithItsSnapshot) {
  const std::uint32_t first = new_row(100);
  const std::uint32_t second = new_row(200);
  const std::uint64_t start = table.epoch();
  add(first, 1);
  add(second, 2);
  table.set_class(first, 9);
  add(first, 3);
  ASSERT_EQ(table.epoch(), start + 3);
  EXPECT_EQ(changed_since(start), (std::vector<std::uint32_t>{second, first})) << "each row once";
  EXPECT_EQ(changed_since(start + 2), std::vector<std::uint32_t>{first});
  EXPECT_EQ(changed_since(start + 3), std::vector<std::uint32_t>{});
  const Columns changes = table.log_columns();
  std::uint64_t place = table.log().first_after(start);
  for (; table.log().dead(ChangeLog::slot(place)); ++place) {
  }
  for (const auto& [row, left, its_class] :
       {std::tuple(second, 198.0F, 1U), std::tuple(first, 96.0F, 9U)}) {
    const std::uint32_t slot = ChangeLog::slot(place++);
    EXPECT_EQ(changes.rows[slot], row);
    EXPECT_EQ(changes.narrow[headroom][slot], left);
    EXPECT_EQ(changes.narrow[capacity][slot], percent_scale(table.truth(row, capacity)));
    EXPECT_EQ(changes.node_class[slot], its_class);
  }
  EXPECT_EQ(changes.truth_of(second)[headroom], 198);
  EXPECT_EQ(changes.truth_of(first)[headroom], 96);
}

TEST_F(NodeTableTest, ForgettingIsAnEpochOfItsOwn) {
  const std::uint32_t row = new_row(10);
  const std::uint64_t before = table.epoch();
  table.forget_changes();
  EXPECT_GT(table.epoch(), before);
  EXPECT_EQ(table.log().oldest(), table.epoch());
  add(row, 1);
  EXPECT_EQ(table.log().oldest() + 1, table.epoch());
  EXPECT_EQ(changed_since(table.log().oldest()), std::vector<std::uint32_t>{row});
}

// --- Checking ---

TEST_F(NodeTableTest, ARowIsMadeAgainFromItsSums) {
  const std::uint32_t row = new_row(50);
  add(row, 20);
  const NodeTable::RowState kept = table.row_state(row);
  const std::uint64_t epoch = table.epoch();
  const Contribution contribution{sum, 20}, great{sum, INT64_MAX};
  table.clear_sums(row);
  EXPECT_EQ(table.truth(row, headroom), 50);
  EXPECT_FALSE(table.narrow_consistent(row));
  EXPECT_NE(table.row_state(row), kept);
  table.add(row, {&contribution, 1});
  EXPECT_EQ(table.row_state(row), kept);
  EXPECT_TRUE(table.narrow_consistent(row));

  table.set_base(row, limit, kUnlimited);
  table.clear_sums(row);
  table.add(row, {&great, 1});
  table.add(row, {&great, 1});
  EXPECT_TRUE(table.beyond_int64(row));
  table.restore(row, kept);
  EXPECT_EQ(table.row_state(row), kept);
  EXPECT_FALSE(table.beyond_int64(row));
  EXPECT_TRUE(table.narrow_consistent(row));
  EXPECT_TRUE(table.limited(headroom));
  EXPECT_EQ(table.epoch(), epoch) << "looking is no change";
}

TEST(NodeTableDigest, IsOfLabelsAndValues) {
  const auto digest = [](const std::vector<std::pair<std::string, std::int64_t>>& sums) {
    NodeTable table;
    for (const auto& [label, value] : sums) {
      table.add_sum(label);
    }
    const std::uint32_t row = table.acquire_row();
    for (SumId id = 0; id < sums.size(); ++id) {
      table.set_sum(row, id, sums[id].second);
    }
    return table.digest(row);
  };
  EXPECT_EQ(digest({{"a", 1}, {"b", 2}}), digest({{"b", 2}, {"a", 1}}));
  EXPECT_EQ(digest({{"a", 1}, {"b", 0}}), digest({{"a", 1}})) << "a sum of 0 says nothing";
  EXPECT_NE(digest({{"a", 1}, {"b", 2}}), digest({{"a", 2}, {"b", 1}}));
  EXPECT_NE(digest({{"a", 1}}), digest({{"b", 1}}));
  EXPECT_NE(digest({{"a", 1}}), digest({{"a", -1}}));
}

// Events in any order, with rows coming and going: the columns depend on the sums alone, and the
// snapshots of the log, played onto a copy, lead to the table as it is.
TEST_F(NodeTableTest, PlayingTheLogLeadsToThePresent) {
  std::mt19937_64 random(test_seed());
  const SumId more = table.add_sum("more");
  const std::vector<ColumnId> headrooms = {headroom, table.add_headroom(limit, more)};
  for (int i = 0; i < 40; ++i) {
    new_row(1000);
  }
  const auto column = [&](const Columns& columns, ColumnId id, std::uint32_t count) {
    return std::vector<float>(columns.narrow[id], columns.narrow[id] + count);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<float>> played;
    for (const ColumnId id : headrooms) {
      played.push_back(column(table.columns(), id, table.size()));
    }
    const std::uint64_t since = table.epoch();
    const auto changes = static_cast<int>(random() % 300);
    for (int i = 0; i < changes; ++i) {
      const auto row = static_cast<std::uint32_t>(random() % 40);
      if (random() % 400 == 0) {
        // No row limits the column for a while.
        for (std::uint32_t each = 0; each < 40; ++each) {
          table.set_base(each, limit, kUnlimited);
          table.commit(each);
        }
        ASSERT_FALSE(table.limited(headroom));
      } else if (random() % 10 == 0) {
        table.release_row(row);
        ASSERT_EQ(new_row(static_cast<std::int64_t>(random() % 1000)), row);
      } else {
        const Contribution of_more{more, static_cast<std::int64_t>(random() % 201) - 100};
        table.add(row, {&of_more, 1});
        add(row, static_cast<std::int64_t>(random() % 2001) - 1000);
      }
    }
    ASSERT_LE(table.log().oldest(), since);
    const Columns columns = table.log_columns();
    for (std::uint64_t at = table.log().first_after(since); at < table.log().end(); ++at) {
      if (const std::uint32_t slot = ChangeLog::slot(at); !table.log().dead(slot)) {
        for (std::size_t h = 0; h < headrooms.size(); ++h) {
          played[h][columns.rows[slot]] = columns.narrow[headrooms[h]][slot];
        }
      }
    }
    for (std::size_t h = 0; h < headrooms.size(); ++h) {
      ASSERT_EQ(played[h], column(table.columns(), headrooms[h], table.size())) << h;
    }
    for (std::uint32_t row = 0; row < table.size(); ++row) {
      ASSERT_TRUE(table.narrow_consistent(row));
      const std::int64_t base = table.base(row, limit);
      ASSERT_EQ(table.truth(row, headroom),
                base == kUnlimited ? kUnlimited : base - table.sum(row, sum));
      ASSERT_EQ(table.truth(row, headrooms[1]),
                base == kUnlimited ? kUnlimited : base - table.sum(row, more));
    }
  }
}

}  // namespace
}  // namespace headroom::node_table_test
