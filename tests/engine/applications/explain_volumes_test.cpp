// What explain() says of a pod's volumes: each claim and disk, with what a node has for it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/applications/claims.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"

namespace headroom::explain_volumes_test {
namespace {

class ExplainVolumes : public ClaimTest {
 protected:
  ExplainVolumes() { apply_nodes(); }

  void bind_claim() {
    claim_.volume_name = volume_.name;
    claim_.bind_completed = true;
    volume_.claim_namespace = "team";
    volume_.claim_name = "data";
    volume_.available = false;
    apply_claim();
    apply(ReferredObject(volume_));
  }
  Pod on_node(Pod pod, const std::string& node) {
    pod.node_name = node;
    return pod;
  }
  // Of the plugin's lines: "resource need of capacity passes: note", and where there is a formula
  // what it comes to. The line that its score ends with is left out.
  std::vector<std::string> lines_of(PluginId plugin, const char* point = "Filter",
                                    const char* node = "a") {
    std::vector<std::string> lines;
    const Explanation explanation = engine_.explain(pod_, node).value();
    for (const ExplainTerm& line : explanation.terms) {
      if (line.plugin != plugin || line.extension_point != point ||
          line.formula.starts_with("mean")) {
        continue;
      }
      lines.push_back(line.resource + ' ' + std::to_string(line.aggregate) + '+' +
                      std::to_string(line.need) + " of " + std::to_string(line.capacity) + " = " +
                      std::to_string(line.result) + (line.passed ? " passes " : " REJECTS ") +
                      line.note);
    }
    // What it says is what is decided.
    EXPECT_EQ(engine_.filter(pod_, node)->code, explanation.code);
    return lines;
  }
  using Lines = std::vector<std::string>;
};

TEST_F(ExplainVolumes, NamesTheVolumeOfABoundClaim) {
  bind_claim();
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 20 = 0 passes bound to PersistentVolume disk, which can be "
                  "used everywhere"});
  volume_.node_affinity = on(kRack, "In", {"rack-b"});
  apply(ReferredObject(volume_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 20 = 0 REJECTS node(s) didn't match PersistentVolume's node "
                  "affinity: bound to PersistentVolume disk, which asks for "
                  "example.com/rack=rack-b (here rack-a)"});
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Filter", "b"),
            Lines{"claim data 0+10 of 20 = 0 passes bound to PersistentVolume disk, which can be "
                  "used here"});
}

TEST_F(ExplainVolumes, NamesWhatDoesNotHoldOfEachTerm) {
  const auto what_for = [&](std::vector<NodeSelectorTerm> terms) {
    volume_.node_affinity = std::move(terms);
    bind_claim();
    const std::string line = lines_of(PluginId::kVolumeBinding).at(0);
    const std::string asks = "which asks for ";
    return line.substr(line.find(asks) + asks.size());
  };
  std::vector<NodeSelectorTerm> terms = on(kRack, "In", {"rack-a"});
  terms[0].match_expressions.push_back({kZone, "NotIn", {"zone-a", "zone-c"}});
  terms.push_back({{{"disk", "Exists", {}}}, {}});
  terms.push_back({{{kRack, "Gt", {"4"}}}, {}});
  terms.emplace_back();
  EXPECT_EQ(what_for(terms),
            "topology.kubernetes.io/zone notin (zone-a,zone-c) (here zone-a) or "
            "disk (no such label here) or example.com/rack Gt 4 (here rack-a) or "
            "a term that matches no node");
  std::vector<std::string> hosts;
  for (int i = 0; i < 9; ++i) hosts.push_back("h" + std::to_string(i));
  EXPECT_EQ(what_for(on("host", "In", hosts)),
            "host in (h0,h1,h2,h3,h4,h5,h6,h7,...) (no such label here)");
}

TEST_F(ExplainVolumes, SaysThatTheVolumeIsNotThere) {
  claim_.volume_name = "disk";
  claim_.bind_completed = true;
  apply_claim();
  EXPECT_EQ(engine_.explain(pod_, "a")->code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(lines_of(PluginId::kVolumeZone, "PreFilter"),
            Lines{" 0+0 of 0 = 0 REJECTS persistentvolume \"disk\" not found"});
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding), Lines{});  // no node is looked at
}

TEST_F(ExplainVolumes, NamesTheVolumeThatWouldBeBound) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  volume_.node_affinity = on(kRack, "In", {"rack-a"});
  apply_claim();
  apply(ReferredObject(volume_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 20 = 10 passes waits: would be bound to PersistentVolume "
                  "disk, the smallest of class fast that serves it here"});
  const std::string rejects =
      "claim data 0+10 of 0 = 0 REJECTS node(s) didn't find available persistent volumes to bind: ";
  EXPECT_EQ(
      lines_of(PluginId::kVolumeBinding, "Filter", "b"),
      Lines{rejects + "no unclaimed PersistentVolume of class fast can be used here; class fast "
                      "provisions none"});
  volume_.capacity_bytes = 9;
  apply(ReferredObject(volume_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{rejects +
                  "no unclaimed PersistentVolume of class fast serves it: of 1 that can be used "
                  "here 1 is smaller than the request; class fast provisions none"});
  volume_.capacity_bytes = 20;
  volume_.claim_namespace = "team";
  volume_.claim_name = "data";
  apply(ReferredObject(volume_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 20 = 10 passes waits: would be bound to PersistentVolume "
                  "disk, which is meant for it"});
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Filter", "b"),
            Lines{rejects + "PersistentVolume disk, which is meant for it, asks for "
                            "example.com/rack=rack-a (here rack-b); class fast provisions none"});
}

