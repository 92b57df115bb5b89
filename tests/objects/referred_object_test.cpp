// Objects that nodes and pods refer to: every field of every kind read and written, what stands for
// what is absent, and bad input with its exact messages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "objects/reading/object_reader.h"
#include "objects/writing/referred_json_writer.h"

namespace headroom::referred_object_test {
namespace {

ReferredObject read_one(const std::string& json) {
  Result<Object> object = read_object(json, "test");
  EXPECT_TRUE(object) << object.error().message;
  if (!object || !std::holds_alternative<ReferredObject>(*object)) return {};
  return std::get<ReferredObject>(*std::move(object));
}

template <typename T>
T read_as(const std::string& json) {
  const ReferredObject object = read_one(json);
  EXPECT_TRUE(std::holds_alternative<T>(object)) << json;
  return std::holds_alternative<T>(object) ? std::get<T>(object) : T();
}

std::string message(const std::string& json) {
  const Result<ObjectFile> file = read_objects(json, "f.json");
  return file ? "no error"
              : std::string(to_string(file.error().code)) + ": " + file.error().message;
}

// An object named o with these fields beside its metadata.
std::string object(const std::string& type, const std::string& fields) {
  const std::size_t slash = type.rfind('/');
  return R"({"apiVersion": ")" + type.substr(0, slash) + R"(", "kind": ")" +
         type.substr(slash + 1) + R"(", "metadata": {"name": "o"}, )" + fields + "}";
}

const LabelSelector kSelector = {{"tier", "NotIn", {"x", "y"}}, {"app", "In", {"web"}}};
const OwnerReference kOwner = {"v1", "Pod", "web-0", "pod-uid"};

std::vector<Disk> disks() {
  std::vector<Disk> all;
  for (const char* kind : {"gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "cinder",
                           "portworxVolume", "azureFile", "vsphereVolume", "iscsi"}) {
    all.push_back({kind, std::string("id of ") + kind, {}, true});
  }
  all.push_back({"rbd", "pool/image", {"m1", "m2"}, true});
  return all;
}

PersistentVolume persistent_volume() {
  PersistentVolume volume;
  volume.name = "pv-1";
  volume.labels = {{"topology.kubernetes.io/zone", "z1__z2"}};
  volume.storage_class = "fast";
  volume.capacity_bytes = 10LL << 30;
  volume.access_modes = {"ReadWriteOnce", "ReadOnlyMany"};
  volume.volume_mode = "Block";
  volume.attributes_class = "gold";
  volume.node_affinity = {
      {{{"zone", "In", {"z1"}}, {"gen", "Gt", {"3"}}}, {{"metadata.name", "In", {"n1"}}}}, {}};
  volume.claim_namespace = "d";
  volume.claim_name = "data-0";
  volume.claim_uid = "u-1";
  volume.available = true;
  volume.deleting = true;
  volume.csi_driver = "csi.example.com";
  volume.csi_handle = "vol-1";
  volume.disk = disks().back();
  return volume;
}

PersistentVolumeClaim claim() {
  PersistentVolumeClaim claim;
  claim.namespace_name = "d";
  claim.name = "data-0";
  claim.uid = "u-1";
  claim.controller = kOwner;
  claim.storage_class = "fast";
  claim.volume_name = "pv-1";
  claim.volume_mode = "Block";
  claim.attributes_class = "gold";
  claim.access_modes = {"ReadWriteOncePod"};
  claim.request_bytes = 5LL << 30;
  claim.selector = kSelector;
  claim.lost = true;
  claim.deleting = true;
  claim.bind_completed = true;
  claim.selected_node = "n1";
  return claim;
}

