// What pods and nodes say about placement: affinity between pods, spread, volumes, images, gates,
// features, owners; what is absent, and bad input with its exact messages.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "objects/limits.h"
#include "objects/reading/object_reader.h"

namespace headroom::pod_placement_test {
namespace {

// A pod named d/web-1 with this spec, and these fields of its metadata.
std::string pod_text(const std::string& spec, const std::string& metadata = "") {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "d")" +
         metadata + R"(}, "spec": )" + spec + "}";
}

Pod read_pod_of(const std::string& spec, const std::string& metadata = "") {
  const Result<ObjectFile> file = read_objects(pod_text(spec, metadata), "test");
  EXPECT_TRUE(file) << file.error().message;
  return file && file->pods.size() == 1 ? file->pods.front() : Pod();
}

std::string message(const std::string& text) {
  const Result<ObjectFile> file = read_objects(text, "f.json");
  return file ? "no error"
              : std::string(to_string(file.error().code)) + ": " + file.error().message;
}

std::string near(const std::string& spec) {
  const Result<ObjectFile> file = read_objects(pod_text(spec), "f.json");
  EXPECT_TRUE(file) << file.error().message;
  return file && file->near_fields.size() == 1 ? file->near_fields.front() : std::string();
}

TEST(PodPlacement, Affinity) {
  const Pod pod = read_pod_of(R"({"affinity": {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100,
      "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}],
                     "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}},
      {"weight": 1, "preference": {}}]},
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"b": "2", "a": "1"},
           "matchExpressions": [{"key": "c", "operator": "Exists"}]},
         "namespaces": ["x", "y"], "namespaceSelector": {}, "matchLabelKeys": ["hash"]},
        {"topologyKey": "rack", "labelSelector": null},
        {"topologyKey": "host", "labelSelector": {}}],
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm":
        {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}}]},
    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50,
        "podAffinityTerm": {"topologyKey": "host", "labelSelector": {"matchLabels": {"a": "1"}}}}],
      "requiredDuringSchedulingIgnoredDuringExecution": null}}})");
  EXPECT_EQ(pod.preferred_node_affinity,
            (std::vector<PreferredSchedulingTerm>{
                {100, {{{"disk", "In", {"ssd"}}}, {{"metadata.name", "In", {"n"}}}}}, {1, {}}}));
  EXPECT_FALSE(pod.required_node_affinity);
  const LabelSelector merged = {{"c", "Exists", {}}, {"a", "In", {"1"}}, {"b", "In", {"2"}}};
  EXPECT_EQ(pod.pod_affinity.required,
            (std::vector<PodAffinityTerm>{{merged, {"x", "y"}, LabelSelector{}, "zone", 0},
                                          {std::nullopt, {}, std::nullopt, "rack", 0},
                                          {LabelSelector{}, {}, std::nullopt, "host", 0}}));
  EXPECT_EQ(pod.pod_affinity.preferred,
            (std::vector<PodAffinityTerm>{
                {std::nullopt, {}, LabelSelector{{"team", "In", {"a"}}}, "zone", 7}}));
  EXPECT_EQ(pod.pod_anti_affinity.preferred,
            (std::vector<PodAffinityTerm>{
                {LabelSelector{{"a", "In", {"1"}}}, {}, std::nullopt, "host", 50}}));
  EXPECT_TRUE(pod.pod_anti_affinity.required.empty());
}

TEST(PodPlacement, TopologySpread) {
  const Pod pod = read_pod_of(R"({"topologySpreadConstraints": [
    {"maxSkew": 3, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 5,
     "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"],
     "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
    {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway",
     "minDomains": null, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"},
    {"topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]})");
  EXPECT_EQ(pod.topology_spread, (std::vector<TopologySpreadConstraint>{
                                     {3,
                                      "zone",
                                      true,
                                      LabelSelector{{"app", "In", {"web"}}},
                                      {"pod-template-hash"},
                                      5,
                                      false,
                                      true},
                                     {1, "host", false, std::nullopt, {}, 1, true, false},
                                     {1, "rack", false, LabelSelector{}, {}, 1, true, false}}));
}

TEST(PodPlacement, VolumesThatMatterAreKept) {
  const Pod pod = read_pod_of(R"({"volumes": [
    {"name": "token", "projected": {"sources": []}}, {"name": "tmp", "emptyDir": {}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "data-0", "readOnly": true}},
    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    {"name": "model", "image": {"reference": "registry/model:1", "pullPolicy": "Always"}},
    {"name": "gce", "gcePersistentDisk": {"pdName": "disk-1", "readOnly": true}},
    {"name": "rbd", "rbd": {"image": "i", "pool": "p", "monitors": ["a", "b"]}},
    {"name": "inline", "csi": {"driver": "d"}}]})");
  ASSERT_EQ(pod.volumes.size(), 5u);
  EXPECT_EQ(pod.volumes[0], (Volume{"data", "data-0", false, "", std::nullopt}));
  EXPECT_EQ(pod.volumes[1], (Volume{"scratch", std::nullopt, true, "", std::nullopt}));
  EXPECT_EQ(pod.volumes[2],
            (Volume{"model", std::nullopt, false, "registry/model:1", std::nullopt}));
  EXPECT_EQ(pod.volumes[3], (Volume{"gce", std::nullopt, false, "",
                                    Disk{"gcePersistentDisk", "disk-1", {}, true}}));
  EXPECT_EQ(pod.volumes[4],
            (Volume{"rbd", std::nullopt, false, "", Disk{"rbd", "p/i", {"a", "b"}, false}}));
}

