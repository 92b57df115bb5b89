// ClusterState: the facts of a Cluster as the body of a state file (state_file.h), and back.
//
// Values are written as value_bytes.h says, in this order; a row, and a pod by its place in the
// file, is a number:
// - now_us;
// - every row up to the last in use: its name, "" for a free one; else whether it has a Node, and
//   the Node;
// - the objects that others refer to; the PriorityClasses;
// - with CapacityScheduling: the ElasticQuotas and the PodDisruptionBudgets;
// - every pod: its key, and whether it is known, or only mentioned; of a known one: SavedPod; its
//   shape; where the profile reads peers, those it is one of; SavedRank, and its priority class if
//   it has no priority of its own; with CapacityScheduling its namespace and labels;
// - the volumes that assumed pods chose: the pod, and each VolumeChoice;
// - with LoadAwareScheduling: every metric: its row and what MetricFacts says, each usage as
// amounts
//   by dimension, beside what it is of.
//
// What pods share (shape, labels, name of a class) is a number, the next free one where a pod is
// the first to need it; then the thing itself follows.
//
// A cluster is restored by the steps of events, but for what only history says: which row a name
// has, when a pod was first seen, that it is bound or assumed, which volumes it chose then. Pods
// stand as their rows list them, so that even texts which name one of several pods stay the same.
// What follows from the facts is not in the file. The same cluster is always the same bytes, and so
// is one that was restored. Thread safety: as Cluster. Cost: O(nodes + pods + pods that metrics
// list).
#pragma once

#include "engine/cluster/cluster.h"
#include "engine/kept/value_bytes.h"

namespace headroom {

class ClusterState {
 public:
  // kLimitExceeded where a cluster could not be restored.
  static Result<void> save(const Cluster& cluster, ValueWriter& writer);
  // Into a cluster of the same profile that knows nothing; after an error it is of no use.
  static Result<void> restore(Cluster& cluster, ValueReader& reader);

 private:
  class Saver;
  class Restorer;
};

}  // namespace headroom
