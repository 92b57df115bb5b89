// upsert_text against read_objects() and upsert_all() one after the other: the same engine, row by
// row, and the same errors, whatever the order of the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/profile/profile.h"
#include "engine/upsert_objects.h"
#include "objects/reading/object_reader.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"

namespace headroom {
namespace {

// As kubectl prints them, one after the other; beyond a megabyte.
std::vector<std::string> objects_of(std::uint64_t seed) {
  const ClusterGenerator generator({.nodes = 300, .pods = 1500, .seed = seed, .quotas = 5});
  std::vector<std::string> objects;
  const auto add = [&](const auto& object) { append_json(objects.emplace_back(), object); };
  for (std::uint32_t n = 0; n < 300; ++n) {
    add(generator.node(n));
  }
  for (std::uint32_t p = 0; p < 1500; ++p) {
    Pod pod = generator.pod(p);
    if (p % 50 == 7) {
      pod.node_name = "gone-" + std::to_string(p % 3);
    }
    add(pod);
    if (p % 40 == 7) {
      pod.node_name.clear();  // the same again, and others
      add(pod);
    }
  }
  for (std::uint32_t n = 0; n < 300; ++n) {
    if (generator.has_node_metric(n)) {
      NodeMetric metric = generator.node_metric(n);
      if (n % 60 == 5) {
        metric.name = "unknown-" + std::to_string(n);
      }
      add(metric);
    }
  }
  generator.visit_quotas(add);
  return objects;
}

std::string text_of(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) {
    text += object + "\n";
  }
  return text;
}

void expect_same(const std::string& text) {
  ASSERT_GT(text.size(), std::size_t{1} << 20);
  Result<Engine> one = Engine::create(Profile::standard(), {.threads = 1});
  Result<Engine> other = Engine::create(Profile::standard(), {.threads = 1});
  ASSERT_TRUE(one && other);
  const Result<std::size_t> count = upsert_text(*one, text, "text");
  const Result<ObjectFile> objects = read_objects(text, "text");
  const Result<std::size_t> want =
      objects ? upsert_all(*other, *objects) : tl::unexpected(objects.error());
  ASSERT_EQ(count.has_value(), want.has_value());
  if (want) {
    EXPECT_EQ(*count, *want);
  } else {
    EXPECT_EQ(count.error().code, want.error().code);
    EXPECT_EQ(count.error().message, want.error().message);
    EXPECT_EQ(one->pod_count(), 0u);
    EXPECT_EQ(one->stats().nodes, 0u);
  }
  EXPECT_EQ(one->forks(), 0u);
  EXPECT_TRUE(one->validate());
  EXPECT_EQ(one->digest(), other->digest());
  ASSERT_TRUE(!want || one->row_count() == other->row_count());
  for (std::uint32_t row = 0; want && row < one->row_count(); ++row) {
    EXPECT_EQ(one->node_name(static_cast<NodeIndex>(row)),
              other->node_name(static_cast<NodeIndex>(row)));
  }
}

TEST(UpsertText, InTheOrderOfKubectl) { expect_same(text_of(objects_of(test_seed()))); }

TEST(UpsertText, InAnyOrder) {
  std::vector<std::string> objects = objects_of(test_seed() + 1);
  std::mt19937_64 random{test_seed()};
  for (int round = 0; round < 3; ++round) {
    std::shuffle(objects.begin(), objects.end(), random);
    expect_same(text_of(objects));
  }
  std::reverse(objects.begin(), objects.end());
  expect_same(text_of(objects));
}

TEST(UpsertText, NothingOfATextThatIsWrong) {
  const std::vector<std::string> objects = objects_of(test_seed() + 2);
  const auto with = [&](std::size_t at, const std::string& wrong) {
    std::vector<std::string> all = objects;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), wrong);
    expect_same(text_of(all));
  };
  const std::string nameless = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":""}})";
  const std::string nameless_node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":""}})";
  with(objects.size(), "{");
  with(700, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":7}})");
  with(700, nameless);
  with(1700, nameless_node);
  std::vector<std::string> both = objects;
  both.insert(both.begin() + 500, nameless);
  both.push_back(nameless_node);  // of the two errors its is the first
  expect_same(text_of(both));
}

TEST(UpsertText, AnEngineThatHasNodes) {
  const std::string text = text_of(objects_of(test_seed() + 3));
  Result<Engine> engine = Engine::create(Profile::standard(), {.threads = 1});
  ASSERT_TRUE(engine && upsert_text(*engine, text, "text"));
  const std::uint64_t digest = engine->digest();
  ASSERT_TRUE(upsert_text(*engine, text, "text"));
  EXPECT_EQ(engine->digest(), digest);
}

}  // namespace
}  // namespace headroom
