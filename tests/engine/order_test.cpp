// State is a function of the facts: the same events in another order, as far as they are about
// different objects, give the same digest and the same answer for every node; and asking changes
// no fact.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/random/random_cluster.h"
#include "tests/support/answer_text.h"
#include "tests/support/seed.h"

namespace headroom::order_test {
namespace {

using nlohmann::json;
using Events = std::vector<json>;

constexpr int kRounds = std::max(1, 60 * HEADROOM_ROUNDS_PERCENT / 100);
constexpr int kEvents = 150;
constexpr int kOrders = 4;
constexpr int kQuestions = 12;

Engine create(const Profile& profile) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  return std::move(*engine);
}

void apply(Engine& engine, const json& event) {
  const Result<void> applied = apply_event(engine, event);
  ASSERT_TRUE(applied) << applied.error().message << "\n" << event.dump();
}

// The object that the event is about.
std::string subject(const json& event) {
  const json& object = event.at(event.contains("object") ? "object" : "pod");
  const std::string kind = object.at("kind"), name = object.at("metadata").at("name");
  return kind + "/" + name;
}

// Events between two moves of the clock change places, but those of one object keep their order.
Events shuffled(const Events& events, Draws& draws) {
  Events order;
  for (auto first = events.begin(); first != events.end();) {
    const auto last = std::find_if(first, events.end(),
                                   [](const json& event) { return event.at("op") == "advance"; });
    std::map<std::string, Events> by_subject;
    std::vector<std::string> turns;
    for (auto event = first; event != last; ++event) {
      turns.push_back(subject(*event));
      by_subject[turns.back()].push_back(*event);
    }
    for (std::size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[draws.below(i)]);
    std::map<std::string, std::size_t> done;
    for (const std::string& turn : turns) order.push_back(by_subject[turn][done[turn]++]);
    if (last != events.end()) order.push_back(*last);
    first = last == events.end() ? last : last + 1;
  }
  return order;
}

std::map<std::string, std::string> answers(Engine& engine, const Pod& pod) {
  std::map<std::string, std::string> texts;
  const Result<std::vector<NodeDetail>> details = engine.evaluate_all(pod);
  if (!details) return {{"error", details.error().message}};
  for (const NodeDetail& detail : *details) {
    texts[std::string(engine.node_name(detail.node))] =
        detail.code == Code::kSuccess
            ? scores_text(detail.plugins, detail.total)
            : rejection_text(to_string(detail.code), to_string(detail.rejected_by), detail.reasons);
  }
  if (!engine.profile().capacity_scheduling) return texts;
  // Rows depend on the order, and between equal nodes the choice on rows.
  const Result<PostFilter> preemption = engine.post_filter(pod, {.candidates = true});
  if (!preemption) return {{"error", preemption.error().message}};
  texts["post-filter"] = to_string(preemption->code);
  for (const NodeVictims& candidate : preemption->candidates) {
    std::string& text = texts["victims on " + std::string(engine.node_name(candidate.node))];
    text = to_string(candidate.code);
    for (const Victim& victim : candidate.victims) {
      text += " " + victim.namespace_name + "/" + victim.name;
    }
  }
  return texts;
}

// Every kind of question about the pod.
void ask(Engine& engine, const Pod& pod) {
  EXPECT_TRUE(engine.evaluate(pod, {.top_k = 16}));
  EXPECT_TRUE(engine.shape_of(pod));
  EXPECT_TRUE(engine.evaluate(std::vector<Pod>{pod, pod}));
  if (engine.profile().capacity_scheduling) {
    EXPECT_TRUE(engine.pre_filter(pod));
    EXPECT_TRUE(engine.post_filter(pod));
    EXPECT_TRUE(engine.post_filter(pod, {.candidates = true}));
  }
  const Result<std::vector<NodeDetail>> details = engine.evaluate_all(pod);
  ASSERT_TRUE(details) << details.error().message;
  for (const NodeDetail& detail : *details) {
    EXPECT_TRUE(engine.explain(pod, engine.node_name(detail.node)));
  }
}

struct Story {
  Profile profile;
  Events events;
  std::vector<json> pods;
};

Story random_story(Draws& draws) {
  Story story{random_profile(draws).profile, {}, {}};
  RandomCluster cluster(draws, story.profile);
  story.events.push_back({{"op", "advance"}, {"now", cluster.now()}});
  for (int e = 0; e < kEvents; ++e) story.events.push_back(cluster.event());
  for (int q = 0; q < kQuestions; ++q) story.pods.push_back(cluster.pod_to_place());
  return story;
}

TEST(Order, AnyOrderOfTheSameFactsGivesTheSameDigestAndAnswers) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("HEADROOM_SEED=" + std::to_string(seed + static_cast<std::uint64_t>(round)));
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const Story story = random_story(draws);
    Engine first = create(story.profile);
    for (const json& event : story.events) apply(first, event);
    for (int order = 0; order < kOrders; ++order) {
      Engine other = create(story.profile);
      for (const json& event : shuffled(story.events, draws)) apply(other, event);
      EXPECT_EQ(first.digest(), other.digest());
      const Result<void> valid = other.validate();
      EXPECT_TRUE(valid) << valid.error().message;
      for (const json& object : story.pods) {
        const Pod pod = to_pod(object);
        EXPECT_EQ(answers(first, pod), answers(other, pod)) << object.dump();
      }
    }
  }
}

TEST(Order, AskingChangesNoDigest) {
  const std::uint64_t seed = test_seed();
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("HEADROOM_SEED=" + std::to_string(seed + static_cast<std::uint64_t>(round)));
    Draws draws(seed + static_cast<std::uint64_t>(round));
    const Story story = random_story(draws);
    Engine asked = create(story.profile), silent = create(story.profile);
    for (const json& event : story.events) {
      apply(asked, event);
      apply(silent, event);
      if (!draws.one_in(10)) continue;
      const std::uint64_t before = asked.digest();
      ask(asked, to_pod(draws.pick(story.pods)));
      EXPECT_EQ(before, asked.digest());
      EXPECT_EQ(silent.digest(), asked.digest()) << event.dump();
    }
    for (const json& object : story.pods) {
      const Pod pod = to_pod(object);
      EXPECT_EQ(answers(silent, pod), answers(asked, pod)) << object.dump();
    }
  }
}

}  // namespace
}  // namespace headroom::order_test
