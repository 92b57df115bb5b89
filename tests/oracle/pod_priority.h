// A pod's priority and preemption policy, as Kubernetes' admission fills them in.
#pragma once

#include "oracle/facts.h"

namespace oracle {

// spec.priority; without it the value of the class that spec.priorityClassName names (an unknown
// name is 0); with neither that of the global default class (the lowest of several), else 0.
std::int64_t pod_priority(const Facts& facts, const Json& pod);

// spec.preemptionPolicy; without it that of the class that gives the priority.
bool never_preempts(const Facts& facts, const Json& pod);

}  // namespace oracle