// Every kind with every field set, and with none.
std::vector<ReferredObject> all_objects() {
  using Kind = WorkloadController::Kind;
  std::vector<ReferredObject> all = {
      Namespace{"d", {{"kubernetes.io/metadata.name", "d"}, {"team", "a \"quoted\" \\ \n"}}},
      Namespace{"e", {}},
      Service{"d", "web", StringMap{{"app", "web"}, {"tier", ""}}},
      Service{"d", "every", StringMap{}},
      Service{"d", "external", std::nullopt},
      WorkloadController{Kind::kReplicationController, "d", "rc",
                         LabelSelector{{"app", "In", {"web"}}, {"tier", "In", {"x"}}}},
      WorkloadController{Kind::kReplicationController, "d", "rc2", std::nullopt},
      WorkloadController{Kind::kReplicaSet, "d", "rs", kSelector},
      WorkloadController{Kind::kReplicaSet, "d", "rs2", LabelSelector{}},
      WorkloadController{Kind::kStatefulSet, "d", "sts", kSelector},
      WorkloadController{Kind::kStatefulSet, "d", "sts2", std::nullopt},
      persistent_volume(),
      claim(),
      StorageClass{"fast",
                   "csi.example.com",
                   true,
                   {{{"zone", "In", {"z1", "z2"}}, {"rack", "In", {"r1"}}}, {}}},
      StorageClass{"slow", "kubernetes.io/no-provisioner", false, {}},
      CsiNode{"n1", {{"csi.example.com", 25}, {"other", std::nullopt}, {"none", 0}}},
      CsiNode{"n2", {}},
      CsiDriver{"csi.example.com", true, true},
      CsiDriver{"plain", false, false},
      CsiStorageCapacity{"d", "cap", "fast", kSelector, 100LL << 30, 50LL << 30},
      CsiStorageCapacity{"d", "cap2", "fast", LabelSelector{}, std::nullopt, std::nullopt},
      CsiStorageCapacity{"d", "cap3", "fast", std::nullopt, 0, 0},
  };
  PersistentVolume bare;
  bare.name = "pv-2";
  bare.volume_mode = "Filesystem";
  for (const Disk& disk : disks()) {
    bare.disk = disk;
    all.emplace_back(bare);
  }
  bare.disk.reset();
  bare.node_affinity.emplace();
  all.emplace_back(bare);
  PersistentVolumeClaim none;
  none.namespace_name = "d";
  none.name = "none";
  none.volume_mode = "Filesystem";
  all.emplace_back(none);
  none.selector.emplace();
  none.selected_node = "";
  all.emplace_back(none);
  return all;
}

TEST(ReferredObjects, WrittenAndReadAgainTheyAreEqual) {
  std::string list = R"({"kind": "List", "apiVersion": "v1", "items": [)";
  const std::vector<ReferredObject> all = all_objects();
  std::vector<bool> seen(kReferredKindCount);
  for (const ReferredObject& object : all) {
    const std::string json = to_json(object);
    EXPECT_EQ(read_one(json), object) << json;
    EXPECT_EQ(json.find('\n'), std::string::npos);
    seen[static_cast<std::size_t>(kind_of(object))] = true;
    list += (list.back() == '[' ? "" : ",") + json;
  }
  EXPECT_EQ(seen, std::vector<bool>(kReferredKindCount, true));
  const Result<ObjectFile> file = read_objects(list + "]}", "test");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->referred_objects, all);  // in the source's order
  EXPECT_TRUE(file->other_kinds.empty());
  EXPECT_EQ(file->near_count, 0u);
}

