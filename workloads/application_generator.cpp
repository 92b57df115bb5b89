#include "workloads/application_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/labels.h"
#include "workloads/random.h"
#include "workloads/zones.h"

namespace headroom {
namespace {

// The first key of every draw: what it is for.
enum ApplicationPurpose : std::uint64_t { kForSize = 901, kForPlan, kForImage, kForImagesOfNode };

constexpr std::array<std::uint32_t, 10> kSizes = {1, 2, 2, 3, 5, 8, 20, 50, 100, 300};

constexpr const char* kAppLabel = "app";
constexpr const char* kHashLabel = "pod-template-hash";
constexpr const char* kPodNameLabel = "statefulset.kubernetes.io/pod-name";

constexpr const char* kStorageClass = "zonal-ssd";
constexpr const char* kDriver = "disk.csi.example.com";
constexpr std::int64_t kVolumesOfNodeMax = 25;
constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::int64_t kMib = std::int64_t{1} << 20;

constexpr const char* kSidecarImage = "registry.example.com/mesh/proxy:1.30";
constexpr std::int64_t kSidecarImageBytes = 160 * kMib;

constexpr std::int32_t kWeight = 50;

LabelSelector app_selector(std::uint32_t application) {
  return {{kAppLabel, "In", {ApplicationGenerator::name(application)}}};
}

PodAffinityTerm term(std::uint32_t application, const char* topology_key, std::int32_t weight) {
  PodAffinityTerm made;
  made.selector = app_selector(application);
  made.topology_key = topology_key;
  made.weight = weight;
  return made;
}

std::string claim_name(const std::string& pod_name) { return "data-" + pod_name; }

}  // namespace

ApplicationGenerator::ApplicationGenerator(std::uint32_t nodes, std::uint32_t pods,
                                           std::uint64_t seed)
    : nodes_(nodes), seed_(seed) {
  std::uint32_t next = 0;
  while (next < pods) {
    first_pods_.push_back(next);
    Random random{seed_, kForSize, first_pods_.size()};
    next += std::min(kSizes[random.below(kSizes.size())], pods - next);
  }
  first_pods_.push_back(next);
}

std::uint32_t ApplicationGenerator::of_pod(std::uint32_t pod_index) const {
  const auto after = std::upper_bound(first_pods_.begin(), first_pods_.end(), pod_index);
  return static_cast<std::uint32_t>(after - first_pods_.begin()) - 1;
}

std::string ApplicationGenerator::name(std::uint32_t application) {
  return fmt::format("app-{}", application);
}

ApplicationGenerator::Plan ApplicationGenerator::plan(std::uint32_t application) const {
  Random random{seed_, kForPlan, application};
  Plan plan;
  plan.hash = fmt::format("{:08x}", random.next() & 0xFFFFFFFF);
  const std::uint32_t kind = random.below(1000), apart = random.below(1000);
  plan.kind = kind < 820 ? Kind::kDeployment : kind < 940 ? Kind::kStatefulSet : Kind::kJob;
  if (plan.kind == Kind::kJob) return plan;
  plan.apart = apart < 300   ? Apart::kPreferred
               : apart < 450 ? Apart::kRequired
               : apart < 600 ? Apart::kSoftSpread
               : apart < 700 ? Apart::kHardSpread
                             : Apart::kByDefault;
  if (plan.apart == Apart::kRequired && pod_count(application) > nodes_ / 4) {
    plan.apart = Apart::kPreferred;
  }
  plan.service = random.permille(800) || plan.kind == Kind::kStatefulSet;
  plan.near = random.permille(150) && (application ^ 1) < count();
  if (random.permille(100)) plan.zone = kZones[random.below(kZones.size())];
  plan.claims = random.permille(500) && plan.kind == Kind::kStatefulSet;
  plan.by_revision = random.permille(500) && plan.kind == Kind::kDeployment;
  plan.storage_gib = random.between(1, 100);
  return plan;
}

std::string ApplicationGenerator::controller_name(std::uint32_t application, const Plan& plan) {
  return plan.kind == Kind::kDeployment ? name(application) + "-" + plan.hash : name(application);
}

bool ApplicationGenerator::one_per_node(std::uint32_t application) const {
  return plan(application).apart == Apart::kRequired;
}

bool ApplicationGenerator::even_over_zones(std::uint32_t application) const {
  return plan(application).apart == Apart::kHardSpread;
}

ContainerImage ApplicationGenerator::image(std::uint32_t application) const {
  Random random{seed_, kForImage, application};
  return {{fmt::format("registry.example.com/{}:v{}", name(application), random.between(1, 9))},
          random.between(30, 1500) * kMib};
}

void ApplicationGenerator::fill(Pod& pod, std::uint32_t pod_index) const {
  const std::uint32_t application = of_pod(pod_index);
  const Plan plan = this->plan(application);
  if (plan.kind == Kind::kDeployment) pod.labels.emplace_back(kHashLabel, plan.hash);
  if (plan.kind == Kind::kStatefulSet) pod.labels.emplace_back(kPodNameLabel, pod.name);
  const char* kinds[] = {"ReplicaSet", "StatefulSet", "Job"};
  pod.controller = OwnerReference{plan.kind == Kind::kJob ? "batch/v1" : "apps/v1",
                                  kinds[static_cast<std::size_t>(plan.kind)],
                                  controller_name(application, plan), "uid-" + name(application)};
  for (Container& container : pod.containers) container.image = image(application).names.front();
  for (Container& container : pod.init_containers) container.image = kSidecarImage;

  const auto constraint = [&](const char* topology_key, bool hard) {
    TopologySpreadConstraint made;
    made.topology_key = topology_key;
    made.hard = hard;
    made.selector = app_selector(application);
    if (plan.by_revision) made.match_label_keys = {kHashLabel};
    pod.topology_spread.push_back(std::move(made));
    pod.not_considered.add(hard ? NotConsidered::kHardTopologySpread
                                : NotConsidered::kSoftTopologySpread);
  };
  NotConsideredSet& asked = pod.not_considered;  // as the reader of objects notes it
  switch (plan.apart) {
    case Apart::kByDefault:
      break;
    case Apart::kPreferred:
      asked.add(NotConsidered::kPreferredPodAntiAffinity);
      pod.pod_anti_affinity.preferred = {term(application, kHostnameLabel, 100)};
      break;
    case Apart::kRequired:
      asked.add(NotConsidered::kRequiredPodAntiAffinity);
      pod.pod_anti_affinity.required = {term(application, kHostnameLabel, 0)};
      break;
    case Apart::kSoftSpread:
    case Apart::kHardSpread:
      constraint(kZoneLabel, plan.apart == Apart::kHardSpread);
      constraint(kHostnameLabel, false);
      break;
  }
  // The neighbour is in the same namespace.
  if (plan.near) {
    asked.add(NotConsidered::kPreferredPodAffinity);
    pod.pod_affinity.preferred = {term(application ^ 1, kZoneLabel, kWeight)};
  }
  if (plan.zone != nullptr) {
    asked.add(NotConsidered::kPreferredNodeAffinity);
    PreferredSchedulingTerm preferred;
    preferred.weight = kWeight;
    preferred.preference.match_expressions = {{kZoneLabel, "In", {plan.zone}}};
    pod.preferred_node_affinity = {std::move(preferred)};
  }
  if (plan.claims) {
    asked.add(NotConsidered::kPersistentVolumeClaims);
    Volume volume;
    volume.name = "data";
    volume.claim = claim_name(pod.name);
    pod.volumes = {std::move(volume)};
  }
}

std::vector<ContainerImage> ApplicationGenerator::images(
    std::uint32_t node, std::span<const std::uint32_t> applications) const {
  std::set<std::uint32_t> all(applications.begin(), applications.end());
  Random random{seed_, kForImagesOfNode, node};
  for (std::uint32_t i = 0; i < kImagesOfNode && count() > 0; ++i)
    all.insert(random.below(count()));
  std::vector<ContainerImage> images = {{{kSidecarImage}, kSidecarImageBytes}};
  for (const std::uint32_t application : all) images.push_back(image(application));
  return images;
}

void ApplicationGenerator::visit_cluster(const Visit& visit) {
  StorageClass storage_class;
  storage_class.name = kStorageClass;
  storage_class.provisioner = kDriver;
  storage_class.waits_for_first_consumer = true;
  visit(storage_class);
  CsiDriver driver;
  driver.name = kDriver;
  visit(driver);
}

void ApplicationGenerator::visit_application(std::uint32_t application,
                                             const std::string& namespace_name,
                                             const Visit& visit) const {
  const Plan plan = this->plan(application);
  if (plan.kind == Kind::kJob) return;
  WorkloadController controller;
  controller.kind = plan.kind == Kind::kDeployment ? WorkloadController::Kind::kReplicaSet
                                                   : WorkloadController::Kind::kStatefulSet;
  controller.namespace_name = namespace_name;
  controller.name = controller_name(application, plan);
  controller.selector = app_selector(application);
  if (plan.kind == Kind::kDeployment) {
    controller.selector->push_back({kHashLabel, "In", {plan.hash}});
  }
  visit(controller);
  if (plan.service) {
    visit(Service{namespace_name, name(application), StringMap{{kAppLabel, name(application)}}});
  }
}

void ApplicationGenerator::visit_pod(std::uint32_t pod_index, const std::string& namespace_name,
                                     const std::string& pod_name,
                                     const std::optional<std::string>& zone,
                                     const Visit& visit) const {
  const Plan plan = this->plan(of_pod(pod_index));
  if (!plan.claims) return;
  PersistentVolumeClaim claim;
  claim.namespace_name = namespace_name;
  claim.name = claim_name(pod_name);
  claim.uid = "uid-" + claim.name;
  claim.storage_class = kStorageClass;
  claim.volume_mode = "Filesystem";
  claim.access_modes = {"ReadWriteOnce"};
  claim.request_bytes = plan.storage_gib * kGib;
  if (!zone) return visit(claim);
  PersistentVolume volume;
  volume.name = "pv-" + pod_name;
  volume.storage_class = kStorageClass;
  volume.capacity_bytes = *claim.request_bytes;
  volume.access_modes = claim.access_modes;
  volume.volume_mode = claim.volume_mode;
  volume.node_affinity.emplace().emplace_back().match_expressions = {{kZoneLabel, "In", {*zone}}};
  volume.claim_namespace = claim.namespace_name;
  volume.claim_name = claim.name;
  volume.claim_uid = claim.uid;
  volume.csi_driver = kDriver;
  volume.csi_handle = volume.name;
  claim.volume_name = volume.name;
  claim.bind_completed = true;
  visit(volume);
  visit(claim);
}

CsiNode ApplicationGenerator::csi_node(const std::string& node_name) {
  return {node_name, {{kDriver, kVolumesOfNodeMax}}};
}

}  // namespace headroom
