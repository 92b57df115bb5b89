// What an assumed pod will have bound of its claims that wait is nobody else's meanwhile, as after
// kube-scheduler's AssumePodVolumes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/engine/applications/claims.h"
#include "tests/support/file_bytes.h"
#include "tests/support/objects.h"
#include "workloads/temporary_directory.h"

namespace headroom::chosen_volumes_test {
namespace {

class ChosenVolumes : public ClaimTest {
 protected:
  ChosenVolumes() {
    for (const char* name : {"a", "b"}) {
      apply(node_of(name, cores(8), {{kRack, std::string("rack-") + name}}));
    }
  }
  ~ChosenVolumes() override {
    const Result<void> valid = engine_.validate();
    EXPECT_TRUE(valid) << valid.error().message;
  }

  // Nothing makes volumes of the class.
  void apply_local_class() {
    class_.provisioner = "kubernetes.io/no-provisioner";
    apply(ReferredObject(class_));
  }
  void apply_claim(const std::string& name) {
    claim_.name = name;
    claim_.uid = "uid-" + name;
    apply(ReferredObject(claim_));
  }
  void apply_volume(const std::string& name, std::vector<std::string> racks) {
    volume_.name = name;
    volume_.node_affinity = on(kRack, "In", std::move(racks));
    apply(ReferredObject(volume_));
  }
  // A local volume on either node, and the claims of two pods.
  void apply_two_of_each() {
    apply_local_class();
    apply_volume("disk-a", {"rack-a"});
    apply_volume("disk-b", {"rack-b"});
    apply_claim("data-0");
    apply_claim("data-1");
  }
  void assume(const Pod& pod, std::string_view node) {
    const Result<void> assumed = engine_.assume(pod, node);
    ASSERT_TRUE(assumed) << assumed.error().message;
  }
  void forget(const Pod& pod, std::string_view node) {
    engine_.forget(pod.namespace_name, pod.name, pod.uid, node);
  }
  // Their names, one after the other.
  std::string nodes_for(const Pod& pod) {
    const Result<void> valid = engine_.validate();
    EXPECT_TRUE(valid) << valid.error().message;
    std::string nodes;
    const Result<std::vector<NodeDetail>> details = engine_.evaluate_all(pod);
    for (const NodeDetail& detail : details.value()) {
      const std::string name(engine_.node_name(detail.node));
      EXPECT_EQ(detail.code == Code::kSuccess, engine_.passes(pod, name).value()) << name;
      nodes += detail.code == Code::kSuccess ? name : "";
    }
    return nodes;
  }
  // The volume of its first claim there; "": none.
  std::string volume_for(const Pod& pod, std::string_view node) {
    const std::vector<ReferredObject> bound = engine_.bound_volumes(pod, node).value();
    return bound.empty() ? "" : std::get<PersistentVolume>(bound.front()).name;
  }