TEST(ReferredObjects, AsKubectlPrintsThem) {
  EXPECT_EQ(read_as<PersistentVolume>(R"({"apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"name": "pv-1", "labels": {"topology.kubernetes.io/zone": "z1__z2"},
      "annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.com"},
      "deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": "10Gi"},
      "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "d",
                   "name": "data-0", "uid": "u-1", "resourceVersion": "7"},
      "csi": {"driver": "csi.example.com", "volumeHandle": "vol-1", "fsType": "ext4"},
      "rbd": {"image": "image", "pool": "pool", "monitors": ["m1", "m2"], "readOnly": true,
              "user": "admin"},
      "nodeAffinity": {"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]},
                              {"key": "gen", "operator": "Gt", "values": ["3"]}],
         "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, {}]}},
      "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "fast",
      "volumeAttributesClassName": "gold", "volumeMode": "Block"},
    "status": {"phase": "Available"}})"),
            persistent_volume());
  EXPECT_EQ(read_as<PersistentVolumeClaim>(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data-0", "namespace": "d", "uid": "u-1",
      "deletionTimestamp": "2026-01-01T00:00:00Z",
      "annotations": {"pv.kubernetes.io/bind-completed": "yes", "other": "x",
                      "volume.beta.kubernetes.io/storage-class": "fast",
                      "volume.kubernetes.io/selected-node": "n1"},
      "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
        {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "pod-uid", "controller": true},
        {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "2", "controller": true}]},
    "spec": {"accessModes": ["ReadWriteOncePod"], "storageClassName": "slow",
      "resources": {"requests": {"storage": "5Gi"}}, "volumeName": "pv-1",
      "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["x", "y"]}]},
      "volumeAttributesClassName": "gold", "volumeMode": "Block"},
    "status": {"phase": "Lost", "capacity": {"storage": "5Gi"}}})"),
            claim());
  EXPECT_EQ(read_as<CsiStorageCapacity>(R"({"apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity", "metadata": {"name": "cap", "namespace": "d"},
    "capacity": "100Gi", "maximumVolumeSize": "50Gi", "storageClassName": "fast", "nodeTopology": {
      "matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["x", "y"]}]}})"),
            (CsiStorageCapacity{"d", "cap", "fast", kSelector, 100LL << 30, 50LL << 30}));
}

TEST(ReferredObjects, WhatIsAbsent) {
  // A namespace is "default"; a selector that is absent is none, {} is an empty one.
  const auto service = [](const std::string& fields) {
    return read_as<Service>(object("v1/Service", fields));
  };
  EXPECT_EQ(service(R"("spec": {})"), (Service{"default", "o", std::nullopt}));
  EXPECT_EQ(service(R"("spec": {"selector": null})"), (Service{"default", "o", std::nullopt}));
  EXPECT_EQ(service(R"("spec": {"selector": {}})"), (Service{"default", "o", StringMap{}}));
  const auto selector = [](const std::string& fields) {
    return read_as<WorkloadController>(object("apps/v1/ReplicaSet", fields)).selector;
  };
  EXPECT_EQ(selector(R"("status": {})"), std::nullopt);
  EXPECT_EQ(selector(R"("spec": {"selector": null})"), std::nullopt);
  EXPECT_EQ(selector(R"("spec": {"selector": {}})"), LabelSelector{});
  // The API server's defaults.
  const auto volume = read_as<PersistentVolume>(
      object("v1/PersistentVolume", R"("spec": {"rbd": {"image": "i"}}, "status": null)"));
  EXPECT_EQ(volume.volume_mode, "Filesystem");
  EXPECT_EQ(volume.disk, (Disk{"rbd", "rbd/i", {}, false}));
  EXPECT_FALSE(volume.node_affinity || volume.available || volume.deleting);
  const auto unset =
      read_as<PersistentVolumeClaim>(object("v1/PersistentVolumeClaim", R"("spec": {})"));
  EXPECT_EQ(unset.volume_mode, "Filesystem");
  EXPECT_FALSE(unset.request_bytes || unset.selector || unset.selected_node || unset.lost ||
               unset.bind_completed || unset.controller);
  const auto storage_class =
      read_as<StorageClass>(object("storage.k8s.io/v1/StorageClass", R"("provisioner": "p")"));
  EXPECT_FALSE(storage_class.waits_for_first_consumer);
  // Another version of a group is another kind.
  const Result<ObjectFile> file =
      read_objects(object("storage.k8s.io/v1beta1/CSIStorageCapacity", R"("capacity": 7)"), "f");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->referred_objects.empty());
  EXPECT_EQ(file->other_kinds.count("storage.k8s.io/v1beta1/CSIStorageCapacity"), 1u);
}

