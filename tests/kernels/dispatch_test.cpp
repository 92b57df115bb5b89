// Which kernels an engine gets: the best that the machine has, or the ones that the environment
// variable HEADROOM_KERNELS names; a name that nothing here answers to is an error, never a guess.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kernels/kernels.h"
#include "tests/support/objects.h"

namespace headroom {
namespace {

constexpr const char* kVariable = "HEADROOM_KERNELS";

// Sets the variable for a test and puts it back as it was.
class DispatchTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* value = std::getenv(kVariable);
    was_set_ = value != nullptr;
    before_ = was_set_ ? value : "";
    unsetenv(kVariable);
  }
  void TearDown() override {
    if (was_set_) {
      force(before_);
    } else {
      unsetenv(kVariable);
    }
  }
  static void force(const std::string& name) { setenv(kVariable, name.c_str(), 1); }

 private:
  bool was_set_ = false;
  std::string before_;
};

TEST_F(DispatchTest, BestFirst) {
  std::vector<std::string> names;
  for (const Kernels* kernels : all_kernels()) {
    names.emplace_back(kernels->name);
  }
#if defined(__aarch64__)
  EXPECT_EQ(names, (std::vector<std::string>{"neon"}));
#else
  EXPECT_EQ(names, (std::vector<std::string>{"avx512", "avx2", "sse42"}));
#endif
}

TEST_F(DispatchTest, EveryListedSetIsComplete) {
  std::set<const Kernels*> seen;
  for (const Kernels* kernels : all_kernels()) {
    EXPECT_TRUE(seen.insert(kernels).second) << kernels->name;
    EXPECT_TRUE(kernels->supported && kernels->score_block && kernels->pack &&
                kernels->line_maxima && kernels->rows_at_least && kernels->index_of_max &&
                kernels->read_bytes)
        << kernels->name;
  }
}

TEST_F(DispatchTest, WithoutTheVariableTheBestSupportedOne) {
  const Kernels* best = nullptr;
  for (const Kernels* kernels : all_kernels()) {
    if (best == nullptr && kernels->supported()) {
      best = kernels;
    }
  }
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(active_kernels(), best);
}

// Machines with a better instruction set have the ones below it too.
TEST_F(DispatchTest, SupportGrowsDownTheList) {
  bool better = false;
  for (const Kernels* kernels : all_kernels()) {
    EXPECT_TRUE(kernels->supported() || !better) << kernels->name;
    better = better || kernels->supported();
  }
}

TEST_F(DispatchTest, TheVariableForcesWhatIsSupported) {
  for (const Kernels* kernels : all_kernels()) {
    force(kernels->name);
    EXPECT_EQ(active_kernels(), kernels->supported() ? kernels : nullptr) << kernels->name;
    EXPECT_EQ(Engine::create(Profile::standard()).has_value(), kernels->supported())
        << kernels->name;
  }
}

TEST_F(DispatchTest, AnyOtherNameIsAnError) {
  for (const char* name :
       {"", "avx", "AVX2", "avx2 ", " avx2", "avx25", "sse4.2", "sse42,avx2", "sve", "best"}) {
    force(name);
    EXPECT_EQ(active_kernels(), nullptr) << '"' << name << '"';
    const auto engine = Engine::create(Profile::standard());
    ASSERT_FALSE(engine.has_value()) << '"' << name << '"';
    EXPECT_EQ(engine.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(engine.error().message.find(kVariable), std::string::npos) << engine.error().message;
  }
}

// An engine chooses once: what the variable says later concerns later engines only.
TEST_F(DispatchTest, AnEngineKeepsItsKernels) {
  auto engine = Engine::create(Profile::standard());
  ASSERT_TRUE(engine.has_value());
  force("best");
  ASSERT_TRUE(engine->upsert(node_of("n", cores_and_memory(4))).has_value());
  const auto decision = engine->evaluate(pod_of("default", "p", cores(1)));
  ASSERT_TRUE(decision.has_value()) << decision.error().message;
  EXPECT_EQ(decision->nodes, 1u);
}

}  // namespace
}  // namespace headroom