TEST(PodPlacement, ImagesGatesAndOwners) {
  const Pod pod = read_pod_of(
      R"({"containers": [{"name": "c", "image": "web:1"}], "initContainers": [{"image": "init"}],
          "schedulingGates": [{"name": "a/b"}, {"name": "c"}]})",
      R"(, "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
          {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "uid": "2",
           "controller": true, "blockOwnerDeletion": true},
          {"apiVersion": "x", "kind": "X", "name": "second", "uid": "3", "controller": true}])");
  EXPECT_EQ(pod.containers.at(0).image, "web:1");
  EXPECT_EQ(pod.init_containers.at(0).image, "init");
  EXPECT_EQ(pod.scheduling_gates, (std::vector<std::string>{"a/b", "c"}));
  EXPECT_EQ(pod.controller, (OwnerReference{"apps/v1", "ReplicaSet", "web-5d", "2"}));
  EXPECT_FALSE(pod.daemon_set);
  EXPECT_FALSE(read_pod_of("{}", R"(, "ownerReferences": [{"kind": "ReplicaSet", "name": "a"},
                                      {"kind": "X", "controller": false}])")
                   .controller);
}

TEST(PodPlacement, FeaturesThatANodeMustDeclare) {
  const auto asked = [](const std::string& spec) { return read_pod_of(spec).required_features; };
  using List = std::vector<std::string>;
  EXPECT_EQ(asked(R"({"hostNetwork": true, "hostUsers": true})"), List());
  EXPECT_EQ(asked(R"({"hostUsers": false})"), List());
  EXPECT_EQ(asked(R"({"hostNetwork": true, "hostUsers": false})"),
            (List{"UserNamespacesHostNetworkSupport"}));
  const std::string mounts = R"("volumeMounts": [{"name": "a", "mountPath": "/a"},
    {"name": "b", "bindMountOptions": ["noexec"]}])";
  const std::string rules = R"("restartPolicyRules": [{"action": "Restart"},
    {"action": "RestartAllContainers", "exitCodes": {}}])";
  EXPECT_EQ(asked(R"({"containers": [{"volumeMounts": [{"name": "a", "bindMountOptions": []}],
                      "restartPolicyRules": [{"action": "Restart"}]}]})"),
            List());
  for (const std::string list : {"containers", "initContainers", "ephemeralContainers"}) {
    EXPECT_EQ(asked(R"({")" + list + R"(": [{}, {)" + mounts + "}]}"),
              (List{"VolumeBindMountOptions"}))
        << list;
    EXPECT_EQ(asked(R"({"hostUsers": false, ")" + list + R"(": [{)" + rules + "," + mounts +
                    R"(}], "hostNetwork": true})"),
              (List{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport",
                    "VolumeBindMountOptions"}))
        << list;
  }
}

TEST(PodPlacement, NodesSayWhatTheyHave) {
  const Result<ObjectFile> file = read_objects(R"({"apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "n1"}, "status": {"images": [
      {"names": ["web@sha256:1", "web:1"], "sizeBytes": 77}, {"names": null, "sizeBytes": 5}, {}],
      "declaredFeatures": ["Z", "A"]}})",
                                               "test");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->nodes.at(0).images,
            (std::vector<ContainerImage>{{{"web@sha256:1", "web:1"}, 77}, {{}, 5}, {}}));
  EXPECT_EQ(file->nodes.at(0).declared_features, (std::vector<std::string>{"A", "Z"}));
}

