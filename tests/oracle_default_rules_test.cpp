// Rules of the default plugins that no shared case decides, on the smallest clusters that show
// them.
#include <gtest/gtest.h>

#include "oracle/default/default_profile.h"
#include "oracle/default/go_log.h"
#include "oracle/default/scheduling_gates.h"

namespace {

using oracle::Code;
using oracle::Json;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::Pod;
using oracle::defaults::PodCycle;
using oracle::defaults::read_pod;
using oracle::defaults::run_plugin;
using oracle::defaults::Version;

Json node(const std::string& name, const Json& labels = Json::object()) {
  return {{"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"status", {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}}}}}};
}

Json pod(const std::string& name, const Json& spec = Json::object()) {
  Json object{{"kind", "Pod"},
              {"metadata", {{"namespace", "a"}, {"name", name}, {"uid", "uid-" + name}}},
              {"spec", spec}};
  if (!spec.contains("containers")) object["spec"]["containers"] = {{{"name", "c"}}};
  return object;
}

oracle::defaults::PluginAnswer run(const std::string& plugin, const Facts& facts,
                                   const Json& object, Version version = Version::k137) {
  const Pod incoming = read_pod(object);
  const Json args = Json::object();
  return run_plugin(plugin, PodCycle{facts, incoming, args, version});
}

TEST(DefaultRules, SchedulingGatesAreNamedInOrder) {
  const Json gated = pod("p", {{"schedulingGates", {{{"name", "b"}}, {{"name", "a"}}}}});
  const oracle::Status status = oracle::defaults::pre_enqueue_scheduling_gates(read_pod(gated));
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.reasons, std::vector<std::string>{"waiting for scheduling gates: [b a]"});
  EXPECT_EQ(oracle::defaults::pre_enqueue_scheduling_gates(read_pod(pod("q"))).code,
            Code::kSuccess);
}

TEST(DefaultRules, FeaturesThatANodeDoesNotDeclare) {
  Facts facts;
  facts.apply(node("old"));
  Json young = node("young");
  young["status"]["declaredFeatures"] = {"UserNamespacesHostNetworkSupport"};
  facts.apply(young);
  const Json object = pod("p", {{"hostNetwork", true}, {"hostUsers", false}});
  auto answer = run("NodeDeclaredFeatures", facts, object);
  EXPECT_EQ(answer.filter.at("old").code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(answer.filter.at("young").code, Code::kSuccess);
  EXPECT_EQ(run("NodeDeclaredFeatures", facts, object, Version::k135).pre_filter.code, Code::kSkip);
  EXPECT_EQ(run("NodeDeclaredFeatures", facts, pod("q")).pre_filter.code, Code::kSkip);
}

TEST(DefaultRules, BoundToAVolumeThatIsGone) {
  Facts facts;
  facts.apply(node("n"));
  facts.apply({{"kind", "PersistentVolumeClaim"},
               {"metadata",
                {{"namespace", "a"},
                 {"name", "c"},
                 {"annotations", {{"pv.kubernetes.io/bind-completed", "yes"}}}}},
               {"spec", {{"volumeName", "gone"}}},
               {"status", {{"phase", "Bound"}}}});
  const Json volume{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "c"}}}};
  const auto answer = run("VolumeBinding", facts, pod("p", {{"volumes", {volume}}}));
  EXPECT_EQ(answer.filter.at("n").code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(answer.filter.at("n").reasons,
            std::vector<std::string>{
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"});
}

TEST(DefaultRules, AnEphemeralVolumesClaimIsItsPods) {
  Facts facts;
  facts.apply(node("n"));
  const Json object = pod("p", {{"volumes", {{{"name", "v"}, {"ephemeral", Json::object()}}}}});
  EXPECT_EQ(run("VolumeBinding", facts, object).pre_filter.reasons,
            std::vector<std::string>{"waiting for ephemeral volume controller to create the "
                                     "persistentvolumeclaim \"p-v\""});
  Json claim{{"kind", "PersistentVolumeClaim"},
             {"metadata", {{"namespace", "a"}, {"name", "p-v"}}},
             {"spec", {{"storageClassName", "later"}}}};
  facts.apply(claim);
  EXPECT_EQ(run("VolumeBinding", facts, object).pre_filter.reasons,
            std::vector<std::string>{"PVC a/p-v was not created for pod a/p (pod is not owner)"});
  claim["metadata"]["ownerReferences"] = {{{"controller", true}, {"uid", "uid-p"}}};
  facts.apply(claim);
  facts.apply({{"kind", "StorageClass"},
               {"metadata", {{"name", "later"}}},
               {"provisioner", "csi"},
               {"volumeBindingMode", "WaitForFirstConsumer"}});
  EXPECT_EQ(run("VolumeBinding", facts, object).filter.at("n").code, Code::kSuccess);
}

// A ReplicationController's selector is merged into the services' as a map: its value of a key
// stands.
TEST(DefaultRules, AReplicationControllersSelectorStandsBeforeAServices) {
  Facts facts;
  facts.apply(node("n", {{"topology.kubernetes.io/zone", "z"}, {"kubernetes.io/hostname", "n"}}));
  facts.apply({{"kind", "Service"},
               {"metadata", {{"namespace", "a"}, {"name", "s"}}},
               {"spec", {{"selector", {{"app", "x"}}}}}});
  facts.apply({{"kind", "ReplicationController"},
               {"metadata", {{"namespace", "a"}, {"name", "r"}}},
               {"spec", {{"selector", {{"app", "y"}}}}}});
  Json other = pod("o", {{"nodeName", "n"}});
  other["metadata"]["labels"] = {{"app", "y"}};
  facts.apply(other);
  Json object = pod("p");
  object["metadata"]["labels"] = {{"app", "x"}};
  object["metadata"]["ownerReferences"] = {{{"controller", true},
                                            {"apiVersion", "v1"},
                                            {"kind", "ReplicationController"},
                                            {"name", "r"}}};
  // One pod in a zone of its own and on the only host: round(2 * ln 3 + 2 + 4).
  EXPECT_EQ(run("PodTopologySpread", facts, object).scores.at("n"), 8);
}

TEST(DefaultRules, TheLogarithmIsGos) {
  // math.Float64bits(math.Log(3)) of Go 1.26.
  EXPECT_EQ(oracle::defaults::go_log(3), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(oracle::defaults::go_log(2), 0x1.62e42fefa39efp-1);
}

}  // namespace
