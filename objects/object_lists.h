// ObjectLists: Kubernetes objects by kind, each list in its source's order. Plain data.
#pragma once

#include <vector>

#include "objects/objects.h"

namespace headroom {

struct ObjectLists {
  std::vector<Node> nodes;
  std::vector<NodeMetric> node_metrics;
  std::vector<Pod> pods;
  std::vector<ElasticQuota> elastic_quotas;
  std::vector<PodDisruptionBudget> pod_disruption_budgets;
  std::vector<PriorityClass> priority_classes;
  std::vector<CapacityQuota> capacity_quotas;
  std::vector<ReferredObject> referred_objects;  // of all these kinds
};

// Calls use(list) for each but the CapacityQuotas, which are no facts of an engine. What others
// refer to comes first: it is less work for who takes them.
template <typename Lists, typename Use>
void each_engine_list(Lists& lists, const Use& use) {
  use(lists.priority_classes);
  use(lists.elastic_quotas);
  use(lists.pod_disruption_budgets);
  use(lists.referred_objects);
  use(lists.nodes);
  use(lists.node_metrics);
  use(lists.pods);
}

// The same for all of them.
template <typename Lists, typename Use>
void each_list(Lists& lists, const Use& use) {
  each_engine_list(lists, use);
  use(lists.capacity_quotas);
}

}  // namespace headroom
