// Attack "shapes": pods of which no two are alike, each asked for once. What they leave behind
// stays within the shape cache's limit, and what others need stays with them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace headroom {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;

Profile profile_of() {
  Profile profile = Profile::standard();
  profile.capacity_scheduling = true;
  return profile;
}

Engine make_engine(std::size_t bytes_max) {
  Result<Engine> engine =
      Engine::create(profile_of(), {.shape_cache_bytes_max = bytes_max, .threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  for (int n = 0; n < 4; ++n) {
    Node node;
    node.name = "n" + std::to_string(n);
    node.labels = {{"zone", n % 2 == 0 ? "a" : "b"}};
    node.allocatable = {{"cpu", Quantity::from_value(64)},
                        {"memory", Quantity::from_value(std::int64_t{256} << 30)},
                        {"pods", Quantity::from_value(110)}};
    EXPECT_TRUE(engine->upsert(node));
  }
  return std::move(*engine);
}

// Of a shape of its own: by what it asks for, by a resource, by a selector.
Pod pod_of(int i, const std::string& node_name = "") {
  Pod pod;
  pod.namespace_name = "evil";
  pod.name = pod.uid = "pod" + std::to_string(i);
  pod.node_name = node_name;
  Container& container = pod.containers.emplace_back();
  container.requests = {{"cpu", Quantity::from_milli(1 + i)}};
  const std::string number = std::to_string(i);
  if (i % 4 == 1)
    container.requests.emplace_back("evil.example/" + number, Quantity::from_value(1));
  if (i % 4 == 2) pod.node_selector = {{"evil.example/" + number, "x"}};
  if (i % 4 == 3) pod.node_selector = {{"zone", "a"}};
  return pod;
}

void check(const Engine& engine) {
  const Result<void> valid = engine.validate();
  ASSERT_TRUE(valid) << valid.error().message;
}

void ask(Engine& engine, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    ASSERT_TRUE(engine.evaluate(pod_of(i)));
    ASSERT_LE(engine.stats().cache_bytes, 8 * kMi + kMi / 4);
  }
}

TEST(ShapesAttack, ShapesAskedOnceStayWithinTheCachesLimit) {
  const bool all = std::getenv("HEADROOM_LONG") != nullptr;
  const int count = all ? 1'010'000 : 20'000;
  Engine engine = make_engine(8 * kMi);
  ask(engine, 0, 8'000);
  const std::uint32_t shapes = engine.stats().shapes;
  const std::size_t before = mallinfo2().uordblks;
  ask(engine, 8'000, count);
  EXPECT_LT(engine.stats().shapes, shapes + shapes / 2);
  EXPECT_LT(engine.stats().shapes, 4'000u);
#ifndef HEADROOM_SANITIZED
  // Texts of reasons stay for a while beyond the limit (kUnusedReasonsMax).
  EXPECT_LT(mallinfo2().uordblks, before + 24 * kMi);
#else
  (void)before;
#endif
  EXPECT_EQ(engine.evaluate(pod_of(0)).value().feasible, 4u);
  ASSERT_TRUE(engine.upsert(pod_of(3 * count, "n1")));
  check(engine);
}

TEST(ShapesAttack, PodsThatCameAndWentLeaveNoShapes) {
  Engine engine = make_engine(kMi);
  const std::uint64_t digest = engine.digest();
  for (int i = 0; i < 6'000; ++i) {
    ASSERT_TRUE(engine.upsert(pod_of(i, i % 2 == 0 ? "n1" : "")));
    if (i >= 100) engine.remove_pod("evil", "pod" + std::to_string(i - 100));
  }
  EXPECT_LT(engine.stats().shapes, 2'000u);
  check(engine);
  for (int i = 5'900; i < 6'000; ++i) engine.remove_pod("evil", "pod" + std::to_string(i));
  EXPECT_EQ(engine.digest(), digest);
  check(engine);
}

// What pods count by, what a caller was given, and what a rollback brings back.
TEST(ShapesAttack, ShapesInUseStay) {
  Engine engine = make_engine(1);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(engine.upsert(pod_of(i, "n" + std::to_string(i % 4))));
  const ShapeIndex handed_out = engine.shape_of(pod_of(1'000)).value();
  Decision before, after;
  ASSERT_TRUE(engine.evaluate(handed_out, {.top_k = 4}, before));
  const std::uint64_t digest = engine.digest();
  engine.fork();
  for (int i = 0; i < 50; ++i) engine.remove_pod("evil", "pod" + std::to_string(i));
  for (int i = 2'000; i < 2'400; ++i) ASSERT_TRUE(engine.evaluate(pod_of(i)));
  ASSERT_TRUE(engine.assume(pod_of(3'000), "n2"));
  check(engine);
  engine.rollback();
  check(engine);
  EXPECT_EQ(engine.digest(), digest);
  EXPECT_LT(engine.stats().shapes, 80u);
  ASSERT_TRUE(engine.evaluate(handed_out, {.top_k = 4}, after));
  ASSERT_EQ(after.candidates.size(), before.candidates.size());
  for (std::size_t c = 0; c < after.candidates.size(); ++c) {
    EXPECT_EQ(after.candidates[c].node, before.candidates[c].node);
    EXPECT_EQ(after.candidates[c].total, before.candidates[c].total);
  }
  engine.fork();
  for (int i = 0; i < 50; ++i) engine.remove_pod("evil", "pod" + std::to_string(i));
  engine.commit();
  for (int i = 2'000; i < 2'100; ++i) ASSERT_TRUE(engine.evaluate(pod_of(i)));
  EXPECT_LT(engine.stats().shapes, 10u);
  check(engine);
}

TEST(ShapesAttack, ABatchAnswersTheSameWithoutRoom) {
  Engine small = make_engine(1), large = make_engine(512 * kMi);
  std::vector<Pod> pods;
  for (int i = 0; i < 300; ++i) pods.push_back(pod_of(i % 200));
  for (std::size_t p = 0; p < pods.size(); ++p) {
    pods[p].name = pods[p].uid = "batch" + std::to_string(p);
    pods[p].priority = static_cast<std::int32_t>(p % 3);
  }
  const auto texts = [](const std::vector<Decision>& decisions) {
    std::vector<std::string> all;
    for (const Decision& decision : decisions) all.push_back(decision.message());
    return all;
  };
  EXPECT_EQ(texts(small.evaluate(pods).value()), texts(large.evaluate(pods).value()));
  const std::vector<Placement> here = small.place(pods, {}, true).value();
  const std::vector<Placement> there = large.place(pods, {}, true).value();
  for (std::size_t p = 0; p < pods.size(); ++p) {
    EXPECT_EQ(here[p].node, there[p].node) << p;
    EXPECT_EQ(here[p].decision.message(), there[p].decision.message());
  }
  EXPECT_EQ(small.digest(), large.digest());
  check(small);
}

}  // namespace
}  // namespace headroom
