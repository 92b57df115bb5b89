// The annotations that Headroom reads. The object reader keeps these and drops all others, so that
// a cluster's kubectl.kubernetes.io/last-applied-configuration costs no memory.
#pragma once

#include <array>
#include <string_view>

namespace headroom {

// On nodes: percent of allocatable that limits may reach, by resource (LimitAware).
inline constexpr std::string_view kLimitToAllocatableAnnotation =
    "node.koordinator.sh/limit-to-allocatable";
// On nodes: allocatable before amplification (LoadAwareScheduling).
inline constexpr std::string_view kRawAllocatableAnnotation = "node.koordinator.sh/raw-allocatable";
// On nodes: usage thresholds of this node (LoadAwareScheduling).
inline constexpr std::string_view kUsageThresholdsAnnotation =
    "scheduling.koordinator.sh/usage-thresholds";
// On pods: how long to estimate, and by which factors (LoadAwareScheduling).
inline constexpr std::string_view kEstimatedSecondsAfterInitializedAnnotation =
    "scheduling.koordinator.sh/load-estimated-seconds-after-initialized";
inline constexpr std::string_view kEstimatedSecondsAfterPodScheduledAnnotation =
    "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled";
inline constexpr std::string_view kEstimatedScalingFactorsAnnotation =
    "scheduling.koordinator.sh/load-estimated-scaling-factors";
// On pods: "true" marks a pod that stands for a reservation; it is never assigned.
inline constexpr std::string_view kReservePodAnnotation = "scheduling.koordinator.sh/reserve-pod";

// On nodes: the id of the reservation that they were created for (CapacityQuota).
inline constexpr std::string_view kReservationAnnotation = "headroom/reservation";

inline constexpr std::array kAnnotationsRead = {
    kLimitToAllocatableAnnotation,
    kRawAllocatableAnnotation,
    kUsageThresholdsAnnotation,
    kEstimatedSecondsAfterInitializedAnnotation,
    kEstimatedSecondsAfterPodScheduledAnnotation,
    kEstimatedScalingFactorsAnnotation,
    kReservePodAnnotation,
    kReservationAnnotation,
};

// On claims: bound for good; the node that its volume is made for; and, on volumes too, the class
// of before there was a field.
inline constexpr std::string_view kBindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kStorageClassAnnotation =
    "volume.beta.kubernetes.io/storage-class";
inline constexpr std::array kStorageAnnotationsRead = {
    kBindCompletedAnnotation, kSelectedNodeAnnotation, kStorageClassAnnotation};

}  // namespace headroom