// One volume is there for two claims.
TEST_F(ExplainVolumes, GivesAVolumeToOneClaim) {
  class_.provisioner = "kubernetes.io/no-provisioner";
  apply_claim();
  apply(ReferredObject(volume_));
  claim_.name = "more";
  claim_.uid = "8";
  claim_.request_bytes = 15;
  apply(ReferredObject(claim_));
  pod_.volumes.emplace_back().claim = "more";
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            (Lines{"claim data 0+10 of 20 = 10 passes waits: would be bound to PersistentVolume "
                   "disk, the smallest of class fast that serves it here",
                   "claim more 0+15 of 0 = 0 REJECTS node(s) didn't find available persistent "
                   "volumes to bind: no unclaimed PersistentVolume of class fast serves it: of 1 "
                   "that can be used here 1 is for another claim of the pod; class fast provisions "
                   "none"}));
}

TEST_F(ExplainVolumes, SaysWhoWouldProvision) {
  apply_claim();
  const std::string none = "no PersistentVolume of class fast is unclaimed; ";
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 0 = 0 passes " + none +
                  "disk.example.com would provision one of class fast"});
  class_.allowed_topologies = {{{kRack, "In", {"rack-b", "rack-c"}}}};
  apply(ReferredObject(class_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 0 = 0 REJECTS node(s) didn't find available persistent "
                  "volumes to bind: " +
                  none + "class fast provisions only where example.com/rack in (rack-b,rack-c)"});
  claim_.selected_node = "b";
  apply(ReferredObject(claim_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 0 = 0 REJECTS node(s) didn't find available persistent "
                  "volumes to bind: another node is selected for it"});
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Filter", "b"),
            Lines{"claim data 0+10 of 0 = 0 passes waits for its volume here; disk.example.com "
                  "would provision one of class fast"});
}

TEST_F(ExplainVolumes, HoldsTheRequestAgainstTheStorage) {
  apply_claim();
  apply_storage_in("rack-a");
  const std::string would =
      "no PersistentVolume of class fast is unclaimed; disk.example.com would provision one of "
      "class fast";
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+10 of 100 = 90 passes " + would + " from kube-system/of-rack-a"});
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Filter", "b"),
            Lines{"claim data 0+10 of 0 = 0 REJECTS node(s) did not have enough free storage: " +
                  would + ", but no CSIStorageCapacity of it is for this node"});
  claim_.request_bytes = 101;
  apply(ReferredObject(claim_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding),
            Lines{"claim data 0+101 of 100 = -1 REJECTS node(s) did not have enough free "
                  "storage: " +
                  would + ", but has the most in kube-system/of-rack-a"});
}

TEST_F(ExplainVolumes, GivesTheScoreItsNumbers) {
  apply_claim();
  apply_storage_in("rack-a");
  claim_.request_bytes = 25;
  apply(ReferredObject(claim_));
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Score"),
            Lines{"class fast 0+25 of 100 = 75 passes utilization 25 %, shape 0: 10, 100: 0"});
  apply(ReferredObject(volume_));
  volume_.name = "large";
  volume_.capacity_bytes = 50;
  apply(ReferredObject(volume_));  // that is there goes before what could be made
  EXPECT_EQ(lines_of(PluginId::kVolumeBinding, "Score"),
            Lines{"class fast 0+25 of 50 = 50 passes utilization 50 %, shape 0: 10, 100: 0"});
}

TEST_F(ExplainVolumes, CountsVolumesAgainstTheLimit) {
  volume_.csi_driver = kDriver;
  volume_.csi_handle = "h1";
  bind_claim();
  const std::string none = "disk.example.com 0+1 of 0 = 0 passes 0 volumes here; no limit";
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits), Lines{none + ", as the node has no CSINode"});
  CsiNode csi_node;
  csi_node.name = "a";
  apply(ReferredObject(csi_node));
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits),
            Lines{none + ", as its CSINode has no such driver"});
  csi_node.drivers = {{kDriver, std::nullopt}};
  apply(ReferredObject(csi_node));
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits), Lines{none + " in its CSINode"});
  csi_node.drivers = {{kDriver, 1}};
  apply(ReferredObject(csi_node));
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits), Lines{"disk.example.com 0+1 of 1 = 0 passes "});
  claim_.name = "others";
  volume_.name = claim_.volume_name = volume_.csi_handle = "h2";
  volume_.claim_name = "others";
  apply(ReferredObject(volume_));
  apply(ReferredObject(claim_));
  apply(on_node(pod("other", "others"), "a"));
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits),
            Lines{"disk.example.com 1+1 of 1 = -1 REJECTS node(s) exceed max volume count"});
  // One that is here already is no new one.
  apply(on_node(pod("same", "data"), "a"));
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits), Lines{"disk.example.com 2+0 of 1 = -1 passes "});
}

