// Preemptor: a pod that finds no room, and what a dry run on any node needs to know of it.
//
// A dry run asks one question again and again: does everything hold once these pods are gone? What
// has to hold are limits of two kinds: the filters' terms, node by node, and the quotas' bounds.
// Both are sums that a victim's shape lowers by a number looked up in a table.
// Thread safety: immutable while dry runs read it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/applications/look.h"
#include "engine/cluster/cluster.h"

namespace headroom {

// What pods give back when they go, by shape: contributions by column, requests by resource. Grows
// with the shapes; costs the shapes that are new.
class GivenBack {
 public:
  void extend(const Cluster& cluster);
  // By ShapeId.
  const std::int64_t* of_sum(SumId sum) const { return by_sum_[sum].data(); }
  const std::int64_t* of_resource(ResourceId resource) const {
    return by_resource_[resource].data();
  }

 private:
  std::vector<std::vector<std::int64_t>> by_sum_, by_resource_;
  std::vector<std::uint64_t> versions_;  // of the shapes, as they are entered
  std::uint64_t generation_ = 0;         // ShapeBook::generation()
};

struct Preemptor {
  // A filter's term: need <= base - sum.
  struct Term {
    std::uint32_t bit;
    ColumnId column;
    SumId sum;
    std::int64_t need;
    const std::int64_t* given_back;
  };
  // A quota's bound, as what is left of it: not below 0.
  struct Bound {
    ResourceId resource;
    bool own;               // max of the own quota; else the total of min
    Int128 left;            // with nominated pods
    Int128 left_by_itself;  // without (mode Upstream checks that first)
    const std::int64_t* given_back;
  };

  // `shape` is the pod's, decidable and prepared; the pod counts nowhere.
  // `look`: what its application says; nullptr: no row is rejected by that.
  Preemptor(const Cluster& cluster, const GivenBack& given_back, const Pod& pod,
            const PodShape& shape, const ApplicationLook* look);

  const Cluster& cluster;
  const CapacityScheduling& capacity_scheduling;
  const PodShape& shape;
  const ApplicationLook* const look;
  const PodClaim claim;
  const ElasticQuotaStanding standing;
  bool upstream;
  // Reclaims what others borrow: victims are pods of other quotas that are over their min.
  bool reclaims;
  bool budgets;  // some exist
  // Nominated pods of a quota that victims take to its min count again (mode Proposal).
  bool nominated_return = false;
  std::vector<Term> terms;
  std::vector<Bound> bounds;

  // Of each namespace: whether its pods could be victims, were their priority low enough.
  std::vector<std::uint8_t> gives;

  // Whether that much left of a bound holds it.
  bool holds(Int128 left) const { return capacity_scheduling.elastic_quotas().compared(left) >= 0; }
  // Whether the pod could be a victim before any other is: a condition for all its dry runs.
  bool may_be_victim(const RankedPod& pod) const {
    return gives[pod.namespace_id] != 0 && (reclaims || pod.priority < claim.priority);
  }
};

}  // namespace headroom
