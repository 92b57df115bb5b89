// SchedulingGates: a pod with gates waits before it is queued.
#pragma once

#include "oracle/cycle.h"
#include "oracle/default/objects.h"

namespace oracle::defaults {

Status pre_enqueue_scheduling_gates(const Pod& pod);

}  // namespace oracle::defaults