TEST_F(ExplainVolumes, SaysThatTheDriverIsMissing) {
  CsiDriver driver;
  driver.name = kDriver;
  driver.prevent_pod_scheduling_if_missing = true;
  apply(ReferredObject(driver));
  apply_claim();
  EXPECT_EQ(lines_of(PluginId::kNodeVolumeLimits),
            Lines{"disk.example.com 0+1 of 0 = 0 REJECTS disk.example.com CSI driver is not "
                  "installed on the node"});
}

TEST_F(ExplainVolumes, NamesWhoHasTheDisk) {
  pod_.volumes.clear();
  pod_.volumes.emplace_back().disk = Disk{"gcePersistentDisk", "pd-1", {}, false};
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions),
            Lines{"gcePersistentDisk pd-1 0+0 of 0 = 0 passes no pod"});
  for (const char* name : {"web-1", "web-0"}) {
    Pod other = on_node(pod_of("team", name, cores(1)), "a");
    other.volumes = pod_.volumes;
    apply(other);
  }
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions),
            Lines{"gcePersistentDisk pd-1 2+0 of 0 = 2 REJECTS node(s) had no available disk: 2 "
                  "pods: team/web-0, team/web-1"});
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions, "Filter", "b"),
            Lines{"gcePersistentDisk pd-1 0+0 of 0 = 0 passes no pod"});
}

TEST_F(ExplainVolumes, NamesWhoHasTheClaimThatOnePodAloneMayHave) {
  claim_.access_modes = {"ReadWriteOncePod"};
  apply_claim();
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions),
            Lines{"claim data 0+0 of 0 = 0 passes no pod"});
  apply(on_node(pod("store-1", "data"), "b"));
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions),
            Lines{"claim data 1+0 of 0 = 1 REJECTS node(s) unavailable due to "
                  "PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
                  "another pod: 1 pod: team/store-1"});
}

TEST_F(ExplainVolumes, SaysWhichZoneTheVolumeIsIn) {
  volume_.labels = {{kZone, "zone-b__zone-c"}};
  bind_claim();
  EXPECT_EQ(lines_of(PluginId::kVolumeZone),
            Lines{"PersistentVolume disk 0+0 of 0 = 0 REJECTS node(s) had no available volume "
                  "zone: is in topology.kubernetes.io/zone zone-b, zone-c; the node is in "
                  "zone-a"});
  EXPECT_EQ(lines_of(PluginId::kVolumeZone, "Filter", "b"),
            Lines{"PersistentVolume disk 0+0 of 0 = 0 passes is in topology.kubernetes.io/zone "
                  "zone-b, zone-c; the node is in zone-b"});
  apply(node_of("a", cores(8), {}));
  EXPECT_EQ(lines_of(PluginId::kVolumeZone),
            Lines{"PersistentVolume disk 0+0 of 0 = 0 passes is in topology.kubernetes.io/zone "
                  "zone-b, zone-c; the node has no zone and no region"});
  apply(node_of("a", cores(8), {{"topology.kubernetes.io/region", "r"}}));
  EXPECT_EQ(lines_of(PluginId::kVolumeZone),
            Lines{"PersistentVolume disk 0+0 of 0 = 0 REJECTS node(s) had no available volume "
                  "zone: is in topology.kubernetes.io/zone zone-b, zone-c; the node has no such "
                  "label"});
}

// A pre-filter that rejects is named by itself, whether or not the pod has volumes.
TEST_F(ExplainVolumes, NamesThePreFilterThatRejects) {
  pod_.volumes.clear();
  pod_.required_node_affinity = std::vector<NodeSelectorTerm>{
      {{}, {{"metadata.name", "In", {"a"}}, {"metadata.name", "In", {"b"}}}}};
  EXPECT_EQ(lines_of(PluginId::kNodeAffinity, "PreFilter"),
            Lines{" 0+0 of 0 = 0 REJECTS pod affinity terms conflict"});
}

// What is promised to another pod counts where that is the reason.
TEST_F(ExplainVolumes, CountsNominatedPods) {
  pod_.volumes.clear();
  pod_.volumes.emplace_back().disk = Disk{"gcePersistentDisk", "pd-1", {}, false};
  Pod promised = pod_of("team", "promised", cores(1));
  promised.volumes = pod_.volumes;
  promised.nominated_node_name = "a";
  promised.priority = 10;
  apply(promised);
  EXPECT_EQ(lines_of(PluginId::kVolumeRestrictions),
            Lines{"gcePersistentDisk pd-1 1+0 of 0 = 1 REJECTS node(s) had no available disk: 1 "
                  "pod: team/promised; with the pods that are nominated here"});
}

}  // namespace
}  // namespace headroom::explain_volumes_test
