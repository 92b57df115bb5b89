// Engine::bound_volumes: what the cluster would write of claims that wait for their first consumer.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace headroom::bound_volumes_test {
namespace {

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kRack = "example.com/rack";

class BoundVolumes : public testing::Test {
 protected:
  BoundVolumes() {
    for (const char* name : {"a", "b"}) {
      Node node;
      node.name = name;
      node.labels = {{kRack, std::string("rack-") + name}, {kZone, std::string("zone-") + name}};
      node.allocatable = {{"cpu", Quantity::from_value(8)}, {"pods", Quantity::from_value(110)}};
      apply(node);
    }
    class_.name = "fast";
    class_.provisioner = "disk.example.com";
    class_.waits_for_first_consumer = true;
    claim_.namespace_name = "team";
    claim_.name = "data";
    claim_.uid = "7";
    claim_.storage_class = "fast";
    claim_.access_modes = {"ReadWriteOnce"};
    claim_.request_bytes = 10;
    pod_.namespace_name = "team";
    pod_.name = pod_.uid = "store-0";
    pod_.containers.emplace_back().requests = {{"cpu", Quantity::from_value(1)}};
    pod_.volumes.emplace_back().claim = "data";
  }

  template <typename T>
  void apply(const T& object) {
    const Result<void> applied = engine_.upsert(object);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void apply_all() {
    apply(ReferredObject(class_));
    apply(ReferredObject(claim_));
  }
  std::vector<ReferredObject> bound(const std::string& node) {
    Result<std::vector<ReferredObject>> objects = engine_.bound_volumes(pod_, node);
    EXPECT_TRUE(objects) << objects.error().message;
    return objects ? std::move(*objects) : std::vector<ReferredObject>();
  }
  // Once the volume and the claim on the node are facts: where the pod may go.
  std::vector<bool> feasible_after(const std::string& node) {
    for (const ReferredObject& object : bound(node)) apply(object);
    EXPECT_TRUE(engine_.validate());
    return {engine_.filter(pod_, "a")->code == Code::kSuccess,
            engine_.filter(pod_, "b")->code == Code::kSuccess};
  }

  Engine engine_ = Engine::create(Profile::kube_scheduler(), {.threads = 1}).value();
  StorageClass class_;
  PersistentVolumeClaim claim_;
  Pod pod_;
};

TEST_F(BoundVolumes, OneThatIsThere) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  PersistentVolume volume;
  volume.name = "disk-1";
  volume.storage_class = "fast";
  volume.capacity_bytes = 20;
  volume.access_modes = {"ReadWriteOnce"};
  volume.available = true;
  volume.node_affinity = {{.match_expressions = {{kRack, "In", {"rack-b"}}}, .match_fields = {}}};
  apply_all();
  apply(ReferredObject(volume));
  EXPECT_TRUE(bound("a").empty());
  const std::vector<ReferredObject> objects = bound("b");
  volume.claim_namespace = "team";
  volume.claim_name = "data";
  volume.claim_uid = "7";
  volume.available = false;
  claim_.volume_name = "disk-1";
  claim_.bind_completed = true;
  EXPECT_EQ(objects, (std::vector<ReferredObject>{volume, claim_}));
  EXPECT_EQ(feasible_after("b"), (std::vector<bool>{false, true}));
  EXPECT_TRUE(bound("b").empty());  // it waits no more
}

TEST_F(BoundVolumes, OneThatIsMadeIsInTheZone) {
  apply_all();
  const std::vector<ReferredObject> objects = bound("a");
  ASSERT_EQ(objects.size(), 2u);
  const auto& volume = std::get<PersistentVolume>(objects[0]);
  EXPECT_EQ(volume.name, "pvc-7");
  EXPECT_EQ(volume.capacity_bytes, 10);
  EXPECT_EQ(volume.csi_driver, "disk.example.com");
  EXPECT_EQ(std::get<PersistentVolumeClaim>(objects[1]).volume_name, "pvc-7");
  const NodeSelectorTerm zone{.match_expressions = {{kZone, "In", {"zone-a"}}}, .match_fields = {}};
  EXPECT_EQ(volume.node_affinity, std::vector<NodeSelectorTerm>{zone});
  EXPECT_EQ(feasible_after("a"), (std::vector<bool>{true, false}));
}

TEST_F(BoundVolumes, OneThatIsMadeIsWhereItsClassAllows) {
  class_.allowed_topologies = {{{kRack, "In", {"rack-a", "rack-b"}}}};
  apply_all();
  const NodeSelectorTerm rack{.match_expressions = {{kRack, "In", {"rack-b"}}}, .match_fields = {}};
  EXPECT_EQ(std::get<PersistentVolume>(bound("b").at(0)).node_affinity,
            std::vector<NodeSelectorTerm>{rack});
}

TEST_F(BoundVolumes, OneThatIsMadeIsOnItsStorage) {
  CsiDriver driver;
  driver.name = "disk.example.com";
  driver.storage_capacity = true;
  CsiStorageCapacity capacity;
  capacity.namespace_name = "kube-system";
  capacity.name = "of-b";
  capacity.storage_class = "fast";
  capacity.node_topology = LabelSelector{{kRack, "In", {"rack-b"}}};
  capacity.capacity_bytes = 100;
  apply_all();
  apply(ReferredObject(driver));
  apply(ReferredObject(capacity));
  EXPECT_TRUE(bound("a").empty());
  const NodeSelectorTerm rack{.match_expressions = *capacity.node_topology, .match_fields = {}};
  EXPECT_EQ(std::get<PersistentVolume>(bound("b").at(0)).node_affinity,
            std::vector<NodeSelectorTerm>{rack});
}

TEST_F(BoundVolumes, NothingOfANodeThatRejectsThePod) {
  apply_all();
  pod_.containers[0].requests = {{"cpu", Quantity::from_value(9)}};
  EXPECT_TRUE(bound("a").empty());
  const Result<std::vector<ReferredObject>> nowhere = engine_.bound_volumes(pod_, "c");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace headroom::bound_volumes_test