TEST(PodPlacement, ErrorsNameFieldAndValue) {
  const auto says = [](const std::string& spec) { return message(pod_text(spec)); };
  const std::string in = "Invalid: f.json: Pod d/web-1: spec.";
  const auto spread = [&](const std::string& fields) {
    return says(R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}, {)" +
                fields + "}]}");
  };
  const std::string second = in + "topologySpreadConstraints[1].";
  EXPECT_EQ(spread(R"("maxSkew": 0)"), second + "maxSkew: 0 is not from 1 to 2147483647");
  EXPECT_EQ(spread(R"("maxSkew": 4294967297)"),
            second + "maxSkew: 4294967297 is not a 32-bit integer");
  EXPECT_EQ(spread(R"("minDomains": -3)"), second + "minDomains: -3 is not from 1 to 2147483647");
  EXPECT_EQ(spread(R"("whenUnsatisfiable": "Never")"),
            second + "whenUnsatisfiable: \"Never\" is not DoNotSchedule or ScheduleAnyway");
  EXPECT_EQ(spread(R"("nodeTaintsPolicy": "honor")"),
            second + "nodeTaintsPolicy: \"honor\" is not Honor or Ignore");
  EXPECT_EQ(spread(R"("nodeAffinityPolicy": true)"),
            second + "nodeAffinityPolicy: true is not a string");
  EXPECT_EQ(spread(R"("labelSelector": {"matchExpressions": [{"key": "a", "operator": "Lt"}]})"),
            second +
                "labelSelector.matchExpressions[0].operator: \"Lt\" is not In, NotIn, Exists "
                "or DoesNotExist");
  EXPECT_EQ(spread(R"("matchLabelKeys": "a")"), second + "matchLabelKeys: \"a\" is not a list");
  const std::string rule = "DuringSchedulingIgnoredDuringExecution";
  const auto affinity = [&](const std::string& kind, const std::string& terms) {
    return says(R"({"affinity": {")" + kind + rule + "\": " + terms + "}}}");
  };
  EXPECT_EQ(affinity(R"(podAffinity": {"required)", R"([{"topologyKey": 7}])"),
            in + "affinity.podAffinity.required" + rule + "[0].topologyKey: 7 is not a string");
  EXPECT_EQ(
      affinity(R"(podAntiAffinity": {"preferred)", R"([{"weight": 101}])"),
      in + "affinity.podAntiAffinity.preferred" + rule + "[0].weight: 101 is not from 1 to 100");
  EXPECT_EQ(affinity(R"(podAntiAffinity": {"preferred)",
                     R"([{"podAffinityTerm": {"namespaceSelector": {"matchLabels": []}}}])"),
            in + "affinity.podAntiAffinity.preferred" + rule +
                "[0].podAffinityTerm.namespaceSelector.matchLabels: [] is not an object");
  EXPECT_EQ(affinity(R"(nodeAffinity": {"preferred)", R"([{"weight": 0}])"),
            in + "affinity.nodeAffinity.preferred" + rule + "[0].weight: 0 is not from 1 to 100");
  EXPECT_EQ(
      affinity(R"(nodeAffinity": {"preferred)",
               R"([{"preference": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}])"),
      in + "affinity.nodeAffinity.preferred" + rule +
          "[0].preference.matchExpressions[0].operator: \"Like\" is not In, NotIn, Exists, "
          "DoesNotExist, Gt or Lt");
  EXPECT_EQ(says(R"({"volumes": [{"persistentVolumeClaim": {"claimName": 1}}]})"),
            in + "volumes[0].persistentVolumeClaim.claimName: 1 is not a string");
  EXPECT_EQ(says(R"({"volumes": [{"image": "web"}]})"),
            in + "volumes[0].image: \"web\" is not an object");
  EXPECT_EQ(says(R"({"volumes": [{"azureDisk": {"diskURI": 1}}]})"),
            in + "volumes[0].azureDisk.diskURI: 1 is not a string");
  EXPECT_EQ(says(R"({"containers": [{"image": 1}]})"),
            in + "containers[0].image: 1 is not a string");
  EXPECT_EQ(says(R"({"containers": [{"volumeMounts": {}}]})"),
            in + "containers[0].volumeMounts: {} is not a list");
  EXPECT_EQ(says(R"({"schedulingGates": [{"name": 1}]})"),
            in + "schedulingGates[0].name: 1 is not a string");
  for (const char* seconds : {"-5", "0", "2147483648"}) {
    EXPECT_EQ(says(std::string(R"({"activeDeadlineSeconds": )") + seconds + "}"),
              in + "activeDeadlineSeconds: " + seconds + " is not in [1, 2147483647]");
  }
  EXPECT_EQ(says(R"({"hostUsers": "no"})"), in + "hostUsers: \"no\" is not true or false");
  EXPECT_EQ(message(pod_text("{}", R"(, "ownerReferences": [{"controller": 1}])")),
            "Invalid: f.json: Pod d/web-1: metadata.ownerReferences[0].controller: 1 is not true "
            "or false");
  const auto images = [](const std::string& entry) {
    return message(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
                       "status": {"images": [)" +
                   entry + "]}}");
  };
  EXPECT_EQ(images(R"({"sizeBytes": -1})"),
            "Invalid: f.json: Node n1: status.images[0].sizeBytes: -1 is negative");
  EXPECT_EQ(images(R"({"names": [1]})"),
            "Invalid: f.json: Node n1: status.images[0].names[0]: 1 is not a string");
  std::string many = R"({"schedulingGates": [{})";
  for (std::size_t i = 0; i < kListMax; ++i) many += ",{}";
  EXPECT_EQ(
      says(many + "]}"),
      "LimitExceeded: f.json: Pod d/web-1: spec.schedulingGates: has more than 10000 entries");
}

TEST(PodPlacement, FieldsThatAreNearlyAKnownOne) {
  EXPECT_EQ(near(R"({"topologySpreadConstraints": [{"whenUnsatisfyable": "DoNotSchedule"}]})"),
            "Pod d/web-1: spec.topologySpreadConstraints[0].whenUnsatisfyable "
            "(whenUnsatisfiable?)");
  EXPECT_EQ(near(R"({"affinity": {"podAffinity": {
                 "requiredDuringSchedulingIgnoredDuringExecution": [{"topologykey": "a"}]}}})"),
            "Pod d/web-1: spec.affinity.podAffinity."
            "requiredDuringSchedulingIgnoredDuringExecution[0].topologykey (topologyKey?)");
  EXPECT_EQ(near(R"({"volumes": [{"persistentVolumeClaim": {"claimname": "a"}}]})"),
            "Pod d/web-1: spec.volumes[0].persistentVolumeClaim.claimname (claimName?)");
  // What every real pod has is nearly nothing.
  const Result<ObjectFile> file =
      read_objects(pod_text(R"({"volumes": [{"name": "a", "projected": {}},
    {"configMap": {}}, {"secret": {}}, {"emptyDir": {}}, {"hostPath": {}}, {"downwardAPI": {}},
    {"nfs": {}}, {"cephfs": {}}, {"local": {}}, {"glusterfs": {}}, {"fc": {}}, {"gitRepo": {}}],
    "containers": [{"image": "i", "imagePullPolicy": "Always", "volumeMounts": [], "env": [],
      "volumeDevices": [], "command": [], "args": [], "envFrom": [], "lifecycle": {},
      "livenessProbe": {}, "readinessProbe": {}, "startupProbe": {}, "resizePolicy": [],
      "securityContext": {}, "workingDir": "/", "stdin": true, "tty": true,
      "terminationMessagePath": "/", "terminationMessagePolicy": "File"}],
    "hostname": "h", "hostAliases": [], "hostIPC": false, "hostPID": false, "subdomain": "s",
    "restartPolicy": "Always", "serviceAccountName": "s", "serviceAccount": "s"})"),
                   "f.json");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->near_fields, std::vector<std::string>());
}

