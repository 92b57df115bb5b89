// FreeNumbers: which number is next, and what a failure in between leaves.
#include "layout/free_numbers.h"

#include <gtest/gtest.h>

#include <new>

namespace headroom::free_numbers_test {
namespace {

TEST(FreeNumbers, WhatWasGivenBackLastIsTakenFirst) {
  FreeNumbers free;
  std::uint32_t size = 0;
  const auto take = [&] { return free.take([&] { return size++; }); };
  EXPECT_TRUE(free.empty());
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  free.give(0);
  free.give(2);
  EXPECT_EQ(free.last(), 2U);
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(take(), 3U);
  EXPECT_EQ(size, 4U);
}

TEST(FreeNumbers, IsFreeUntilItIsTaken) {
  FreeNumbers free;
  EXPECT_THROW(free.next([]() -> std::uint32_t { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(free.empty());
  const auto made = [] { return 7U; };
  EXPECT_EQ(free.next(made), 7U);
  EXPECT_EQ(free.next([]() -> std::uint32_t { throw std::bad_alloc(); }), 7U) << "no more is made";
  free.take();
  EXPECT_TRUE(free.empty());
}

}  // namespace
}  // namespace headroom::free_numbers_test
