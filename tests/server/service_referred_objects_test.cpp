// Objects that nodes and pods refer to, as they are fed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "objects/writing/referred_json_writer.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_referred_objects_test {
namespace {

// Of a profile that reads all kinds.
Profile reading_profile() {
  Profile profile;
  profile.filters = {PluginId::kNodeResourcesFit, PluginId::kVolumeBinding,
                     PluginId::kPodTopologySpread, PluginId::kInterPodAffinity};
  return profile;
}

class Referred : public ServiceTest {
 protected:
  Referred() : ServiceTest(reading_profile()) {}

  // Of an engine in process that was told the same.
  static std::uint64_t digest_of(const std::vector<Fact>& facts) {
    return engine_with(reading_profile(), facts, kNowUs).digest();
  }
  std::uint64_t digest() { return client.stats(true).digest(); }
};

ReferredObject namespace_of(const std::string& name, const std::string& environment) {
  return Namespace{.name = name, .labels = {{"env", environment}}};
}
ReferredObject service_of(const std::string& name) {
  return Service{
      .namespace_name = "team", .name = name, .selector = StringMap{{"app", name}, {"tier", ""}}};
}

TEST_F(Referred, HelloNamesTheKindsThatTheProfileReads) {
  const auto kinds_of = [](Client& peer) {
    std::string kinds;
    const auto& profile = *peer.greet().profiles()->Get(0);
    for (const auto* kind : *profile.referred_kinds()) kinds += kind->str() + " ";
    return kinds;
  };
  Client peer(*service);
  EXPECT_EQ(kinds_of(peer),
            "Namespace Service ReplicationController ReplicaSet StatefulSet PersistentVolume"
            " PersistentVolumeClaim StorageClass CSINode CSIDriver CSIStorageCapacity ");
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  Client later(*service);
  EXPECT_EQ(kinds_of(later), "");
}

TEST_F(Referred, AreFactsOfTheEngine) {
  const std::vector<Fact> facts = {
      node_of("n1", 8), namespace_of("team", "prod"), service_of("web"),
      ReferredObject(WorkloadController{.kind = WorkloadController::Kind::kReplicationController,
                                        .namespace_name = "team",
                                        .name = "old",
                                        .selector = LabelSelector{{"app", "In", {"old"}}}}),
      ReferredObject(StorageClass{.name = "fast",
                                  .provisioner = "ebs",
                                  .waits_for_first_consumer = false,
                                  .allowed_topologies = {}})};
  feeder.feed(facts);
  EXPECT_EQ(digest(), digest_of(facts));
  EXPECT_NE(digest(), digest_of({node_of("n1", 8)}));
  // A later object replaces the one before; one that is removed is gone.
  feeder.facts({namespace_of("team", "test"), RemovedReferred{"Service", "team/web"},
                RemovedReferred{"ReplicationController", "team/old"},
                RemovedReferred{"StorageClass", "fast"}, RemovedReferred{"CSINode", "unknown"}});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(digest(), digest_of({node_of("n1", 8), namespace_of("team", "test")}));
}

// The API server's JSON, of which most is not read.
TEST_F(Referred, MayHaveFieldsThatAreNotRead) {
  feeder.feed({ReferredJson{
      R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "team",
          "uid": "u", "resourceVersion": "7"},
          "spec": {"ports": [{"port": 80}], "selector": {"tier": "", "app": "web"}},
          "status": {"loadBalancer": {}}})"}});
  EXPECT_EQ(digest(), digest_of({service_of("web")}));
}

TEST_F(Referred, AResyncDropsWhatIsNotFedAgain) {
  feeder.feed({namespace_of("team", "prod"), service_of("web")});
  feeder.begin();
  feeder.facts({service_of("web")});
  EXPECT_EQ(digest(), digest_of({namespace_of("team", "prod"), service_of("web")}));
  feeder.end();
  EXPECT_EQ(digest(), digest_of({service_of("web")}));
}

TEST_F(Referred, WhatCannotBeUsedChangesNothing) {
  feeder.feed({service_of("web")});
  const std::uint64_t before = digest();
  const auto refused = [&](const Fact& fact) {
    const std::string error = feeder.error(feeder.facts({fact}));
    EXPECT_FALSE(feeder.has_answer());
    EXPECT_EQ(digest(), before) << error;
    return error;
  };
  const auto json = [](const char* kind, const char* rest) {
    return ReferredJson{fmt::format(
        R"({{"apiVersion": "v1", "kind": "{}", "metadata": {{"name": "web", "namespace": "team"}}{}}})",
        kind, rest)};
  };
  EXPECT_EQ(refused(json("Service", R"(, "spec": {"selector": 7})")),
            "Invalid: json: Service team/web: spec.selector: 7 is not an object (change 0)");
  const std::string malformed = refused(ReferredJson{R"({"kind": "Service", )"});
  EXPECT_EQ(malformed.rfind("Invalid: json: ", 0), 0U) << malformed;
  EXPECT_NE(malformed.find("malformed JSON"), std::string::npos) << malformed;
  EXPECT_EQ(refused(ReferredJson{""}).rfind("Invalid: json: ", 0), 0U);
  const std::string unnamed =
      refused(ReferredJson{R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {}})"});
  EXPECT_NE(unnamed.find("metadata.name"), std::string::npos) << unnamed;
  const std::string unknown = refused(json("Gadget", ""));
  EXPECT_EQ(unknown.rfind("Unsupported: json: ", 0), 0U) << unknown;
  EXPECT_NE(unknown.find("Gadget"), std::string::npos) << unknown;
  EXPECT_EQ(
      refused(json("Pod", "")),
      "Unsupported: json: an object of a kind that nodes and pods do not refer to (change 0)");
  EXPECT_EQ(refused(ReferredJson{std::string(kReferredObjectBytesMax + 1, ' ')}),
            "LimitExceeded: json: 524289 bytes: kReferredObjectBytesMax is 524288 (change 0)");
  EXPECT_EQ(refused(RemovedReferred{"Gadget", "team/web"}),
            "Unsupported: kind: \"Gadget\" is none that nodes and pods refer to (change 0)");
  // Of a name that is known, as large as may be.
  std::string large = to_json(service_of("web"));
  large.resize(kReferredObjectBytesMax, ' ');
  feeder.facts({ReferredJson{large}});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(digest(), before);
}

// Of a profile that does not read them they are accepted.
TEST_F(Referred, AreNotKeptWhereNobodyReadsThem) {
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  feeder.feed({node_of("n1", 8), service_of("web")});
  EXPECT_EQ(
      digest(),
      engine_with(profile_of(PluginId::kNodeResourcesFit), {node_of("n1", 8)}, kNowUs).digest());
}

}  // namespace
}  // namespace headroom::in_memory::service_referred_objects_test
