// Nodes that are alike in the labels that a pod's volumes ask for are decided together: the answer
// is that of a look at each node. Nobody else reads those labels here, so that only what the
// volumes say tells nodes apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/engine/applications/claims.h"
#include "tests/support/objects.h"

namespace headroom::volume_classes_test {
namespace {

const std::string kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::uint32_t kNodes = 12;

std::string node_name(std::uint32_t n) { return "node-" + std::to_string(n); }

class VolumeClasses : public ClaimTest {
 protected:
  VolumeClasses() {
    for (std::uint32_t n = 0; n < kNodes; ++n) apply(node_of(n));
  }

  static Node node_of(std::uint32_t n) {
    Node node =
        headroom::node_of(node_name(n), cores(8), {{kRack, "rack-" + std::to_string(n % 3)}});
    if (n != 0) {
      node.labels.emplace_back(n < 3 ? kBetaZone : kZone, "zone-" + std::to_string(n % 4));
    }
    std::sort(node.labels.begin(), node.labels.end());
    return node;
  }
  void apply_all() {
    apply(ReferredObject(class_));
    apply(ReferredObject(claim_));
    apply(ReferredObject(volume_));
  }
  void bind() {
    claim_.volume_name = "disk";
    claim_.bind_completed = true;
    volume_.claim_namespace = "team";
    volume_.claim_name = "data";
    volume_.available = false;
  }

