// Cluster: what an event asks for of memory before anything else is done.
//
// Most of the cost of an event is waiting for memory. So that it waits once: where a name may lead
// to is asked for first.
#include "engine/cluster/cluster.h"

namespace headroom {

void Cluster::prefetch_pod(PodId id) const { prefetch_bytes(&facts_.pods[id], sizeof(PodFacts)); }

void Cluster::prefetch_row(std::uint32_t row) const {
  prefetch_bytes(&facts_.nodes[row], sizeof(NodeFacts));
  table_.prefetch(row);
  if (load_aware_ != nullptr) {
    load_aware_->prefetch(row);
  }
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->prefetch_list(row);
  }
}

// What lies behind that: where the pod is to be put among those of the row.
void Cluster::prefetch_neighbours(std::uint32_t row) const {
  if (const PodId last = facts_.nodes[row].last_pod; last != kNoPod) {
    __builtin_prefetch(&facts_.pods[last], 1);
  }
  if (load_aware_ != nullptr) {
    load_aware_->prefetch_metric(row);
  }
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->prefetch(row);
  }
  applications_.prefetch_domains(row);
}

}  // namespace headroom
