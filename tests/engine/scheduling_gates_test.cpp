// A pod with scheduling gates: every question about it has the same answer, whatever the node says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::scheduling_gates_test {
namespace {

const std::vector<std::string> kWaits = {"waiting for scheduling gates: [a b]"};

TEST(SchedulingGates, EveryAnswerSaysSo) {
  Engine engine = Engine::create(Profile::kube_scheduler(), {.threads = 1}).value();
  ASSERT_TRUE(engine.upsert(node_of("n1", {})));
  Pod pod = pod_of("team", "p", {});
  ASSERT_EQ(engine.explain(pod, "n1").value().code, Code::kSuccess);
  pod.scheduling_gates = {"a", "b"};
  // It is asked nothing else: its claim is not looked for.
  Volume volume;
  volume.claim = "none";
  pod.volumes = {volume};

  const Decision decision = engine.evaluate(pod).value();
  EXPECT_EQ(decision.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(decision.pre_filter, kWaits);
  const NodeDetail filtered = engine.filter(pod, "n1").value();
  EXPECT_EQ(filtered.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(filtered.rejected_by, PluginId::kSchedulingGates);
  EXPECT_EQ(filtered.reasons, kWaits);
  NodesDecision nodes;
  ASSERT_TRUE(engine.evaluate_nodes(pod, nodes));
  EXPECT_EQ(nodes.pre_filter, kWaits);
  const Explanation explained = engine.explain(pod, "n1").value();
  EXPECT_EQ(explained.code, Code::kUnschedulableAndUnresolvable);
  ASSERT_FALSE(explained.terms.empty());
  const ExplainTerm& first = explained.terms.front();
  EXPECT_EQ(first.plugin, PluginId::kSchedulingGates);
  EXPECT_EQ(first.extension_point, "PreEnqueue");
  EXPECT_EQ(first.note, kWaits.front());
  EXPECT_FALSE(first.passed);
}

}  // namespace
}  // namespace headroom::scheduling_gates_test