  // Nodes, sorted by name, as a decision has them; it is held against each node's own look.
  std::vector<std::string> feasible() {
    const Result<Decision> decision = engine_.evaluate(pod_, {.top_k = kNodes});
    const Result<std::vector<NodeDetail>> each = engine_.evaluate_all(pod_);
    EXPECT_TRUE(decision && each);
    if (!decision || !each) return {};
    std::map<std::string, std::int64_t> found, expected;
    for (const NodeScore& candidate : decision->candidates) {
      found.emplace(engine_.node_name(candidate.node), candidate.total);
    }
    std::map<std::string, std::uint32_t> reasons, expected_reasons;
    for (const auto& its : decision->reasons) reasons.emplace(its.reason, its.nodes);
    for (const NodeDetail& its : *each) {
      if (its.code == Code::kSuccess) {
        expected.emplace(engine_.node_name(its.node), its.total);
      }
      for (const std::string& reason : its.reasons) ++expected_reasons[reason];
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(reasons, expected_reasons);
    EXPECT_TRUE(engine_.validate());
    std::vector<std::string> names;
    for (const auto& its : found) names.push_back(its.first);
    return names;
  }
};

const std::vector<std::string> kRack1 = {"node-1", "node-10", "node-4", "node-7"};
const std::vector<std::string> kRack2 = {"node-11", "node-2", "node-5", "node-8"};

TEST_F(VolumeClasses, OfABoundVolume) {
  bind();
  volume_.node_affinity = on(kRack, "In", {"rack-1"});
  apply_all();
  EXPECT_EQ(feasible(), kRack1);
  volume_.node_affinity = on(kRack, "NotIn", {"rack-0", "rack-1"});
  apply(ReferredObject(volume_));
  EXPECT_EQ(feasible(), kRack2);
}

// What its volume asks for is one node's, until it is another's too.
TEST_F(VolumeClasses, OfABoundVolumeOfOneNode) {
  bind();
  volume_.node_affinity = on(kBetaZone, "In", {"zone-1", "nobodys"});
  apply_all();
  EXPECT_EQ(feasible(), std::vector<std::string>{"node-1"});
  Node more = node_of(4);
  more.labels.emplace_back(kBetaZone, "zone-1");
  std::sort(more.labels.begin(), more.labels.end());
  apply(more);
  EXPECT_EQ(feasible(), (std::vector<std::string>{"node-1", "node-4"}));
  Node less = node_of(1);
  std::erase_if(less.labels, [](const auto& label) { return label.first == kBetaZone; });
  apply(less);
  EXPECT_EQ(feasible(), std::vector<std::string>{"node-4"});
  volume_.node_affinity = on(kBetaZone, "In", {"nobodys"});
  apply(ReferredObject(volume_));
  EXPECT_TRUE(feasible().empty());
}

// kube-scheduler holds a volume against labels alone.
TEST_F(VolumeClasses, FieldsOfAVolumesAffinityAreNotAsked) {
  bind();
  volume_.node_affinity = on(kRack, "In", {"rack-1"});
  volume_.node_affinity->front().match_fields = {{"metadata.name", "In", {"node-2"}}};
  apply_all();
  EXPECT_EQ(feasible(), kRack1);
  volume_.node_affinity->front().match_expressions.clear();
  apply(ReferredObject(volume_));
  EXPECT_EQ(feasible().size(), kNodes);
  // What is not valid matches nothing all the same.
  volume_.node_affinity->front().match_fields = {{"metadata.name", "Exists", {}}};
  apply(ReferredObject(volume_));
  EXPECT_TRUE(feasible().empty());
}

TEST_F(VolumeClasses, OfAClaimThatGetsItsVolume) {
  volume_.node_affinity = on(kRack, "In", {"rack-1"});
  apply_all();
  EXPECT_EQ(feasible().size(), kNodes);  // one is made elsewhere
  bind();
  apply(ReferredObject(volume_));
  apply(ReferredObject(claim_));
  EXPECT_EQ(feasible(), kRack1);
}

TEST_F(VolumeClasses, OfAVolumeThatIsMeantForTheClaim) {
  volume_.claim_namespace = "team";
  volume_.claim_name = "data";
  volume_.node_affinity = on(kRack, "In", {"rack-2"});
  class_.provisioner = "kubernetes.io/no-provisioner";
  apply_all();
  EXPECT_EQ(feasible(), kRack2);
}

TEST_F(VolumeClasses, OfVolumesThatNobodyHas) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  volume_.node_affinity = on(kRack, "In", {"rack-1"});
  apply_all();
  EXPECT_EQ(feasible(), kRack1);
  volume_.name = "other";
  volume_.node_affinity = on(kRack, "NotIn", {"rack-0"});
  apply(ReferredObject(volume_));
  EXPECT_EQ(feasible().size(), kRack1.size() + kRack2.size());
}

TEST_F(VolumeClasses, OfTheTopologiesOfAClass) {
  class_.allowed_topologies = {{{kRack, "In", {"rack-2"}}}};
  apply_all();
  engine_.remove(ReferredKind::kPersistentVolume, "disk");
  EXPECT_EQ(feasible(), kRack2);
}

TEST_F(VolumeClasses, OfStorage) {
  volume_.deleting = true;
  apply_all();
  apply_storage_in("rack-1");
  EXPECT_EQ(feasible(), kRack1);
}

// More than classes are made for: each node is looked at.
TEST_F(VolumeClasses, OfManyVolumes) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  volume_.node_affinity = on(kRack, "In", {"rack-0"});
  volume_.capacity_bytes = 1;
  apply_all();
  for (int v = 0; v < 300; ++v) {
    volume_.name = "disk-" + std::to_string(v);
    apply(ReferredObject(volume_));
  }
  EXPECT_TRUE(feasible().empty());
  volume_.capacity_bytes = 20;
  volume_.node_affinity = on(kRack, "In", {"rack-2"});
  apply(ReferredObject(volume_));
  EXPECT_EQ(feasible(), kRack2);
}

TEST_F(VolumeClasses, OfZonesOfAVolume) {
  bind();
  volume_.labels = {{kZone, "zone-1__zone-2"}};
  apply_all();
  // Without any zone; and those that have the beta label alone are not read by this one.
  EXPECT_EQ(feasible(),
            (std::vector<std::string>{"node-0", "node-10", "node-5", "node-6", "node-9"}));
  volume_.labels = {{kBetaZone, "zone-1"}};
  apply(ReferredObject(volume_));
  EXPECT_EQ(feasible(), (std::vector<std::string>{"node-0", "node-1", "node-5", "node-9"}));
}

TEST_F(VolumeClasses, OfASelectedNode) {
  claim_.selected_node = "node-7";
  apply_all();
  EXPECT_EQ(feasible(), (std::vector<std::string>{"node-7"}));
}

// All nodes are alike, but for what is on them.
TEST_F(VolumeClasses, OfNodesThatHaveTooMany) {
  bind();
  volume_.csi_driver = kDriver;
  volume_.csi_handle = "disk";
  apply_all();
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    CsiNode csi_node;
    csi_node.name = node_name(n);
    csi_node.drivers = {{kDriver, n == 3 ? 0 : 1}};
    apply(ReferredObject(csi_node));
  }
  claim_.name = claim_.volume_name = volume_.name = volume_.claim_name = volume_.csi_handle =
      "other";
  apply(ReferredObject(volume_));
  apply(ReferredObject(claim_));
  ASSERT_TRUE(engine_.assume(pod("other", "other"), "node-5"));
  ASSERT_TRUE(engine_.assume(pod("twin", "data"), "node-6"));  // has the volume already
  const std::vector<std::string> found = feasible();
  EXPECT_EQ(found.size(), kNodes - 2);
  EXPECT_EQ(std::count(found.begin(), found.end(), "node-3"), 0);
  EXPECT_EQ(std::count(found.begin(), found.end(), "node-5"), 0);
}

}  // namespace
}  // namespace headroom::volume_classes_test
