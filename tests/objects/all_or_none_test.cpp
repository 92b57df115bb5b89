// all_or_none: what becomes of the fork.
#include "objects/all_or_none.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "objects/error.h"

namespace headroom::all_or_none_test {
namespace {

struct Owner {
  std::string done;
  void fork() { done += "fork "; }
  void commit() { done += "commit"; }
  void rollback() { done += "rollback"; }
};

TEST(AllOrNone, KeepsWhatIsDone) {
  Owner owner;
  EXPECT_TRUE(all_or_none(owner, [] { return Result<void>(); }));
  EXPECT_EQ(owner.done, "fork commit");
}

TEST(AllOrNone, TakesBackWhatFailed) {
  Owner owner;
  EXPECT_FALSE(
      all_or_none(owner, []() -> Result<void> { return fail(ErrorCode::kInvalid, "no"); }));
  EXPECT_EQ(owner.done, "fork rollback");
}

TEST(AllOrNone, LeavesNoForkOpenWhereSomethingThrows) {
  Owner owner;
  EXPECT_THROW(all_or_none(owner, []() -> Result<void> { throw std::runtime_error("memory"); }),
               std::runtime_error);
  EXPECT_EQ(owner.done, "fork commit");
}

}  // namespace
}  // namespace headroom::all_or_none_test