  const Pod first_ = pod("store-0", "data-0"), second_ = pod("store-1", "data-1");
};

TEST_F(ChosenVolumes, TwoPodsTakeTwoVolumes) {
  apply_two_of_each();
  const std::vector<Pod> pods = {first_, second_};
  const Result<std::vector<Placement>> placed = engine_.place(pods);
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_NE((*placed)[0].node, kNoNode);
  EXPECT_NE((*placed)[1].node, kNoNode);
  EXPECT_NE((*placed)[0].node, (*placed)[1].node);
  apply_claim("data-2");
  EXPECT_EQ(nodes_for(pod("store-2", "data-2")), "");
}

TEST_F(ChosenVolumes, OfOneNodeTheOtherOneIsLeft) {
  apply_two_of_each();
  apply_volume("disk-c", {"rack-a", "rack-b"});
  assume(first_, "a");
  EXPECT_EQ(volume_for(second_, "a"), "disk-c");
  EXPECT_EQ(volume_for(second_, "b"), "disk-b");
  assume(second_, "a");
  apply_claim("data-2");
  EXPECT_EQ(nodes_for(pod("store-2", "data-2")), "b");
}

TEST_F(ChosenVolumes, ItGoesWithTheAssumption) {
  apply_two_of_each();
  assume(first_, "a");
  EXPECT_EQ(nodes_for(second_), "b");
  forget(first_, "b");
  EXPECT_EQ(nodes_for(second_), "b");
  forget(first_, "a");
  EXPECT_EQ(nodes_for(second_), "ab");

  assume(first_, "a");
  assume(first_, "b");  // it moves
  EXPECT_EQ(nodes_for(second_), "a");
  apply(first_);  // it is told, and waits
  EXPECT_EQ(nodes_for(second_), "a");
  engine_.remove_pod(first_.namespace_name, first_.name);
  EXPECT_EQ(nodes_for(second_), "ab");

  assume(first_, "a");
  Pod other = first_;
  other.uid = "another";
  apply(other);
  EXPECT_EQ(nodes_for(second_), "ab");
}

// From then on the objects say what is bound.
TEST_F(ChosenVolumes, ItGoesWhenThePodIsBound) {
  apply_two_of_each();
  assume(first_, "a");
  const std::vector<ReferredObject> bound = engine_.bound_volumes(first_, "a").value();
  ASSERT_EQ(bound.size(), 2u);
  Pod told = first_;
  told.node_name = "a";
  apply(told);
  EXPECT_EQ(nodes_for(second_), "ab");
  for (const ReferredObject& object : bound) apply(object);
  EXPECT_EQ(nodes_for(second_), "b");
}

TEST_F(ChosenVolumes, PodsWithOneClaimShareItsVolume) {
  apply_two_of_each();
  const Pod sharing = pod("reader", "data-0");
  assume(first_, "a");
  EXPECT_EQ(nodes_for(sharing), "a");
  EXPECT_EQ(volume_for(sharing, "a"), "disk-a");
  assume(sharing, "a");
  forget(first_, "a");
  EXPECT_EQ(nodes_for(second_), "b");
  EXPECT_EQ(nodes_for(first_), "a");
  forget(sharing, "a");
  EXPECT_EQ(nodes_for(second_), "ab");
}

TEST_F(ChosenVolumes, OfAClaimThatIsProvisionedTheNodeIsSelected) {
  apply(ReferredObject(class_));
  apply_claim("data-0");
  apply_claim("data-1");
  const Pod sharing = pod("reader", "data-0");
  EXPECT_EQ(nodes_for(sharing), "ab");
  assume(first_, "b");
  EXPECT_EQ(nodes_for(sharing), "b");
  EXPECT_EQ(engine_.filter(sharing, "a")->reasons,
            std::vector<std::string>{"node(s) didn't find available persistent volumes to bind"});
  EXPECT_EQ(nodes_for(second_), "ab");
  apply_volume("disk-a", {"rack-a"});  // comes too late for it
  EXPECT_EQ(nodes_for(sharing), "b");
  assume(sharing, "b");
  forget(first_, "b");
  EXPECT_EQ(nodes_for(first_), "b");
  forget(sharing, "b");
  EXPECT_EQ(nodes_for(first_), "ab");
}

// A pod that is assumed is decided as if it were not.
TEST_F(ChosenVolumes, ItsOwnAreFreeToThePodItself) {
  apply_two_of_each();
  assume(first_, "a");
  EXPECT_EQ(nodes_for(first_), "ab");
  EXPECT_EQ(volume_for(first_, "a"), "disk-a");
  EXPECT_EQ(volume_for(first_, "b"), "disk-b");
  EXPECT_EQ(nodes_for(second_), "b");
}

TEST_F(ChosenVolumes, NothingIsChosenWhereNoneIsFound) {
  apply_two_of_each();
  assume(first_, "a");
  assume(second_, "a");
  apply_claim("data-2");
  EXPECT_EQ(nodes_for(pod("store-2", "data-2")), "b");
  forget(first_, "a");
  EXPECT_EQ(nodes_for(pod("store-2", "data-2")), "ab");
}

// What the objects say of the same counts, whenever they say it.
TEST_F(ChosenVolumes, WhatIsToldGoesBefore) {
  apply_two_of_each();
  assume(first_, "a");
  engine_.remove(ReferredKind::kPersistentVolume, "disk-a");
  EXPECT_EQ(nodes_for(second_), "b");
  apply_volume("disk-a", {"rack-a"});  // another one of the name is its volume all the same
  EXPECT_EQ(nodes_for(second_), "b");

  volume_.claim_namespace = "team";
  volume_.claim_name = "data-1";
  apply(ReferredObject(volume_));
  EXPECT_EQ(nodes_for(second_), "a");
  volume_.claim_name = "";
  apply(ReferredObject(volume_));
  EXPECT_EQ(nodes_for(second_), "b");

  apply_claim("data-0");
  claim_.uid = "another";  // the volume is for the one that was
  apply(ReferredObject(claim_));
  EXPECT_EQ(nodes_for(pod("reader", "data-0")), "b");
}

// Who binds may choose otherwise among equals: then the chosen one is free.
TEST_F(ChosenVolumes, AClaimForWhichAnotherVolumeIsToldHasThatOne) {
  apply_two_of_each();
  apply_volume("disk-c", {"rack-a"});
  assume(first_, "a");
  EXPECT_EQ(volume_for(second_, "a"), "disk-c");

  volume_.claim_namespace = "team";
  volume_.claim_name = "data-0";
  volume_.claim_uid = "uid-data-0";
  apply(ReferredObject(volume_));
  EXPECT_EQ(volume_for(second_, "a"), "disk-a");
  EXPECT_EQ(volume_for(pod("reader", "data-0"), "a"), "disk-c");
  assume(second_, "a");
  apply_claim("data-2");
  const Pod third = pod("store-2", "data-2");
  EXPECT_EQ(nodes_for(third), "b");

  // For a claim of that name that is gone.
  volume_.claim_uid = "another";
  apply(ReferredObject(volume_));
  EXPECT_EQ(nodes_for(third), "b");
  // For none: both have chosen the same one.
  volume_.claim_name = volume_.claim_namespace = volume_.claim_uid = "";
  apply(ReferredObject(volume_));
  EXPECT_EQ(nodes_for(third), "ab");
  EXPECT_EQ(volume_for(third, "a"), "disk-c");
  forget(first_, "a");
  EXPECT_EQ(volume_for(third, "a"), "disk-c");
  forget(second_, "a");
  EXPECT_EQ(volume_for(third, "a"), "disk-a");
}

TEST_F(ChosenVolumes, AForkTakesItBack) {
  apply_two_of_each();
  engine_.fork();
  assume(first_, "a");
  engine_.fork();
  assume(first_, "b");
  EXPECT_EQ(nodes_for(second_), "a");
  engine_.rollback();
  EXPECT_EQ(nodes_for(second_), "b");
  engine_.fork();
  forget(first_, "a");
  EXPECT_EQ(nodes_for(second_), "ab");
  engine_.rollback();
  EXPECT_EQ(nodes_for(second_), "b");
  engine_.fork();
  engine_.remove(ReferredKind::kPersistentVolume, "disk-a");
  engine_.rollback();
  EXPECT_EQ(nodes_for(second_), "b");
  engine_.rollback();
  EXPECT_EQ(nodes_for(second_), "ab");
}

TEST_F(ChosenVolumes, AStateFileHasThem) {
  apply_two_of_each();
  assume(first_, "a");
  apply_volume("disk-0", {"rack-a"});  // which it would choose now
  EXPECT_EQ(volume_for(first_, "a"), "disk-a");
  class_.name = "made";
  class_.provisioner = kDriver;
  apply(ReferredObject(class_));
  claim_.storage_class = "made";
  apply_claim("data-2");
  assume(pod("maker", "data-2"), "b");
  const TemporaryDirectory directory = TemporaryDirectory::make("headroom-chosen").value();
  const std::string path = directory.path() + "/state", again = directory.path() + "/again";
  ASSERT_TRUE(engine_.save(path));
  Result<Engine> loaded = Engine::load(engine_.profile(), path, {.threads = 1});
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->save(again));
  EXPECT_EQ(file_bytes(path), file_bytes(again));
  engine_ = std::move(*loaded);
  EXPECT_EQ(volume_for(first_, "a"), "disk-a");
  EXPECT_EQ(volume_for(second_, "a"), "disk-0");
  EXPECT_EQ(nodes_for(pod("reader", "data-2")), "b");
  forget(pod("maker", "data-2"), "b");
  EXPECT_EQ(nodes_for(pod("reader", "data-2")), "ab");
}

TEST_F(ChosenVolumes, NoneWhereNobodyAsksVolumeBinding) {
  Profile profile = Profile::kube_scheduler();
  std::erase(profile.filters, PluginId::kVolumeBinding);
  engine_ = Engine::create(std::move(profile), {.threads = 1}).value();
  for (const char* name : {"a", "b"}) {
    apply(node_of(name, cores(8), {{kRack, std::string("rack-") + name}}));
  }
  apply_two_of_each();
  assume(first_, "a");
  EXPECT_EQ(nodes_for(second_), "ab");
}

}  // namespace
}  // namespace headroom::chosen_volumes_test
