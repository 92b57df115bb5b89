// Wire objects to objects/objects.h: the place where the wire type dies.
//
// Checks what the schema cannot say: quantities, names that come twice, the limits of
// schema/limits.h. Returns what was read, as kObjectBytesMax counts it. An error names the object,
// the field and the value, and leaves `out` in some valid state that nothing may use. Thread
// safety: pure functions. Cost: a copy of the fields; no allocation where `out` has held an object
// of that size before.
#pragma once

#include "autoscaling/capacity_quota_answers.h"
#include "objects/error.h"
#include "objects/objects.h"
#include "schema/headroom_generated.h"

namespace headroom {

Result<std::size_t> decode(const wire::Node& in, Node& out);
Result<std::size_t> decode(const wire::Pod& in, Pod& out);
Result<std::size_t> decode(const wire::NodeMetric& in, NodeMetric& out);
Result<std::size_t> decode(const wire::ElasticQuota& in, ElasticQuota& out);
Result<std::size_t> decode(const wire::PodDisruptionBudget& in, PodDisruptionBudget& out);
Result<std::size_t> decode(const wire::PriorityClass& in, PriorityClass& out);
// The names of an object that is gone, as check_text() has them.
Result<void> check_removed(const wire::Change& change);
// Any text as operator and as limit.
Result<std::size_t> decode(const wire::CapacityQuota& in, CapacityQuota& out);
// The same errors as read_object(); kLimitExceeded above kReferredObjectBytesMax; kUnsupported for
// an object of another kind.
Result<ReferredObject> decode(const wire::ReferredObject& in);
// kUnsupported: no such kind.
Result<ReferredKind> decode(const wire::RemovedReferredObject& in);
// kUnsupported: a class that this server does not know.
Result<CapacityQuotaClass> decode(wire::CapacityQuotaClass in);

}  // namespace headroom
