// EnginePair: one engine with the cache, and one without, which get the same events and have to
// give the same answers.
//
// Thread safety: one thread at a time. What differs, or is refused, fails the test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "tests/support/answer_text.h"

namespace headroom {

class EnginePair {
 public:
  explicit EnginePair(const Profile& profile)
      : cached_(create(profile, true)), plain_(create(profile, false)) {}

  // Room in the one with the cache.
  void reserve(std::uint32_t nodes, std::uint32_t pods) { cached_.reserve(nodes, pods); }
  template <typename Fact>
  void upsert(const Fact& fact) {
    both([&](Engine& engine) { return engine.upsert(fact); });
  }
  void assume(const Pod& pod, std::string_view node) {
    both([&](Engine& engine) { return engine.assume(pod, node); });
  }
  void advance(std::int64_t now_us) {
    both([&](Engine& engine) { return engine.advance(now_us); });
  }
  void remove_pod(const Pod& pod) {
    for (Engine* engine : engines()) engine->remove_pod(pod.namespace_name, pod.name);
  }
  void remove_node(std::string_view name) {
    for (Engine* engine : engines()) engine->remove_node(name);
  }
  void fork() {
    for (Engine* engine : engines()) engine->fork();
  }
  void rollback() {
    for (Engine* engine : engines()) engine->rollback();
  }

  // Both answers are the same; the one with the cache.
  Decision ask(const Pod& pod, std::uint32_t top_k) {
    const Result<Decision> cached = cached_.evaluate(pod, {.top_k = top_k});
    const Result<Decision> plain = plain_.evaluate(pod, {.top_k = top_k});
    if (!cached || !plain) {
      ADD_FAILURE() << (cached ? plain : cached).error().message;
      return {};
    }
    EXPECT_EQ(decision_text(plain_, *plain), decision_text(cached_, *cached)) << pod.name;
    return *cached;
  }
  // What each node says is the same.
  void ask_nodes(const Pod& pod) {
    NodesDecision cached, plain;
    ASSERT_TRUE(cached_.evaluate_nodes(pod, cached));
    ASSERT_TRUE(plain_.evaluate_nodes(pod, plain));
    ASSERT_EQ(plain.rows.size(), cached.rows.size());
    for (std::size_t r = 0; r < plain.rows.size(); ++r) {
      EXPECT_EQ(plain.rows[r].verdict, cached.rows[r].verdict) << pod.name << ' ' << r;
      EXPECT_EQ(plain.rows[r].total, cached.rows[r].total) << pod.name << ' ' << r;
    }
  }

  // Both are valid and have the same facts, and the cache was of use.
  void check() {
    for (const Engine* engine : engines()) {
      const Result<void> valid = engine->validate();
      EXPECT_TRUE(valid) << valid.error().message;
    }
    EXPECT_EQ(plain_.digest(), cached_.digest());
    EXPECT_GT(cached_.stats().cache_hits, plain_.stats().cache_hits);
  }
  std::string name_of(NodeIndex node) const { return std::string(cached_.node_name(node)); }

 private:
  static Engine create(const Profile& profile, bool shape_cache) {
    Result<Engine> engine = Engine::create(profile, {.shape_cache = shape_cache, .threads = 1});
    if (!engine) throw std::invalid_argument(engine.error().message);
    return std::move(*engine);
  }
  std::array<Engine*, 2> engines() { return {&cached_, &plain_}; }
  template <typename Event>
  void both(Event event) {
    for (Engine* engine : engines()) {
      const Result<void> done = event(*engine);
      ASSERT_TRUE(done) << done.error().message;
    }
  }

  Engine cached_, plain_;
};

}  // namespace headroom
