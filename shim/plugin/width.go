package plugin

import v1 "k8s.io/api/core/v1"

// How many names does a pod get? The engine ranks by the plugins of its profile; the other plugins
// of kube-scheduler filter and score the names that they are given. Fewer names cost less, and one is
// the engine's choice alone; too few may all be rejected by a filter that the engine does not know.
//
//   - A pod whose constraints the engine knows gets TopK names.
//   - A pod with constraints that it does not know, but that many nodes can satisfy, gets
//     widerTimes as many.
//   - A pod that only few nodes can take for reasons that the engine does not know gets no limit: a
//     list of the best would nearly always miss them, or have no name in common with another
//     plugin's list.
//   - When all names were rejected by others, the next attempt has widerTimes as many, and beyond
//     TopKMax all of them.
//
// Of more than 100 names kube-scheduler looks at a sample (percentageOfNodesToScore), which may not have
// the best one in it: so widerTimes keeps the usual 16 below that. What K costs: shim/bench cycle
// -variants headroom_1,headroom_16,headroom_96.
const (
	noLimit    = 0
	widerTimes = 6
)

// width of the attempt after `rejected` attempts whose names were all rejected by other plugins.
func width(pod *v1.Pod, topK, rejected int) int {
	known := constraintsOf(pod)
	if known == fewNodes {
		return noLimit
	}
	names := topK
	if known == someNodes {
		names *= widerTimes
	}
	for ; rejected > 0 && names <= TopKMax; rejected-- {
		names *= widerTimes
	}
	if names > TopKMax {
		return noLimit
	}
	return names
}

type constraints int

const (
	allKnown constraints = iota
	someNodes
	fewNodes
)

// What of the pod the engine does not know. Its own filters are those of headroomd's profile;
// scores that it does not know need no more names than others.
func constraintsOf(pod *v1.Pod) constraints {
	if len(pod.Spec.ResourceClaims) > 0 {
		return fewNodes
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].PersistentVolumeClaim != nil || pod.Spec.Volumes[i].Ephemeral != nil {
			return fewNodes
		}
	}
	found := allKnown
	if affinity := pod.Spec.Affinity; affinity != nil {
		if affinity.PodAffinity != nil &&
			len(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			return fewNodes
		}
		if affinity.PodAntiAffinity != nil &&
			len(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			found = someNodes
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		if pod.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable == v1.DoNotSchedule {
			found = someNodes
		}
	}
	return found
}
