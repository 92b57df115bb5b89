// What a synthetic cluster has beside nodes, pods and quotas: see cluster_generator.h.
#include <set>

#include "workloads/cluster_generator.h"
#include "workloads/random.h"

namespace headroom {
namespace {

constexpr std::uint64_t kForBudget = 951;  // what a draw is for, as its first key
constexpr std::uint32_t kApplicationsPerBudget = 4;

}  // namespace

std::uint32_t ClusterGenerator::budget_count() const {
  if (!quotas_) return 0;
  return applications_
             ? (applications_->count() + kApplicationsPerBudget - 1) / kApplicationsPerBudget
             : quotas_->budget_count();
}

PodDisruptionBudget ClusterGenerator::budget(std::uint32_t index) const {
  if (!applications_) return quotas_->budget(index);
  const std::uint32_t application = kApplicationsPerBudget * index;
  PodDisruptionBudget budget;
  budget.namespace_name = pod_namespace(applications_->first_pod(application));
  budget.name = ApplicationGenerator::name(application);
  budget.selector = {{"app", "In", {budget.name}}};
  budget.disruptions_allowed = Random{options_.seed, kForBudget, application}.between(0, 3);
  return budget;
}

void ClusterGenerator::visit_referred_objects(const ApplicationGenerator::Visit& visit) const {
  if (!applications_) return;
  std::set<std::string> namespaces;
  for (std::uint32_t a = 0; a < applications_->count(); ++a) {
    namespaces.insert(pod_namespace(applications_->first_pod(a)));
  }
  for (const std::string& name : namespaces) {
    visit(Namespace{name, {{"kubernetes.io/metadata.name", name}}});
  }
  ApplicationGenerator::visit_cluster(visit);
  for (std::uint32_t a = 0; a < applications_->count(); ++a) {
    const std::uint32_t first = applications_->first_pod(a);
    const std::string namespace_name = pod_namespace(first);
    applications_->visit_application(a, namespace_name, visit);
    for (std::uint32_t p = first; p < first + applications_->pod_count(a); ++p) {
      std::optional<std::string> zone;
      if (is_bound(p)) zone = zone_of_node(node_of_pod_[p]);
      applications_->visit_pod(p, namespace_name, pod_name(p), zone, visit);
    }
  }
  for (std::uint32_t n = 0; n < options_.nodes; ++n) {
    visit(ApplicationGenerator::csi_node(node_name(n)));
  }
}

std::vector<ReferredObject> ClusterGenerator::referred_objects() const {
  std::vector<ReferredObject> objects;
  visit_referred_objects([&](const ReferredObject& object) { objects.push_back(object); });
  return objects;
}

}  // namespace headroom
