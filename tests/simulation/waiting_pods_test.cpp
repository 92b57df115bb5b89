// Pods that wait: who is tried when, of those that are alike the first alone.
#include "simulation/waiting_pods.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom::waiting_pods_test {
namespace {

using Names = std::vector<std::string>;

// Pods of one name but for its last letter are alike.
class Waiting {
 public:
  void come(const std::string& name, std::int32_t priority = 0) {
    PendingPod pending;
    pending.pod.namespace_name = "default";
    pending.pod.name = pending.pod.uid = name;
    pending.pod.labels = {{"app", name.substr(0, 1)}};
    pending.pod.node_selector = pending.pod.labels;
    pending.pod.priority = priority;
    queue_.push(std::move(pending));
    fail(queue_.pop());
  }
  void fail(PendingPod pending) {
    const std::string name = pending.pod.name;
    Decision decision;
    decision.nodes = ++decisions_;
    EXPECT_TRUE(waiting_.add(engine_, std::move(pending), std::move(decision), queue_)) << name;
  }
  // Whose turn it is, in their order; those named find a place.
  Names try_again(const Names& placed) {
    waiting_.try_again(queue_);
    return finish(placed);
  }
  Names finish(const Names& placed) {
    Names tried;
    while (!queue_.empty()) {
      PendingPod pending = queue_.pop();
      tried.push_back(pending.pod.name);
      if (std::find(placed.begin(), placed.end(), tried.back()) == placed.end()) {
        fail(std::move(pending));
      } else {
        waiting_.remove(pending, queue_);
      }
    }
    waiting_.end_round();
    return tried;
  }
  // "a1 7": the last decision about it or one that is like it was the seventh.
  Names all() {
    Names all;
    for (const auto& [pending, decision] : waiting_.all()) {
      all.push_back(pending->pod.name + ' ' + std::to_string(decision->nodes));
    }
    EXPECT_EQ(all.size(), waiting_.size());
    return all;
  }
  WaitingPods& pods() { return waiting_; }
  PodQueue& queue() { return queue_; }

 private:
  Engine engine_ = Engine::create(Profile::standard(), {.threads = 1}).value();
  PodQueue queue_{{}};
  WaitingPods waiting_;
  std::uint32_t decisions_ = 0;
};

TEST(WaitingPods, OfThoseThatAreAlikeTheFirstIsTried) {
  Waiting waiting;
  for (const char* name : {"a1", "b1", "a2", "a3", "b2"}) waiting.come(name);
  EXPECT_EQ(waiting.try_again({}), (Names{"a1", "b1"}));
  EXPECT_EQ(waiting.all(), (Names{"a1 6", "b1 7", "a2 6", "a3 6", "b2 7"}));
}

// In the order in which they came, whether they are alike or not.
TEST(WaitingPods, TheNextFollowsWhereOneFoundAPlace) {
  Waiting waiting;
  for (const char* name : {"a1", "b1", "a2", "b2", "a3"}) waiting.come(name);
  EXPECT_EQ(waiting.try_again({"a1", "b1", "b2"}), (Names{"a1", "b1", "a2", "b2"}));
  EXPECT_EQ(waiting.try_again({"a2", "a3"}), (Names{"a2", "a3"}));
  EXPECT_TRUE(waiting.pods().empty());
  EXPECT_EQ(waiting.try_again({}), Names{});
}

TEST(WaitingPods, TheMoreImportantComeFirst) {
  Waiting waiting;
  waiting.come("a1");
  waiting.come("a2", 5);
  waiting.come("a3", 5);
  EXPECT_EQ(waiting.try_again({"a2"}), (Names{"a2", "a3", "a1"}));
}

// Who came before was passed over already.
TEST(WaitingPods, RoomThatComesWithinARoundIsForThoseBehind) {
  Waiting waiting;
  for (const char* name : {"a1", "a2", "b1", "a3", "a4"}) waiting.come(name);
  waiting.pods().try_again(waiting.queue());
  waiting.fail(waiting.queue().pop());  // a1
  const PendingPod b1 = waiting.queue().pop();
  waiting.pods().try_after(b1, waiting.queue());
  waiting.pods().remove(b1, waiting.queue());
  EXPECT_EQ(waiting.finish({"a3"}), (Names{"a3", "a4"}));
  EXPECT_EQ(waiting.all(), (Names{"a1 7", "a2 7", "a4 7"}));
}

}  // namespace
}  // namespace headroom::waiting_pods_test
