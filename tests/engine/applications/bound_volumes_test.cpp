// Engine::bound_volumes: what the cluster would write of claims that wait for their first consumer.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/engine/applications/claims.h"
#include "tests/support/objects.h"

namespace headroom::bound_volumes_test {
namespace {

class BoundVolumes : public ClaimTest {
 protected:
  BoundVolumes() { apply_nodes(); }

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
};

TEST_F(BoundVolumes, OneThatIsThere) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  volume_.node_affinity = on(kRack, "In", {"rack-b"});
  apply_claim();
  apply(ReferredObject(volume_));
  EXPECT_TRUE(bound("a").empty());
  const std::vector<ReferredObject> objects = bound("b");
  volume_.claim_namespace = "team";
  volume_.claim_name = "data";
  volume_.claim_uid = "7";
  volume_.available = false;
  claim_.volume_name = "disk";
  claim_.bind_completed = true;
  EXPECT_EQ(objects, (std::vector<ReferredObject>{volume_, claim_}));
  EXPECT_EQ(feasible_after("b"), (std::vector<bool>{false, true}));
  EXPECT_TRUE(bound("b").empty());  // it waits no more
}

TEST_F(BoundVolumes, OneThatIsMadeIsInTheZone) {
  apply_claim();
  const std::vector<ReferredObject> objects = bound("a");
  ASSERT_EQ(objects.size(), 2u);
  const auto& volume = std::get<PersistentVolume>(objects[0]);
  EXPECT_EQ(volume.name, "pvc-7");
  EXPECT_EQ(volume.capacity_bytes, 10);
  EXPECT_EQ(volume.csi_driver, kDriver);
  EXPECT_EQ(std::get<PersistentVolumeClaim>(objects[1]).volume_name, "pvc-7");
  EXPECT_EQ(volume.node_affinity, on(kZone, "In", {"zone-a"}));
  EXPECT_EQ(feasible_after("a"), (std::vector<bool>{true, false}));
}

TEST_F(BoundVolumes, OneThatIsMadeIsWhereItsClassAllows) {
  class_.allowed_topologies = {{{kRack, "In", {"rack-a", "rack-b"}}}};
  apply_claim();
  EXPECT_EQ(std::get<PersistentVolume>(bound("b").at(0)).node_affinity,
            on(kRack, "In", {"rack-b"}));
}

TEST_F(BoundVolumes, OneThatIsMadeIsOnItsStorage) {
  apply_claim();
  apply_storage_in("rack-b");
  EXPECT_TRUE(bound("a").empty());
  EXPECT_EQ(std::get<PersistentVolume>(bound("b").at(0)).node_affinity,
            on(kRack, "In", {"rack-b"}));
}

// The claim of an ephemeral volume is made for the pod, and waits as others do.
TEST_F(BoundVolumes, OfAnEphemeralVolumeAlone) {
  Volume& volume = pod_.volumes.front();
  volume.claim.reset();
  volume.name = "scratch";
  volume.ephemeral = true;
  claim_.name = pod_.name + "-scratch";
  claim_.controller = OwnerReference{"v1", "Pod", pod_.name, pod_.uid};
  apply_claim();
  EXPECT_EQ(bound("a").size(), 2u);
  EXPECT_EQ(feasible_after("a"), (std::vector<bool>{true, false}));
}

TEST_F(BoundVolumes, NothingOfANodeThatRejectsThePod) {
  apply_claim();
  pod_.containers[0].requests = {{"cpu", Quantity::from_value(9)}};
  EXPECT_TRUE(bound("a").empty());
  const Result<std::vector<ReferredObject>> nowhere = engine_.bound_volumes(pod_, "c");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
}

// Sums beyond int64 count as in Go, and nothing divides what int64 cannot hold.
TEST_F(BoundVolumes, SumsOfWhatIsAskedForWrap) {
  apply_claim();
  constexpr std::int64_t kHalf = std::int64_t{1} << 62, kMost = INT64_MAX;
  pod_.volumes.clear();
  int number = 0;
  // Requests come to 2^64 - 2^61, capacities to -1.
  for (const auto& [request, capacity] :
       {std::pair(std::int64_t{1}, std::int64_t{1}), {kHalf + kHalf / 2, kMost}, {kMost, kMost}}) {
    const std::string name = "claim-" + std::to_string(++number);
    claim_.name = claim_.uid = name;
    claim_.request_bytes = request;
    volume_.name = "volume-" + name;
    volume_.capacity_bytes = capacity;
    apply(ReferredObject(claim_));
    apply(ReferredObject(volume_));
    pod_.volumes.emplace_back().claim = name;
  }
  EXPECT_EQ(bound("a").size(), 6u);
  const Result<Decision> decision = engine_.evaluate(pod_, {.top_k = 2});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->feasible, 2u);
}

}  // namespace
}  // namespace headroom::bound_volumes_test
