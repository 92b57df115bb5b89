// Requests and limits of one pod, exactly as Kubernetes and its plugins add them up.
//
// Quantities are added exactly; the caller rounds once. Source of every formula:
// k8s.io/component-helpers/resource (v0.35 to v0.37) and the named plugin. Pure functions; they
// allocate their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "objects/kubernetes_version.h"
#include "objects/objects.h"

namespace headroom {

// What a container that states nothing counts as, where the rules do not take that for nothing:
// k8s.io/kubernetes pkg/scheduler/util DefaultMilliCPURequest and DefaultMemoryRequest.
inline constexpr std::int64_t kDefaultMilliCpu = 100;
inline constexpr std::int64_t kDefaultMemoryBytes = 200 << 20;

struct PodRequestsOptions {
  // What a container that has no key for cpu or memory counts as (scoring); nullopt: nothing.
  std::optional<Quantity> missing_cpu, missing_memory;
  // Count in-place resizes as this version's NodeInfo: to 1.36 the most of what a container asks
  // for, has been allocated and takes, summed up; from 1.37 on the most of the three sums; from
  // 1.36 on the most of the three of the pod level. nullopt: what the spec asks for.
  std::optional<KubernetesVersion> resized_as;
  bool skip_pod_level_resources = false;
};

// component-helpers PodRequests: containers and sidecars summed, the peak of init containers, pod
// level resources override (cpu, memory, hugepages-*), overhead added.
ResourceList pod_requests(const Pod& pod, const PodRequestsOptions& options = {});

// component-helpers PodLimits: the same shape over limits; overhead only on limits above zero.
ResourceList pod_limits(const Pod& pod);

// NodeInfo's NonZeroRequested (cpu and memory): pod_requests with the defaults above per container
// for missing keys; with pod-level requests set, defaults only for what the result lacks.
ResourceList non_zero_requested(const Pod& pod, std::optional<KubernetesVersion> resized_as);

// scheduler-plugins capacityscheduling computePodResourceRequest: rounds per container.
ResourceList elastic_quota_requests(const Pod& pod);

// v1/helper/qos GetPodQOS ("Guaranteed", "Burstable", "BestEffort"); status.qosClass is not read.
std::string_view pod_qos_class(const Pod& pod);

// What kube-scheduler counts of a node by itself: cpu, memory, ephemeral-storage, and scalars.
bool is_counted_resource(std::string_view name);
// Extended resources, hugepages-*, *kubernetes.io/*, attachable-volumes-*.
bool is_scalar_resource(std::string_view name);
bool is_extended_resource(std::string_view name);
// What a pod may ask for as a whole (spec.resources): cpu, memory, hugepages-*.
bool is_pod_level_resource(std::string_view name);
// deviceclass.resource.kubernetes.io/CLASS: a device of the class, without a claim that says so.
// From 1.36 on DynamicResources allocates it, and nodes have none of it to give.
bool is_claimed_device(std::string_view name);
bool claims_devices(const Pod& pod);  // a container requests such

}  // namespace headroom
