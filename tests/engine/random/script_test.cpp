// A script that fails is made as short as it can be.
#include "tests/engine/random/script.h"

#include <gtest/gtest.h>

namespace headroom::script_test {
namespace {

using nlohmann::json;

// 7 is wrong where 3 came before it.
std::optional<ScriptFailure> play(const json& script) {
  bool three = false;
  return play_script(script, [&](const json& step) {
    three = three || step == 3;
    return three && step == 7 ? "wrong " : "";
  });
}

TEST(Script, StopsAtTheFirstStepThatIsWrong) {
  const auto failure = play({1, 7, 3, 2, 7, 3, 7});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->step, 4u);
  EXPECT_FALSE(play({7, 3, 1}));
}

TEST(Script, OneThatFailsIsReportedAsShortAsItCanBe) {
  EXPECT_EQ(report_failure(play, "given", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "wrong given\n3\n7\n");
  EXPECT_EQ(report_failure(play, "given", {3, 7}), "wrong given\n3\n7\n");
}

}  // namespace
}  // namespace headroom::script_test