// Every object of the recorded cases of the default plugins is read, and none is of another kind.
TEST(PodPlacement, ObjectsOfTheRecordedCases) {
  const std::filesystem::path folder = std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance";
  std::size_t objects = 0;
  for (const char* name :
       {"pod-topology-spread", "inter-pod-affinity", "node-affinity-score", "image-locality",
        "taint-toleration-score", "volumes", "default-profile"}) {
    std::ifstream cases(folder / (std::string(name) + ".jsonl"));
    std::string line;
    // Some of each: all of them would take long.
    for (int i = 0; i < 40 && std::getline(cases, line); ++i) {
      const auto one = nlohmann::json::parse(line);
      std::vector<nlohmann::json> all = one.value("objects", nlohmann::json::array());
      for (const auto& step : one["steps"]) {
        for (const char* part : {"pod", "object"}) {
          if (step.contains(part) && step[part].contains("spec")) all.push_back(step[part]);
        }
      }
      for (const auto& object : all) {
        const Result<ObjectFile> file = read_objects(object.dump(), name);
        ASSERT_TRUE(file) << file.error().message << "\n" << object.dump();
        EXPECT_TRUE(file->other_kinds.empty()) << object.dump();
        EXPECT_EQ(file->near_fields, std::vector<std::string>()) << object.dump();
        ++objects;
      }
    }
  }
  if (objects == 0) GTEST_SKIP() << folder << " is absent";
}

}  // namespace
}  // namespace headroom::pod_placement_test
