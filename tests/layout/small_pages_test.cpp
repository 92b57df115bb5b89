// SmallPages: a setting of the process, while anyone wants it.
#include "layout/small_pages.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <memory>
#include <optional>
#include <thread>

namespace headroom::small_pages_test {
namespace {

int small() { return ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0); }

TEST(SmallPages, AreThoseOfTheProcessUntilTheLastOneEnds) {
  const int before = small();
  if (before < 0) GTEST_SKIP() << "this system has no such setting";
  {
    const SmallPages outer;
    EXPECT_EQ(small(), 1);
    { const SmallPages inner; }
    EXPECT_EQ(small(), 1);
    std::optional<SmallPages> longer(std::in_place);
    EXPECT_EQ(small(), 1);
  }
  EXPECT_EQ(small(), before);
}

TEST(SmallPages, EndOnAnotherThread) {
  const int before = small();
  if (before < 0) GTEST_SKIP() << "this system has no such setting";
  auto pages = std::make_unique<SmallPages>();
  EXPECT_EQ(small(), 1);
  std::thread([&pages] { pages.reset(); }).join();
  EXPECT_EQ(small(), before);
}

// Who started the process with small pages has them afterwards.
TEST(SmallPages, LeaveWhatWas) {
  const int before = small();
  if (before < 0) GTEST_SKIP() << "this system has no such setting";
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  { const SmallPages pages; }
  EXPECT_EQ(small(), 1);
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, before, 0, 0, 0), 0);
}

}  // namespace
}  // namespace headroom::small_pages_test