TEST(ReferredObjects, ErrorsNameObjectFieldAndValue) {
  const auto says = [](const std::string& type, const std::string& fields) {
    return message(object(type, fields));
  };
  const std::string in = "Invalid: f.json: ";
  EXPECT_EQ(message(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d",
                        "labels": {"a": 1}}})"),
            in + "Namespace d: metadata.labels.a: 1 is not a string");
  EXPECT_EQ(says("v1/Service", R"("spec": {"selector": {"app": 5}})"),
            in + "Service default/o: spec.selector.app: 5 is not a string");
  EXPECT_EQ(says("v1/ReplicationController", R"("spec": {"selector": ["app"]})"),
            in + "ReplicationController default/o: spec.selector: [\"app\"] is not an object");
  EXPECT_EQ(says("apps/v1/ReplicaSet", R"("spec": {"selector": {"matchExpressions": [
                 {"key": "a", "operator": "Gt"}]}})"),
            in + "ReplicaSet default/o: spec.selector.matchExpressions[0].operator: \"Gt\" is not "
                 "In, NotIn, Exists or DoesNotExist");
  EXPECT_EQ(says("apps/v1/StatefulSet", R"("spec": {"selector": {"matchLabels": 1}})"),
            in + "StatefulSet default/o: spec.selector.matchLabels: 1 is not an object");
  const std::string volume = "v1/PersistentVolume", in_volume = in + "PersistentVolume o: spec.";
  EXPECT_EQ(says(volume, R"("spec": {"capacity": {"storage": "4x"}})"),
            in_volume + "capacity.storage: \"4x\" is not a quantity");
  EXPECT_EQ(says(volume, R"("spec": {"capacity": {"storage": -1}})"),
            in_volume + "capacity.storage: -1 is negative");
  EXPECT_EQ(says(volume, R"("spec": {"capacity": {"storage": "9Ei"}})"),
            "LimitExceeded: f.json: PersistentVolume o: spec.capacity.storage: \"9Ei\" does not "
            "fit a 64-bit integer");
  EXPECT_EQ(says(volume, R"("spec": {"volumeMode": "File"})"),
            in_volume + "volumeMode: \"File\" is not Filesystem or Block");
  EXPECT_EQ(says(volume, R"("spec": {"accessModes": ["a", 7]})"),
            in_volume + "accessModes[1]: 7 is not a string");
  EXPECT_EQ(says(volume, R"("spec": {"claimRef": {"uid": 7}})"),
            in_volume + "claimRef.uid: 7 is not a string");
  EXPECT_EQ(says(volume, R"("spec": {"csi": {"volumeHandle": []}})"),
            in_volume + "csi.volumeHandle: [] is not a string");
  EXPECT_EQ(says(volume, R"("spec": {"iscsi": {"readOnly": "yes"}})"),
            in_volume + "iscsi.readOnly: \"yes\" is not true or false");
  EXPECT_EQ(says(volume, R"("spec": {"rbd": {"monitors": "m"}})"),
            in_volume + "rbd.monitors: \"m\" is not a list");
  EXPECT_EQ(says(volume, R"("spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [
                 {"matchFields": [{"key": "metadata.name", "operator": "Is"}]}]}}})"),
            in_volume +
                "nodeAffinity.required.nodeSelectorTerms[0].matchFields[0].operator: "
                "\"Is\" is not In, NotIn, Exists, DoesNotExist, Gt or Lt");
  const std::string in_claim = in + "PersistentVolumeClaim default/o: ";
  EXPECT_EQ(says("v1/PersistentVolumeClaim", R"("spec": {"resources": {"requests": {
                 "storage": true}}})"),
            in_claim + "spec.resources.requests.storage: true is not a quantity");
  EXPECT_EQ(says("v1/PersistentVolumeClaim", R"("status": {"phase": 1})"),
            in_claim + "status.phase: 1 is not a string");
  EXPECT_EQ(says("storage.k8s.io/v1/StorageClass", R"("volumeBindingMode": "Later")"),
            in + "StorageClass o: volumeBindingMode: \"Later\" is not Immediate or "
                 "WaitForFirstConsumer");
  EXPECT_EQ(says("storage.k8s.io/v1/StorageClass", R"("allowedTopologies": [
                 {"matchLabelExpressions": [{"key": "a", "values": [1]}]}])"),
            in + "StorageClass o: allowedTopologies[0].matchLabelExpressions[0].values[0]: 1 is "
                 "not a string");
  EXPECT_EQ(says("storage.k8s.io/v1/CSINode", R"("spec": {"drivers": [{"allocatable": {
                 "count": -1}}]})"),
            in + "CSINode o: spec.drivers[0].allocatable.count: -1 is negative");
  EXPECT_EQ(says("storage.k8s.io/v1/CSIDriver", R"("spec": {"storageCapacity": 1})"),
            in + "CSIDriver o: spec.storageCapacity: 1 is not true or false");
  EXPECT_EQ(says("storage.k8s.io/v1/CSIStorageCapacity", R"("capacity": "much")"),
            in + "CSIStorageCapacity default/o: capacity: \"much\" is not a quantity");
  EXPECT_EQ(message(R"({"apiVersion": "v1", "kind": "Service", "metadata": {}})"),
            in + "item 1: metadata.name: is missing");
}

