// Requests and limits of one pod, exactly as Kubernetes and its plugins add them up.
//
// Quantities are added exactly; the caller rounds once. Source of every formula:
// k8s.io/component-helpers/resource (v0.35) and the named plugin. Pure functions; they allocate
// their results.
#pragma once

#include <optional>
#include <string_view>

#include "objects/objects.h"

namespace headroom {

struct PodRequestsOptions {
  // What a container that has no key for cpu or memory counts as (scoring); nullopt: nothing.
  std::optional<Quantity> missing_cpu, missing_memory;
  // Take max(spec, actuated, allocated) per container (in-place resize), as NodeInfo does in 1.35.
  bool use_status_resources = false;
  bool skip_pod_level_resources = false;
};

// component-helpers PodRequests: containers and sidecars summed, the peak of init containers, pod
// level resources override (cpu, memory, hugepages-*), overhead added.
ResourceList pod_requests(const Pod& pod, const PodRequestsOptions& options = {});

// component-helpers PodLimits: the same shape over limits; overhead only on limits above zero.
ResourceList pod_limits(const Pod& pod);

// NodeInfo's NonZeroRequested (cpu and memory): pod_requests with 100m / 200Mi per container for
// missing keys; with pod-level requests set, defaults only for what the result lacks.
ResourceList non_zero_requested(const Pod& pod, bool use_status_resources);

// scheduler-plugins capacityscheduling computePodResourceRequest: rounds per container.
ResourceList elastic_quota_requests(const Pod& pod);

// v1/helper/qos GetPodQOS ("Guaranteed", "Burstable", "BestEffort"); status.qosClass is not read.
std::string_view pod_qos_class(const Pod& pod);

// Extended resources, hugepages-*, *kubernetes.io/*, attachable-volumes-*.
bool is_scalar_resource(std::string_view name);
bool is_extended_resource(std::string_view name);

}  // namespace headroom
