// HEADROOM_ASSERT itself.
#include "objects/assert.h"

#include <gtest/gtest.h>

namespace headroom::assert_test {
namespace {

TEST(AssertDeathTest, NamesFileLineAndConditionInEveryBuild) {
  const int rows = 3;
  HEADROOM_ASSERT(rows < 4);
  EXPECT_DEATH(HEADROOM_ASSERT(rows < 3), "assert_test.cpp:[0-9]+: assertion broken: rows < 3");
}

}  // namespace
}  // namespace headroom::assert_test
