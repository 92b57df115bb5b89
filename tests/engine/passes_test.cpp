// Whether a node takes a pod, without why: all that is asked, and what the node has alone.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::passes_test {
namespace {

Node node_of(const std::string& name, std::int64_t cpu) {
  return headroom::node_of(name, cores(cpu), {{"disk", name}, {"kubernetes.io/hostname", name}});
}

Pod pod_of(const std::string& name) {
  return headroom::pod_of("team", name, cores(2), {.labels = {{"app", "store"}}});
}

class Passes : public testing::Test {
 protected:
  Passes() : engine_(Engine::create(Profile::kube_scheduler(), {.threads = 1}).value()) {
    Node tainted = node_of("tainted", 8);
    tainted.taints = {{"maintenance", "", "NoSchedule"}};
    for (const Node& node :
         {node_of("small", 1), node_of("large", 8), node_of("taken", 8), tainted}) {
      EXPECT_TRUE(engine_.upsert(node));
    }
    Pod there = pod_of("there");
    there.node_name = "taken";
    EXPECT_TRUE(engine_.upsert(there));
  }
  bool passes(const Pod& pod, const char* node) {
    const bool passes = engine_.passes(pod, node).value();
    EXPECT_EQ(engine_.filter(pod, node)->code == Code::kSuccess, passes) << node;
    return passes;
  }
  bool has_room(const Pod& pod, const char* node) {
    return engine_.has_room(engine_.shape_of(pod).value(), engine_.find_node(node)).value();
  }

  Engine engine_;
};

TEST_F(Passes, WhatANodeHasAndWhatOthersDo) {
  Pod pod = pod_of("asked");
  pod.pod_anti_affinity.required = {{.selector = LabelSelector{{"app", "In", {"store"}}},
                                     .namespaces = {},
                                     .namespace_selector = {},
                                     .topology_key = "kubernetes.io/hostname"}};
  EXPECT_TRUE(passes(pod, "large") && has_room(pod, "large"));
  EXPECT_FALSE(passes(pod, "small") || has_room(pod, "small"));
  EXPECT_FALSE(passes(pod, "tainted") || has_room(pod, "tainted"));
  EXPECT_FALSE(passes(pod, "taken"));
  EXPECT_TRUE(has_room(pod, "taken")) << "others are not asked";
}

TEST_F(Passes, FollowsWhatComesAndGoes) {
  Pod pod = pod_of("asked");
  pod.containers[0].requests = {{"cpu", Quantity::from_value(7)}};
  pod.node_selector = {{"disk", "taken"}};
  EXPECT_FALSE(passes(pod, "taken") || has_room(pod, "taken"));
  engine_.remove_pod("team", "there");
  EXPECT_TRUE(passes(pod, "taken") && has_room(pod, "taken"));
  EXPECT_FALSE(passes(pod, "large") || has_room(pod, "large")) << "another disk";
  ASSERT_TRUE(engine_.assume(pod, "taken"));
  EXPECT_FALSE(passes(pod, "taken") || has_room(pod, "taken"));
}

TEST_F(Passes, NamesWhatIsNotKnown) {
  const ShapeIndex shape = engine_.shape_of(pod_of("asked")).value();
  EXPECT_EQ(engine_.passes(pod_of("asked"), "elsewhere").error().code, ErrorCode::kNotFound);
  const Result<bool> no_node = engine_.has_room(shape, kNoNode);
  ASSERT_FALSE(no_node);
  EXPECT_EQ(no_node.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine_.has_room(ShapeIndex{77}, engine_.find_node("large")).error().message,
            "shape 77 is not known");
}

}  // namespace
}  // namespace headroom::passes_test
