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
#include "tests/support/objects.h"

namespace headroom::shapes_test {
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
    EXPECT_TRUE(engine->upsert(node_of("n" + std::to_string(n), cores_and_memory(64),
                                       {{"zone", n % 2 == 0 ? "a" : "b"}})));
  }
  return std::move(*engine);
}

// Of a shape of its own: by what it asks for, by a resource, by a selector.
Pod pod_of(int i, const std::string& node_name = "") {
  const std::string number = std::to_string(i);
  Pod pod = headroom::pod_of("evil", "pod" + number, millicores(1 + i), {.node_name = node_name});
  if (i % 4 == 1)
    pod.containers[0].requests.emplace_back("evil.example/" + number, Quantity::from_value(1));
  if (i % 4 == 2) pod.node_selector = {{"evil.example/" + number, "x"}};
  if (i % 4 == 3) pod.node_selector = {{"zone", "a"}};
  return pod;
}

void check(const Engine& engine) {
  const Result<void> valid = engine.validate();
  ASSERT_TRUE(valid) << valid.error().message;
}

// What malloc has handed out. Not what it took from the system: the sanitizers say nothing of it.
std::size_t used_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// ... and what it keeps.
std::size_t taken_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}

bool sanitized() {
#ifdef HEADROOM_SANITIZED
  return true;
#else
  return false;
#endif
}

constexpr std::size_t kLimit = 16 * kMi;
constexpr std::size_t kApplications = kLimit / 4;  // kApplicationsMax says so
// Beyond the cache's limit: tables that do not shrink, a batch's own, and, of a million shapes,
// texts of reasons, which stay for a while (kUnusedReasonsMax).
constexpr std::size_t kBesideTheCache = 2 * kMi, kBesideTheCacheLong = 24 * kMi;

// Shapes asked for once each, by `ask` of the pods [first, first + count), for long enough to fill
// the cache some times over.
template <typename Ask>
void expect_within_limit(Ask ask) {
  const bool all = std::getenv("HEADROOM_LONG") != nullptr;
  const int count = all ? 1'010'000 : 8'000;
  const std::size_t beside = all ? kBesideTheCacheLong : kBesideTheCache;
  const std::size_t used = used_bytes(), taken = taken_bytes();
  Engine engine = make_engine(kLimit);
  ask(engine, 0, 6'000);
  const std::uint32_t shapes = engine.stats().shapes;
  ask(engine, 6'000, count);
  EXPECT_LT(engine.stats().shapes, shapes + shapes / 2);
  EXPECT_LT(engine.stats().shapes, 8'000u);
  EXPECT_LE(engine.stats().cache_bytes, kLimit);
  if (!sanitized()) {
    EXPECT_GT(engine.stats().cache_bytes, kLimit / 2) << "too few shapes to tell";
    EXPECT_LE(used_bytes(), used + kLimit + kApplications + kLimit / 4 + beside);
    // What comes and goes leaves no holes that are not filled again.
    EXPECT_LE(taken_bytes(), taken + kLimit + kApplications + kLimit / 2 + beside);
  }
  EXPECT_EQ(engine.evaluate(pod_of(0)).value().feasible, 4u);
  ASSERT_TRUE(engine.upsert(pod_of(3 * count, "n1")));
  check(engine);
}

TEST(ShapesAttack, ShapesAskedOnceStayWithinTheCachesLimit) {
  expect_within_limit([](Engine& engine, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_TRUE(engine.evaluate(pod_of(i)));
      ASSERT_LE(engine.stats().cache_bytes, kLimit);
    }
  });
}

TEST(ShapesAttack, ShapesAskedOnceInBatchesStayWithinTheCachesLimit) {
  expect_within_limit([](Engine& engine, int first, int count) {
    std::vector<Pod> pods(256);
    for (int i = first; i < first + count; i += 256) {
      for (int p = 0; p < 256; ++p) pods[static_cast<std::size_t>(p)] = pod_of(i + p);
      ASSERT_TRUE(engine.evaluate(pods));
      ASSERT_LE(engine.stats().cache_bytes, kLimit);
    }
  });
}

// What a shape says of each class, and its selectors, count as well.
TEST(ShapesAttack, LongConstraintsCount) {
  expect_within_limit([](Engine& engine, int first, int count) {
    // As many again would be asked for nothing: they are larger.
    for (int i = first; i < first + count / 10; ++i) {
      Pod pod = pod_of(4 * i);
      pod.required_node_affinity.emplace(10);
      for (NodeSelectorTerm& term : *pod.required_node_affinity) {
        term.match_expressions = {{"zone", "In", {}}, {"rack", "DoesNotExist", {}}};
        for (int v = 0; v < 12; ++v) {
          term.match_expressions[0].values.push_back("a-zone-that-is-far-away-" +
                                                     std::to_string(v));
        }
        term.match_expressions[0].values.emplace_back("a");
      }
      ASSERT_TRUE(engine.evaluate(pod));
      ASSERT_LE(engine.stats().cache_bytes, kLimit);
    }
  });
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
}  // namespace headroom::shapes_test
