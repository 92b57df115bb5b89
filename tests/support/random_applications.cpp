// See random_applications.h.
#include "tests/support/random_applications.h"

#include <array>
#include <iterator>

namespace headroom {
namespace {

using Json = nlohmann::json;

constexpr int kApplicationsMax = 6;
constexpr int kNodesMax = 9;
constexpr int kVolumes = 4;
const std::string kHostname = "kubernetes.io/hostname";
const std::string kZone = "topology.kubernetes.io/zone";
const std::string kBetaZone = "failure-domain.beta.kubernetes.io/zone";
const std::array<std::string, 3> kZones{"z1", "z2", "z3"};
const std::array<std::string, 3> kSpaces{"red", "green", "blue"};
const std::array<std::string, 3> kStorageClasses{"later", "now", "local"};
// Of claims and volumes, so that they meet: of the first two volumes are made.
const std::array<std::string, 4> kVolumeClasses{"later", "now", "local", "local"};
const std::array<std::string, 2> kDrivers{"csi.example.com", "pd.csi.storage.gke.io"};
const std::string kFeature = "RestartAllContainersOnContainerExits";
const std::array<std::string, 4> kImages{"web:1", "registry:5000/app", "db@sha256:aa", "plain"};

Json in(const std::string& key, const std::vector<std::string>& values) {
  return {{"key", key}, {"operator", "In"}, {"values", values}};
}

}  // namespace

RandomApplications::RandomApplications(Draws& draws) : draws_(draws) {
  const std::int64_t count = draws_.between(2, kApplicationsMax);
  for (int i = 0; i < count; ++i) applications_.push_back(application(i));
}

std::string RandomApplications::node_name() {
  return "n" + std::to_string(draws_.between(1, kNodesMax));
}

std::string RandomApplications::topology_key() {
  static const std::array<std::string, 6> kKeys{kHostname, kHostname, kZone, kZone, "rack", "none"};
  return draws_.pick(kKeys);
}

RandomApplications::Application RandomApplications::application(int number) {
  static const std::array<std::string, 6> kOwners{
      "ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", ""};
  static const std::array<std::string, 2> kTiers{"front", "back"};
  Application one;
  one.name = "app" + std::to_string(number);
  one.space = draws_.pick(kSpaces);
  one.owner = draws_.pick(kOwners);
  // Applications share labels, so that their selectors hit each other.
  one.labels = {{"app", "a" + std::to_string(draws_.below(3))}};
  if (!draws_.one_in(3)) one.labels["tier"] = draws_.pick(kTiers);
  one.has_service = draws_.one_in(2);
  one.has_volumes = draws_.one_in(3);
  one.spec = spec(one.labels);
  return one;
}

Json RandomApplications::object(const std::string& kind, const std::string& name,
                                const std::string& space) {
  Json made{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (!space.empty()) made["metadata"]["namespace"] = space;
  if (kind == "ReplicaSet" || kind == "StatefulSet") made["apiVersion"] = "apps/v1";
  if (kind == "StorageClass" || kind.starts_with("CSI")) made["apiVersion"] = "storage.k8s.io/v1";
  if (kind == "PodDisruptionBudget") made["apiVersion"] = "policy/v1";
  made["metadata"]["uid"] = kind + "-" + space + "-" + name;
  return made;
}

Json RandomApplications::images() {
  Json made = Json::array();
  std::int64_t megabytes = 20;
  for (const std::string& image : kImages) {
    // One size a name: which one counts is history.
    megabytes *= 6;
    const bool tagged = image.find(':', image.rfind('/') + 1) != std::string::npos;
    if (draws_.one_in(2)) {
      made.push_back(
          {{"names", {tagged ? image : image + ":latest"}}, {"sizeBytes", megabytes << 20}});
    }
  }
  return made;
}

Json RandomApplications::node(const std::string& name) {
  static const std::array<std::string, 3> kCpus{"2", "4", "3900m"};
  static const std::array<std::string, 3> kPods{"3", "6", "110"};
  Json made = object("Node", name, "");
  Json& labels = made["metadata"]["labels"];
  labels = {{kHostname, name}};
  // "" is a zone as any other, and what System's default constraints take a node without one for.
  if (!draws_.one_in(6)) labels[kZone] = draws_.one_in(8) ? "" : draws_.pick(kZones);
  if (draws_.one_in(8)) labels[kBetaZone] = draws_.pick(kZones);
  if (draws_.one_in(2)) labels["generation"] = std::to_string(draws_.below(4));
  if (!draws_.one_in(3)) labels["rack"] = "r" + std::to_string(draws_.below(4));
  if (draws_.one_in(2)) labels["disk"] = draws_.one_in(2) ? "ssd" : "hdd";
  made["status"]["allocatable"] = {
      {"cpu", draws_.pick(kCpus)}, {"memory", "8Gi"}, {"pods", draws_.pick(kPods)}};
  made["status"]["images"] = images();
  if (draws_.one_in(2)) made["status"]["declaredFeatures"] = {kFeature, "Another"};
  static const std::array<std::string, 3> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};
  made["spec"] = Json::object();
  if (draws_.one_in(4)) {
    made["spec"]["taints"] = {
        {{"key", draws_.one_in(2) ? "gpu" : "maint"}, {"effect", draws_.pick(kEffects)}}};
  }
  if (draws_.one_in(12)) made["spec"]["unschedulable"] = true;
  nodes_[name] = made;
  return made;
}

Json RandomApplications::node_with_other_images() {
  if (nodes_.empty()) return node(node_name());
  auto known = nodes_.begin();
  std::advance(known, draws_.below(nodes_.size()));
  known->second["status"]["images"] = images();
  return known->second;
}

Json RandomApplications::csi_node(const std::string& name) {
  Json made = object("CSINode", name, "");
  made["spec"]["drivers"] = Json::array();
  if (!draws_.one_in(5)) {
    made["spec"]["drivers"].push_back({{"name", "csi.example.com"},
                                       {"nodeID", name},
                                       {"allocatable", {{"count", draws_.below(4)}}}});
  }
  if (draws_.one_in(2)) {
    made["spec"]["drivers"].push_back({{"name", "pd.csi.storage.gke.io"},
                                       {"nodeID", name},
                                       {"allocatable", {{"count", draws_.below(3)}}}});
  }
  return made;
}

Json RandomApplications::csi_driver(const std::string& name) {
  Json made = object("CSIDriver", name, "");
  made["spec"] = {{"storageCapacity", draws_.one_in(2)},
                  {"preventPodSchedulingIfMissing", draws_.one_in(4)}};
  return made;
}

Json RandomApplications::name_space(const std::string& name) {
  Json made = object("Namespace", name, "");
  made["metadata"]["labels"] = {{"kubernetes.io/metadata.name", name}};
  if (!draws_.one_in(3)) made["metadata"]["labels"]["env"] = draws_.one_in(2) ? "dev" : "prod";
  return made;
}

Json RandomApplications::storage_class(const std::string& name) {
  Json made = object("StorageClass", name, "");
  made["provisioner"] = name == "local" ? "kubernetes.io/no-provisioner" : "csi.example.com";
  made["volumeBindingMode"] = name == "now" ? "Immediate" : "WaitForFirstConsumer";
  if (draws_.one_in(3)) {
    made["allowedTopologies"] = {
        {{"matchLabelExpressions", {{{"key", kZone}, {"values", {"z1", "z2"}}}}}}};
    if (draws_.one_in(3)) {
      made["allowedTopologies"].push_back(
          {{"matchLabelExpressions", {{{"key", "rack"}, {"values", {"r0", "r1"}}}}}});
    }
  }
  return made;
}

// Bound to the volume of its number, or waiting.
Json RandomApplications::claim(const std::string& name, const std::string& space) {
  static const std::array<std::string, 3> kSizes{"1Gi", "5Gi", "8Gi"};
  Json made = object("PersistentVolumeClaim", name, space);
  made["spec"] = {{"accessModes", {draws_.one_in(6) ? "ReadWriteOncePod" : "ReadWriteOnce"}},
                  {"storageClassName", draws_.pick(kVolumeClasses)},
                  {"volumeMode", "Filesystem"},
                  {"resources", {{"requests", {{"storage", draws_.pick(kSizes)}}}}}};
  made["status"]["phase"] = "Pending";
  if (draws_.one_in(3)) {
    made["spec"]["volumeName"] = "pv" + std::to_string(draws_.below(kVolumes));
    made["metadata"]["annotations"] = {{"pv.kubernetes.io/bind-completed", "yes"}};
    made["status"]["phase"] = "Bound";
  } else if (draws_.one_in(6)) {
    made["metadata"]["annotations"] = {{"volume.kubernetes.io/selected-node", node_name()}};
  } else if (draws_.one_in(8)) {
    made["spec"]["volumeName"] = "pv" + std::to_string(draws_.below(kVolumes));
  }
  if (draws_.one_in(8)) made["spec"]["selector"]["matchLabels"] = {{kZone, "z1"}};
  if (draws_.one_in(30)) made["status"]["phase"] = "Lost";
  if (draws_.one_in(30)) made["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z";
  return made;
}

Json RandomApplications::persistent_volume(const std::string& name) {
  Json made = object("PersistentVolume", name, "");
  // No two of one size: of equals kube-scheduler takes any.
  const std::string size = std::to_string(3 + 2 * (name.back() - '0')) + "Gi";
  made["spec"] = {{"accessModes", {"ReadWriteOnce"}},
                  {"capacity", {{"storage", size}}},
                  {"storageClassName", draws_.pick(kVolumeClasses)},
                  {"volumeMode", "Filesystem"}};
  if (draws_.one_in(5)) {
    made["spec"]["gcePersistentDisk"]["pdName"] = name;
  } else {
    made["spec"]["csi"] = {{"driver", "csi.example.com"}, {"volumeHandle", "h-" + name}};
  }
  made["status"]["phase"] = "Available";
  if (draws_.one_in(4)) {
    // Meant for a claim, by name.
    const std::string space = draws_.pick(kSpaces);
    const std::string meant = "c" + std::to_string(draws_.below(3));
    made["spec"]["claimRef"] = {{"namespace", space}, {"name", meant}};
  }
  if (draws_.one_in(2)) {
    made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = {
        {{"matchExpressions", {in(kZone, {draws_.pick(kZones), draws_.pick(kZones)})}}}};
  }
  if (draws_.one_in(3)) {
    made["metadata"]["labels"] = {
        {draws_.one_in(4) ? kBetaZone : kZone, draws_.one_in(2) ? "z1" : "z2__z3"}};
  }
  return made;
}

// One a zone, so that no node reaches two.
Json RandomApplications::storage_capacity(const std::string& zone) {
  static const std::array<std::string, 3> kAmounts{"1Gi", "6Gi", "100Gi"};
  Json made = object("CSIStorageCapacity", "room-" + zone, "red");
  made["storageClassName"] = "later";
  made["nodeTopology"]["matchLabels"] = {{kZone, zone}};
  made["capacity"] = draws_.pick(kAmounts);
  return made;
}

Json RandomApplications::controller(const Application& application) {
  Json made = object(application.owner, application.name, application.space);
  Json& selects = made["spec"]["selector"];
  if (application.owner == "ReplicationController") {
    selects = application.labels;
  } else {
    selects["matchLabels"] = application.labels;
    if (draws_.one_in(4)) selects["matchExpressions"] = Json::array({requirement()});
  }
  return made;
}

Json RandomApplications::service(const Application& application) {
  Json made = object("Service", application.name, application.space);
  made["spec"] = Json::object();
  if (!draws_.one_in(5)) made["spec"]["selector"] = {{"app", application.labels.at("app")}};
  return made;
}

Json RandomApplications::disruption_budget(const Application& application) {
  Json made = object("PodDisruptionBudget", application.name, application.space);
  made["spec"]["selector"]["matchLabels"] = application.labels;
  made["status"]["disruptionsAllowed"] = draws_.below(3);
  return made;
}

Json RandomApplications::requirement() {
  static const std::array<std::string, 5> kKeys{"app", "tier", "version", "number", "none"};
  const std::string key = draws_.pick(kKeys);
  switch (draws_.below(4)) {
    case 0:
      return {{"key", key}, {"operator", "Exists"}};
    case 1:
      return {{"key", key}, {"operator", "DoesNotExist"}};
    case 2:
      return {{"key", key}, {"operator", "NotIn"}, {"values", {"a1", "back", "v1", "3"}}};
    default:
      return in(key, {"a0", "a1", "front", "v1", "3", "4"});
  }
}

// Mostly the application itself, as people write it.
Json RandomApplications::selector(const Json& labels) {
  if (draws_.one_in(20)) return Json::object();
  Json made;
  if (draws_.one_in(4)) {
    made["matchExpressions"] = Json::array({requirement()});
  } else {
    made["matchLabels"] = {{"app", draws_.one_in(3) ? "a0" : labels.at("app").get<std::string>()}};
  }
  return made;
}

// No two of one key and one whenUnsatisfiable.
Json RandomApplications::spread_constraints(const Json& labels) {
  Json made = Json::array();
  for (const std::string& key : {kZone, kHostname, std::string("rack"), std::string("none")}) {
    if (!draws_.one_in(key == "none" ? 16 : 2)) continue;
    const bool hard = draws_.one_in(2);
    Json one{{"topologyKey", key},
             {"maxSkew", draws_.between(1, 3)},
             {"whenUnsatisfiable", hard ? "DoNotSchedule" : "ScheduleAnyway"},
             {"labelSelector", selector(labels)}};
    if (draws_.one_in(4)) one["matchLabelKeys"] = {"version"};
    if (hard && draws_.one_in(3)) one["minDomains"] = draws_.between(1, 4);
    if (draws_.one_in(3)) one["nodeAffinityPolicy"] = draws_.one_in(2) ? "Ignore" : "Honor";
    if (draws_.one_in(3)) one["nodeTaintsPolicy"] = draws_.one_in(2) ? "Ignore" : "Honor";
    made.push_back(std::move(one));
  }
  return made;
}

Json RandomApplications::affinity_term(const Json& labels) {
  Json made{{"topologyKey", topology_key()}};
  // Without one it means no pod.
  if (!draws_.one_in(24)) made["labelSelector"] = selector(labels);
  if (draws_.one_in(4)) made["namespaces"] = {draws_.pick(kSpaces), draws_.pick(kSpaces)};
  if (draws_.one_in(4)) {
    switch (draws_.below(3)) {
      case 0:
        made["namespaceSelector"] = Json::object();
        break;
      case 1:
        made["namespaceSelector"]["matchLabels"] = {{"env", "dev"}};
        break;
      default:
        made["namespaceSelector"]["matchExpressions"] = {
            {{"key", "env"}, {"operator", "NotIn"}, {"values", {"dev"}}}};
    }
  }
  return made;
}

// Now and then one that matches nothing: empty, or with a value that is none of a label's.
Json RandomApplications::node_term() {
  Json made = Json::object();
  if (draws_.one_in(16)) return made;
  if (draws_.one_in(6)) {
    made["matchFields"] = Json::array({in("metadata.name", {node_name()})});
  } else if (draws_.one_in(2)) {
    made["matchExpressions"] = Json::array({in(kZone, {draws_.pick(kZones), draws_.pick(kZones)})});
  } else if (draws_.one_in(2)) {
    const std::string op = draws_.one_in(2) ? "Gt" : "Lt";
    made["matchExpressions"] = {
        {{"key", "generation"}, {"operator", op}, {"values", {draws_.one_in(6) ? "-1" : "1"}}}};
  } else {
    made["matchExpressions"] = {{{"key", "disk"}, {"operator", "Exists"}}};
  }
  return made;
}

Json RandomApplications::affinity(const Json& labels) {
  Json made = Json::object();
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    if (draws_.one_in(4)) {
      made[kind]["requiredDuringSchedulingIgnoredDuringExecution"] =
          draws_.one_in(4) ? Json::array({affinity_term(labels), affinity_term(labels)})
                           : Json::array({affinity_term(labels)});
    }
    if (draws_.one_in(3)) {
      made[kind]["preferredDuringSchedulingIgnoredDuringExecution"] = {
          {{"weight", draws_.between(1, 100)}, {"podAffinityTerm", affinity_term(labels)}}};
    }
  }
  if (draws_.one_in(6)) {
    made["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        draws_.one_in(3) ? Json::array({node_term(), node_term()}) : Json::array({node_term()});
  }
  if (draws_.one_in(3)) {
    made["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = {
        {{"weight", draws_.between(1, 100)}, {"preference", node_term()}},
        {{"weight", draws_.between(1, 100)}, {"preference", node_term()}}};
  }
  return made;
}

Json RandomApplications::spec(const Json& labels) {
  static const std::array<std::string, 4> kCpus{"100m", "500m", "1", "2"};
  static const std::array<std::string, 3> kMemory{"64Mi", "1Gi", "2Gi"};
  Json container{{"name", "c"}, {"image", draws_.pick(kImages)}};
  if (!draws_.one_in(5)) {
    container["resources"]["requests"] = {{"cpu", draws_.pick(kCpus)},
                                          {"memory", draws_.pick(kMemory)}};
  }
  if (draws_.one_in(8)) {
    container["ports"] = {{{"containerPort", 80}, {"hostPort", 8080}, {"protocol", "TCP"}}};
  }
  if (draws_.one_in(16)) {
    container["restartPolicy"] = "Never";
    container["restartPolicyRules"] = {{{"action", "RestartAllContainers"}}};
  }
  Json made{{"containers", {container}}, {"priority", draws_.below(4)}};
  if (draws_.one_in(6)) {
    made["initContainers"] = {{{"name", "i"}, {"image", draws_.pick(kImages)}}};
    if (draws_.one_in(3)) made["initContainers"][0]["restartPolicy"] = "Always";
    if (draws_.one_in(2)) {
      made["initContainers"][0]["resources"]["requests"] = {{"cpu", draws_.pick(kCpus)}};
    }
  }
  if (draws_.one_in(10)) {
    made["resources"]["requests"] = {{"cpu", "2"}};
    if (draws_.one_in(2)) made["resources"]["requests"]["memory"] = "1Gi";
  }
  if (draws_.one_in(3)) made["topologySpreadConstraints"] = spread_constraints(labels);
  if (draws_.one_in(2)) made["affinity"] = affinity(labels);
  if (draws_.one_in(8)) made["nodeSelector"] = {{"disk", "ssd"}};
  if (draws_.one_in(3)) {
    made["tolerations"] = {{{"key", draws_.one_in(2) ? "gpu" : "maint"}, {"operator", "Exists"}}};
  }
  return made;
}

// Mostly claims; now and then a disk, an image, or a claim that nobody made.
Json RandomApplications::volumes() {
  Json made = Json::array();
  const std::int64_t count = draws_.between(1, 3);
  for (int i = 0; i < count; ++i) {
    Json volume{{"name", "v" + std::to_string(i)}};
    const std::string id = "d" + std::to_string(draws_.below(2));
    const bool read_only = draws_.one_in(2);
    switch (draws_.below(16)) {
      case 0:
        volume["gcePersistentDisk"] = {{"pdName", id}, {"readOnly", read_only}};
        break;
      case 1:
        volume["awsElasticBlockStore"] = {{"volumeID", "vol-" + id}, {"readOnly", read_only}};
        break;
      case 2:
        volume["iscsi"] = {
            {"iqn", id}, {"targetPortal", "1.2.3.4"}, {"lun", 0}, {"readOnly", read_only}};
        break;
      case 3:
        volume["rbd"] = {{"monitors", {"m1", draws_.one_in(2) ? "m2" : "m3"}},
                         {"pool", "rbd"},
                         {"image", id},
                         {"readOnly", read_only}};
        break;
      case 4:
        volume["image"]["reference"] = draws_.pick(kImages);
        break;
      case 5:
        volume["ephemeral"]["volumeClaimTemplate"]["spec"] = Json::object();
        break;
      case 6:
        volume["persistentVolumeClaim"]["claimName"] = "absent";
        break;
      default:
        volume["persistentVolumeClaim"]["claimName"] = "c" + std::to_string(i);
    }
    made.push_back(std::move(volume));
  }
  return made;
}

Json RandomApplications::pod(const Application& application, int number) {
  Json made = object("Pod", application.name + "-" + std::to_string(number), application.space);
  made["metadata"]["labels"] = application.labels;
  if (draws_.one_in(3)) made["metadata"]["labels"]["version"] = draws_.one_in(2) ? "v1" : "v2";
  // One of its own, as pods of a StatefulSet have.
  if (draws_.one_in(2)) made["metadata"]["labels"]["number"] = std::to_string(number);
  if (!application.owner.empty()) {
    const bool core = application.owner == "ReplicationController";
    made["metadata"]["ownerReferences"] = {
        {{"apiVersion", core                         ? "v1"
                        : application.owner == "Job" ? "batch/v1"
                                                     : "apps/v1"},
         {"kind", application.owner},
         {"name", application.name},
         {"uid", application.owner + "-" + application.space + "-" + application.name},
         {"controller", true}}};
  }
  made["spec"] = application.spec;
  if (application.has_volumes) made["spec"]["volumes"] = volumes();
  made["status"]["phase"] = "Pending";
  return made;
}

Json RandomApplications::pod_to_place() { return pod(any_application(), pods_++); }

// Known to events from here on; now and then ended, ending, or on a node that is not there.
Json RandomApplications::placed_pod() {
  Json made = pod_to_place();
  made["spec"]["nodeName"] = node_name();
  made["status"]["phase"] = draws_.one_in(20) ? "Succeeded" : "Running";
  const std::int64_t minute = draws_.between(10, 59);
  made["status"]["startTime"] = "2026-01-01T00:" + std::to_string(minute) + ":00Z";
  if (draws_.one_in(20)) made["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z";
  if (draws_.one_in(8)) report_resize(made["status"]);
  placed_.push_back(made);
  return made;
}

// What nodes say while and after a pod is resized in place: of its containers, and of all of it.
void RandomApplications::report_resize(Json& status) {
  static const std::array<std::string, 4> kCpus{"50m", "200m", "1500m", "3"};
  const auto report = [&](Json& of) {
    if (draws_.one_in(2)) of["allocatedResources"] = {{"cpu", draws_.pick(kCpus)}};
    if (draws_.one_in(4)) of["allocatedResources"]["memory"] = "3Gi";
    if (draws_.one_in(4)) {
      of["resources"]["limits"] = {{"cpu", "4"}};
    }
    if (!draws_.one_in(3)) of["resources"]["requests"] = {{"cpu", draws_.pick(kCpus)}};
  };
  Json container{{"name", "c"}}, init{{"name", "i"}};
  report(container);
  status["containerStatuses"] = Json::array({container});
  if (draws_.one_in(2)) {
    report(init);
    status["initContainerStatuses"] = Json::array({init});
  }
  if (draws_.one_in(2)) report(status);
  if (draws_.one_in(3)) {
    status["conditions"] =
        Json::array({{{"type", "PodResizePending"},
                      {"status", "True"},
                      {"reason", draws_.one_in(2) ? "Infeasible" : "Deferred"}}});
  }
}

std::vector<Json> RandomApplications::objects() {
  std::vector<Json> all;
  for (const std::string& space : kSpaces) {
    if (!draws_.one_in(4)) all.push_back(name_space(space));
    for (int i = 0; i < 3; ++i) all.push_back(claim("c" + std::to_string(i), space));
  }
  for (int i = 1; i <= kNodesMax; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (!draws_.one_in(3)) all.push_back(node(name));
    if (!draws_.one_in(3)) all.push_back(csi_node(name));
  }
  for (const std::string& name : kStorageClasses) all.push_back(storage_class(name));
  for (int i = 0; i < kVolumes; ++i) {
    all.push_back(persistent_volume("pv" + std::to_string(i)));
  }
  all.push_back(csi_driver(kDrivers[0]));
  for (const std::string& zone : kZones) {
    if (!draws_.one_in(3)) all.push_back(storage_capacity(zone));
  }
  for (const Application& one : applications_) {
    if (!one.owner.empty() && one.owner != "Job") all.push_back(controller(one));
    if (one.has_service) all.push_back(service(one));
    if (draws_.one_in(4)) all.push_back(disruption_budget(one));
  }
  const std::int64_t count = draws_.between(0, 12);
  for (int i = 0; i < count; ++i) all.push_back(placed_pod());
  return all;
}

// What the controller of ephemeral volumes makes; where the pod has none, a claim that nobody asks
// for.
Json RandomApplications::claim_of_pod(const Json& pod) {
  const Json& its = pod.at("metadata");
  std::string volume = "v0";
  for (const Json& one : pod.at("spec").value("volumes", Json::array())) {
    if (one.contains("ephemeral")) volume = one.at("name");
  }
  Json made = claim(its.at("name").get<std::string>() + "-" + volume, its.at("namespace"));
  made["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                          {"kind", "Pod"},
                                          {"name", its.at("name")},
                                          {"uid", its.at("uid")},
                                          {"controller", true}}};
  return made;
}

Json RandomApplications::changed_object() {
  const Application& one = any_application();
  switch (draws_.below(13)) {
    case 0:
    case 1:
    case 2:
      return node(node_name());
    case 3:
      return name_space(draws_.pick(kSpaces));
    case 4:
      return one.owner.empty() || one.owner == "Job" ? service(one) : controller(one);
    case 5: {
      // Drawn one after the other: the order of arguments is the compiler's.
      const std::string name = "c" + std::to_string(draws_.below(3));
      return claim(name, draws_.pick(kSpaces));
    }
    case 6:
      return persistent_volume("pv" + std::to_string(draws_.below(kVolumes)));
    case 7:
      return csi_node(node_name());
    case 8:
      return placed_.empty() ? storage_class("now") : claim_of_pod(draws_.pick(placed_));
    case 9:
      return node_with_other_images();
    case 10:
      return csi_driver(draws_.pick(kDrivers));
    case 11:
      return storage_class(draws_.pick(kStorageClasses));
    default:
      return storage_capacity(draws_.pick(kZones));
  }
}

Json RandomApplications::removed_storage() {
  switch (draws_.below(6)) {
    case 0:
      return object("CSIStorageCapacity", "room-" + draws_.pick(kZones), "red");
    case 1:
      return object("CSIDriver", draws_.pick(kDrivers), "");
    case 2:
      return object("StorageClass", draws_.pick(kStorageClasses), "");
    case 3:
      return object("PersistentVolume", "pv" + std::to_string(draws_.below(kVolumes)), "");
    case 4:
      return object("CSINode", node_name(), "");
    default: {
      const std::string name = "c" + std::to_string(draws_.below(3));
      return object("PersistentVolumeClaim", name, draws_.pick(kSpaces));
    }
  }
}

Json RandomApplications::removed_object() {
  switch (draws_.below(9)) {
    case 0:
      return object("Node", node_name(), "");
    case 4:
      return removed_storage();
    case 1:
      return object("Namespace", draws_.pick(kSpaces), "");
    case 2: {
      const Application& one = any_application();
      return object("Service", one.name, one.space);
    }
    case 3: {
      const Application& one = any_application();
      const bool read = !one.owner.empty() && one.owner != "Job";
      return object(read ? one.owner : "Service", one.name, one.space);
    }
    default: {
      if (placed_.empty()) return object("CSINode", node_name(), "");
      const Json gone = draws_.pick(placed_);
      std::erase(placed_, gone);
      return gone;
    }
  }
}

Json RandomApplications::nominated_pod() {
  Json made = pod_to_place();
  made["status"]["nominatedNodeName"] = node_name();
  placed_.push_back(made);
  return made;
}

Json RandomApplications::event() {
  if (draws_.one_in(12)) return {{"op", "apply"}, {"object", nominated_pod()}};
  switch (draws_.below(10)) {
    case 0:
    case 1:
      return {{"op", "apply"}, {"object", changed_object()}};
    case 2:
    case 3:
      return {{"op", "delete"}, {"object", removed_object()}};
    case 4:
    case 5:
    case 6:
      return {{"op", "apply"}, {"object", placed_pod()}};
    case 7:
      if (!reserved_.empty()) {
        const Json back = draws_.pick(reserved_);
        std::erase(reserved_, back);
        return {{"op", "unreserve"}, {"pod", back.at("pod")}, {"node", back.at("node")}};
      }
      [[fallthrough]];
    default: {
      Json step{{"op", "reserve"}, {"pod", pod_to_place()}, {"node", node_name()}};
      reserved_.push_back(step);
      placed_.push_back(step.at("pod"));
      return step;
    }
  }
}

}  // namespace headroom
