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

}  // namespace headroom
