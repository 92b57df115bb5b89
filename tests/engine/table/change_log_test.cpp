// ChangeLog against a list of all changes: from every epoch that it still knows it names the rows
// that changed since, each once, with what they became last.
#include "engine/table/change_log.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace headroom::change_log_test {
namespace {

// Appends with one column, and remembers everything.
struct ChangeLogTest : testing::Test {
  explicit ChangeLogTest(std::uint32_t rows = 50'000) {
    log.add_column();
    log.add_rows(rows);
  }
  void change(std::uint32_t row) {
    log.column(0)[log.append(row, row + 1)] = static_cast<float>(++count);
    changes.emplace_back(log.epoch(), row);
  }
  // Is what it says of the time after the epoch the truth?
  void expect_all_after(std::uint64_t epoch) {
    std::map<std::uint32_t, float> last;
    std::uint64_t number = count;
    for (auto change = changes.rbegin(); change != changes.rend() && change->first > epoch;
         ++change, --number) {
      last.emplace(change->second, static_cast<float>(number));
    }
    std::map<std::uint32_t, float> said;
    for (std::uint64_t at = log.first_after(epoch); at < log.end(); ++at) {
      const std::uint32_t slot = ChangeLog::slot(at);
      if (!log.dead(slot)) {
        const std::uint32_t row = log.rows()[slot];
        EXPECT_EQ(log.node_classes()[slot], row + 1);
        EXPECT_TRUE(said.emplace(row, log.column(0)[slot]).second) << "row " << row;
      }
    }
    EXPECT_EQ(said, last) << "after " << epoch;
  }

  ChangeLog log;
  std::uint64_t count = 0;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> changes;
};

TEST_F(ChangeLogTest, FullOfDifferentRowsTheOldestGoes) {
  for (std::uint32_t row = 0; row < kLogSlots; ++row) {
    change(row);
  }
  EXPECT_EQ(log.oldest(), 0u) << "exactly full";
  expect_all_after(0);
  change(kLogSlots);
  EXPECT_EQ(log.oldest(), 1u);
  expect_all_after(1);
  change(0);  // which the log no longer knew
  EXPECT_EQ(log.oldest(), 2u);
  expect_all_after(2);
}

TEST_F(ChangeLogTest, ARowThatChangesAlwaysTakesNoRoom) {
  change(1);
  for (int i = 0; i < 3 * static_cast<int>(kLogSlots); ++i) {
    change(2);
  }
  EXPECT_EQ(log.oldest(), 0u);
  EXPECT_EQ(log.end() - log.first_after(0), 2u);
  expect_all_after(0);
}

TEST_F(ChangeLogTest, TheSameFewRowsStayKnown) {
  for (std::uint32_t i = 0; i < 5 * kLogSlots; ++i) {
    change(i * 7919 % 1000);
  }
  EXPECT_EQ(log.oldest(), 0u);
  EXPECT_LE(log.end() - log.first_after(0), 2001u);
  expect_all_after(0);
}

TEST_F(ChangeLogTest, AFewRowsBehindManyOthersTakeLittleRoom) {
  constexpr std::uint32_t kMany = 10'000, kFew = 9;
  for (std::uint32_t row = 0; row < kMany; ++row) {
    change(row);
  }
  const std::uint64_t then = log.epoch();
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    change(kMany + i % kFew);
    EXPECT_LE(log.end() - log.first_after(then), 2 * kFew + 2 * kLogEndChanges) << i;
  }
  EXPECT_EQ(log.end() - log.first_after(0), kMany + (log.end() - log.first_after(then)));
  expect_all_after(then);
  expect_all_after(0);
}

TEST_F(ChangeLogTest, WhateverComes) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t rows = std::uint64_t{1} << (1 + random() % 15);
    for (std::uint64_t left = random() % 3000; left > 0; --left) {
      change(static_cast<std::uint32_t>(random() % rows));
    }
    if (random() % 20 == 0) {
      log.forget();
      changes.clear();
      EXPECT_EQ(log.oldest(), log.epoch());
    }
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t known = log.epoch() - log.oldest();
      expect_all_after(log.oldest() + random() % (known + 1));
    }
    expect_all_after(log.oldest());
  }
}

}  // namespace
}  // namespace headroom::change_log_test
