// ApplicationGenerator: what runs in a synthetic cluster: Deployments, StatefulSets and Jobs, whose
// pods are each of one template, and what comes with them.
//
// Shares, in 1,000 applications:
//   820 Deployments (as ReplicaSets), 120 StatefulSets, 60 Jobs. The first two live long.
//   Of those, 700 keep their pods apart themselves: 300 by preferred and 150 by required
//   anti-affinity on the hostname (preferred where they have more pods than a quarter of the
//   nodes), 150 by soft constraints over zones and hostnames, 100 by a hard one over zones and a
//   soft one over hostnames. The other 300 rely on the cluster's default spread.
//   800 Deployments and all StatefulSets have a Service.
//   Of the long-lived, 150 prefer the zone of another application of their namespace, 100 a zone.
//   500 StatefulSets have a claim for each pod. A pod with a node has its volume, in the node's
//   zone; the others' claims wait for their first consumer.
//
// An application has 1 to 300 pods, 49 on average, which follow each other by index; most have few,
// and most pods are of large ones. Four applications in a row share a namespace.
//
// Nodes have the images of the pods that are bound to them, of kImagesOfNode applications more, and
// the sidecar's. Any object is made on its own, from the options and its index. Thread safety:
// const after construction. Cost: construction and memory O(applications).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "objects/objects.h"

namespace headroom {

class ApplicationGenerator {
 public:
  static constexpr std::uint32_t kImagesOfNode = 15;

  ApplicationGenerator(std::uint32_t nodes, std::uint32_t pods, std::uint64_t seed);

  std::uint32_t count() const { return static_cast<std::uint32_t>(first_pods_.size() - 1); }
  std::uint32_t of_pod(std::uint32_t pod_index) const;
  // Of an application; the first one is its template.
  std::uint32_t first_pod(std::uint32_t application) const { return first_pods_[application]; }
  std::uint32_t pod_count(std::uint32_t application) const {
    return first_pods_[application + 1] - first_pods_[application];
  }
  // Applications of one number share a namespace.
  static std::uint32_t namespace_of(std::uint32_t application) { return application / 4; }

  static std::string name(std::uint32_t application);  // also its pods' label app
  // No two pods may be on one node; pods per zone may differ by one.
  bool one_per_node(std::uint32_t application) const;
  bool even_over_zones(std::uint32_t application) const;

  // Completes a pod that has its namespace, its name, its first labels and its containers.
  void fill(Pod& pod, std::uint32_t pod_index) const;
  // The images of a node with pods of these applications.
  std::vector<ContainerImage> images(std::uint32_t node,
                                     std::span<const std::uint32_t> applications) const;

  using Visit = std::function<void(const ReferredObject&)>;
  // Of the whole cluster; of an application, in its namespace; of a pod, in a zone where it is
  // bound; of a node.
  static void visit_cluster(const Visit& visit);
  void visit_application(std::uint32_t application, const std::string& namespace_name,
                         const Visit& visit) const;
  void visit_pod(std::uint32_t pod_index, const std::string& namespace_name,
                 const std::string& pod_name, const std::optional<std::string>& zone,
                 const Visit& visit) const;
  static CsiNode csi_node(const std::string& node_name);

 private:
  enum class Kind : std::uint8_t { kDeployment, kStatefulSet, kJob };
  enum class Apart : std::uint8_t {
    kByDefault,
    kPreferred,
    kRequired,
    kSoftSpread,
    kHardSpread,
  };
  struct Plan {
    Kind kind = Kind::kDeployment;
    Apart apart = Apart::kByDefault;
    bool service = false, near = false, claims = false, by_revision = false;
    const char* zone = nullptr;  // preferred
    std::int64_t storage_gib = 0;
    std::string hash;  // of the pod template
  };

  Plan plan(std::uint32_t application) const;
  static std::string controller_name(std::uint32_t application, const Plan& plan);
  ContainerImage image(std::uint32_t application) const;

  const std::uint32_t nodes_;
  const std::uint64_t seed_;
  std::vector<std::uint32_t> first_pods_;  // by application, and one more
};

}  // namespace headroom