TEST(ReferredObjects, FieldsThatAreNearlyAKnownOne) {
  const auto near = [](const std::string& type, const std::string& fields) {
    const Result<ObjectFile> file = read_objects(object(type, fields), "f.json");
    EXPECT_TRUE(file) << file.error().message;
    return file && file->near_fields.size() == 1 ? file->near_fields.front() : std::string();
  };
  EXPECT_EQ(near("v1/Service", R"("spec": {"selectors": {"a": "b"}, "type": "ClusterIP",
                 "sessionAffinity": "None", "ports": [], "clusterIP": "1.2.3.4"})"),
            "Service default/o: spec.selectors (selector?)");
  EXPECT_EQ(
      near("apps/v1/ReplicaSet", R"("spec": {"selecter": {}, "replicas": 1, "template": {}})"),
      "ReplicaSet default/o: spec.selecter (selector?)");
  EXPECT_EQ(near("v1/PersistentVolume", R"("spec": {"claimRef": {"names": "x"}, "nfs": {}, "fc": {},
                 "persistentVolumeReclaimPolicy": "Delete", "mountOptions": [], "local": {}})"),
            "PersistentVolume o: spec.claimRef.names (name?)");
  EXPECT_EQ(near("v1/PersistentVolume", R"("spec": {"awsElasticBlockStore": {"volumeId": "x"}})"),
            "PersistentVolume o: spec.awsElasticBlockStore.volumeId (volumeID?)");
  EXPECT_EQ(near("v1/PersistentVolumeClaim", R"("spec": {"accessMode": [], "dataSource": {}})"),
            "PersistentVolumeClaim default/o: spec.accessMode (accessModes?)");
  EXPECT_EQ(near("storage.k8s.io/v1/StorageClass", R"("provisioner": "p", "parameters": {},
                 "reclaimPolicy": "Delete", "allowVolumeExpansion": true, "mountOptions": [],
                 "volumebindingMode": "Immediate")"),
            "StorageClass o: volumebindingMode (volumeBindingMode?)");
  EXPECT_EQ(near("storage.k8s.io/v1/CSINode", R"("spec": {"drivers": [{"name": "d", "nodeID": "n",
                 "topologyKeys": [], "allocatable": {"counts": 1}}]})"),
            "CSINode o: spec.drivers[0].allocatable.counts (count?)");
  EXPECT_EQ(near("storage.k8s.io/v1/CSIDriver", R"("spec": {"storageCapacitys": true,
                 "attachRequired": true, "podInfoOnMount": true, "fsGroupPolicy": "File"})"),
            "CSIDriver o: spec.storageCapacitys (storageCapacity?)");
}

TEST(ReferredObjects, KindsAndKeys) {
  for (std::uint32_t i = 0; i < kReferredKindCount; ++i) {
    const auto kind = static_cast<ReferredKind>(i);
    EXPECT_EQ(parse_referred_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_referred_kind("Pod"), std::nullopt);
  EXPECT_STREQ(api_version_of(ReferredKind::kNamespace), "v1");
  EXPECT_STREQ(api_version_of(ReferredKind::kStatefulSet), "apps/v1");
  EXPECT_STREQ(api_version_of(ReferredKind::kCsiDriver), "storage.k8s.io/v1");
  EXPECT_EQ(key_of(Namespace{"d", {}}), "d");
  EXPECT_EQ(key_of(Service{"d", "web", {}}), "d/web");
}

}  // namespace
}  // namespace headroom::referred_object_test
