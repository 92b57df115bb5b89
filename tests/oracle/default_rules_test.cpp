// Rules of the default plugins that no shared case decides, on the smallest clusters that show
// them.
#include <gtest/gtest.h>

#include "oracle/default/default_preemption.h"
#include "oracle/default/go_log.h"
#include "oracle/default/scheduling_gates.h"

namespace default_rules_test {
namespace {

using oracle::Code;
using oracle::Json;
using oracle::Version;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::Pod;
using oracle::defaults::PodCycle;
using oracle::defaults::read_pod;
using oracle::defaults::run_plugin;

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

// Until it is unreserved: a volume that it found is claimed, one that is made has its node
// selected.
TEST(DefaultRules, WhatAReservedPodWillHaveBoundIsNobodyElses) {
  const DefaultProfile profile(Version::k137);
  Facts facts;
  for (const char* name : {"m", "n"}) facts.apply(node(name));
  for (const auto& [name, provisioner] :
       {std::pair("local", "kubernetes.io/no-provisioner"), std::pair("made", "csi")}) {
    facts.apply({{"kind", "StorageClass"},
                 {"metadata", {{"name", name}}},
                 {"provisioner", provisioner},
                 {"volumeBindingMode", "WaitForFirstConsumer"}});
  }
  facts.apply({{"kind", "PersistentVolume"},
               {"metadata", {{"name", "disk"}}},
               {"spec", {{"storageClassName", "local"}, {"capacity", {{"storage", "1Gi"}}}}},
               {"status", {{"phase", "Available"}}}});
  for (const auto& [name, storage_class] :
       {std::pair("one", "local"), std::pair("two", "local"), std::pair("three", "made")}) {
    facts.apply({{"kind", "PersistentVolumeClaim"},
                 {"metadata", {{"namespace", "a"}, {"name", name}, {"uid", name}}},
                 {"spec", {{"storageClassName", storage_class}}}});
  }
  const auto with = [](const std::string& name, const std::string& claim) {
    const Json volume{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim}}}};
    return pod(name, {{"volumes", {volume}}});
  };
  const auto passes = [&](const Json& object) {
    std::string nodes;
    for (const auto& [name, status] : run("VolumeBinding", facts, object).filter) {
      nodes += status.code == Code::kSuccess ? name : "";
    }
    return nodes;
  };
  EXPECT_EQ(passes(with("q", "two")), "mn");
  profile.reserve(facts, with("p", "one"), "n");
  EXPECT_EQ(passes(with("q", "two")), "");
  EXPECT_EQ(passes(with("q", "one")), "mn");
  facts.unreserve(with("p", "one"), "n");
  EXPECT_EQ(passes(with("q", "two")), "mn");

  profile.reserve(facts, with("p", "three"), "n");
  EXPECT_EQ(passes(with("q", "three")), "n");
  Json bound = with("p", "three");
  bound["spec"]["nodeName"] = "n";
  facts.apply(bound);
  EXPECT_EQ(passes(with("q", "three")), "mn");
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

// The pod as it waits, what schedule() says and what preempt() says.
oracle::defaults::PreemptionAnswer preempt(const Facts& facts, const Json& object) {
  const Pod incoming = read_pod(object);
  const DefaultProfile profile(Version::k137);
  const auto before = profile.schedule(facts, incoming);
  EXPECT_EQ(before.best, "");
  return oracle::defaults::preempt(profile, facts, incoming, before);
}

Json with_labels(Json object, const Json& labels) {
  object["metadata"]["labels"] = labels;
  return object;
}

Json running(const std::string& name, const std::string& on, std::int64_t priority,
             const std::string& cpu) {
  Json object =
      pod(name, {{"nodeName", on},
                 {"priority", priority},
                 {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}});
  object["status"] = {{"startTime", "2026-01-01T00:00:00Z"}};
  return object;
}

Json waiting(const std::string& name, std::int64_t priority, const std::string& cpu) {
  Json object = running(name, "", priority, cpu);
  object["spec"].erase("nodeName");
  return object;
}

const Json kApart = {
    {"podAntiAffinity",
     {{"requiredDuringSchedulingIgnoredDuringExecution",
       {{{"topologyKey", "zone"}, {"labelSelector", {{"matchLabels", {{"app", "x"}}}}}}}}}}};

TEST(DefaultPreemption, TakesTheFewestAndTheLowest) {
  Facts facts;
  facts.apply(node("a"));
  facts.apply(node("b"));
  facts.apply(running("a1", "a", 5, "2"));
  facts.apply(running("a2", "a", 1, "2"));
  facts.apply(running("b1", "b", 3, "4"));
  const auto answer = preempt(facts, waiting("p", 9, "2"));
  EXPECT_EQ(answer.status.code, Code::kSuccess);
  EXPECT_EQ(answer.nominated_node, "a");
  EXPECT_EQ(answer.victims, std::vector<std::string>{"a/a2"});
}

