// What a pod is estimated to use, and until when: koordinator's priority classes and estimator.
#pragma once

#include <optional>
#include <string>

#include "oracle/pod_resources.h"
#include "oracle/policies/load_args.h"

namespace oracle {

enum class PriorityClass { kNone, kProd, kMid, kBatch, kFree };

// The priority-class label if present (an unknown name is none), else the range of the priority.
PriorityClass explicit_priority_class(const Json& pod);
// GetPodPriorityClassWithDefault: the explicit class, else by QoS.
PriorityClass priority_class(const Json& pod);

// The estimate for every resource that the arguments name; empty when all of it is 0.
Amounts estimate_pod(const Cycle& cycle, const LoadArgs& args, const Json& pod);

// When the pod counts as scheduled: the time of PodScheduled=True, else `since`.
Int128 assign_time(const Json& pod, Int128 since);

// Until when the pod is estimated in any case; nullopt without such a limit.
std::optional<Int128> estimate_deadline(const LoadArgs& args, const Json& pod, Int128 assigned);

}  // namespace oracle