// One in the zone, but on the other node, cannot be taken: victims are of the one node only.
TEST(DefaultPreemption, AntiAffinityOfAnotherNodeStays) {
  Facts facts;
  facts.apply(node("a", {{"zone", "z"}}));
  facts.apply(node("b", {{"zone", "z"}}));
  facts.apply(with_labels(running("a1", "a", 1, "1"), {{"app", "x"}}));
  Json object = waiting("p", 9, "1");
  object["spec"]["affinity"] = kApart;
  const auto answer = preempt(facts, object);
  EXPECT_EQ(answer.nominated_node, "a");
  EXPECT_EQ(answer.victims, std::vector<std::string>{"a/a1"});
  EXPECT_EQ(answer.candidates.at("b").status.code, Code::kUnschedulableAndUnresolvable);
  facts.apply(with_labels(running("b1", "b", 1, "1"), {{"app", "x"}}));
  EXPECT_EQ(preempt(facts, object).status.code, Code::kUnschedulable);
}

TEST(DefaultPreemption, SpreadIsCountedWithoutVictims) {
  Facts facts;
  facts.apply(node("a", {{"zone", "z1"}}));
  facts.apply(with_labels(running("a1", "a", 1, "1"), {{"app", "x"}}));
  facts.apply(node("b", {{"zone", "z2"}}));
  Json full = running("b1", "b", 9, "4");
  facts.apply(full);
  Json object = with_labels(waiting("p", 9, "1"), {{"app", "x"}});
  object["spec"]["topologySpreadConstraints"] = {
      {{"topologyKey", "zone"},
       {"maxSkew", 1},
       {"whenUnsatisfiable", "DoNotSchedule"},
       {"labelSelector", {{"matchLabels", {{"app", "x"}}}}}}};
  const auto answer = preempt(facts, object);
  EXPECT_EQ(answer.nominated_node, "a");
  EXPECT_EQ(answer.victims, std::vector<std::string>{"a/a1"});
}

TEST(DefaultPreemption, ABudgetIsBrokenLast) {
  Facts facts;
  facts.apply(node("a"));
  facts.apply(with_labels(running("low", "a", 1, "2"), {{"app", "x"}}));
  facts.apply(running("high", "a", 2, "2"));
  facts.apply({{"kind", "PodDisruptionBudget"},
               {"metadata", {{"namespace", "a"}, {"name", "b"}}},
               {"spec", {{"selector", {{"matchLabels", {{"app", "x"}}}}}}},
               {"status", {{"disruptionsAllowed", 0}}}});
  EXPECT_EQ(preempt(facts, waiting("p", 9, "2")).victims, std::vector<std::string>{"a/high"});
  EXPECT_EQ(preempt(facts, waiting("p", 9, "4")).candidates.at("a").pdb_violations, 1);
}

// A nominated pod of the same priority is as good as there; one that it yields to by neither is
// not.
TEST(DefaultPreemption, NominatedPodsHoldTheirPlace) {
  Facts facts;
  facts.apply(node("a"));
  Json nominated = waiting("n", 9, "3");
  nominated["status"] = {{"nominatedNodeName", "a"}};
  facts.apply(nominated);
  const DefaultProfile profile(Version::k137);
  EXPECT_EQ(profile.schedule(facts, read_pod(waiting("p", 9, "2"))).best, "");
  EXPECT_EQ(profile.schedule(facts, read_pod(waiting("p", 10, "2"))).best, "a");
}

TEST(DefaultPreemption, NeverAndWhoWaitsForVictims) {
  Facts facts;
  facts.apply(node("a"));
  Json victim = running("v", "a", 1, "4");
  facts.apply(victim);
  Json object = waiting("p", 9, "2");
  object["spec"]["preemptionPolicy"] = "Never";
  EXPECT_EQ(preempt(facts, object).status.reasons,
            std::vector<std::string>{"not eligible due to preemptionPolicy=Never."});
  object["spec"].erase("preemptionPolicy");
  object["status"] = {{"nominatedNodeName", "a"}};
  EXPECT_EQ(preempt(facts, object).nominated_node, "a");
  victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  victim["status"]["conditions"] = {
      {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}};
  facts.apply(victim);
  EXPECT_EQ(preempt(facts, object).status.code, Code::kUnschedulable);
}

TEST(DefaultRules, TheLogarithmIsGos) {
  // math.Float64bits(math.Log(3)) of Go 1.26.
  EXPECT_EQ(oracle::defaults::go_log(3), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(oracle::defaults::go_log(2), 0x1.62e42fefa39efp-1);
}

}  // namespace
}  // namespace default_rules_test
