package plugin

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/wire"
)

// How many names does a pod get? The engine ranks by the plugins of its profile; the other plugins
// of kube-scheduler filter and score the names that they are given. Fewer names cost less, and one is
// the engine's choice alone; too few may all be rejected by a filter that the engine does not know, or
// leave a score that it does not know nothing to choose from. headroomd says when it is connected what
// its profile decides (client.Profile.Considered); what the pod asks for besides decides:
//
//   - Nothing: the best alone. Plugins of the user's own are not known to headroomd: who has some sets
//     TopK to as many names as they need, and that is what every pod gets at least.
//   - Something that only prefers nodes: usualNames.
//   - A filter that many nodes can satisfy: widerTimes as many.
//   - One that only few nodes can: no limit. A list of the best would nearly always miss them, or have
//     no name in common with another plugin's list.
//   - When all names were rejected by others, the next attempt has usualNames or widerTimes as many, and
//     beyond TopKMax all of them.
//
// Of more than 100 names kube-scheduler looks at a sample (percentageOfNodesToScore), which may not have
// the best one in it: so widerTimes keeps usualNames below that. What K costs: shim/bench cycle
// -variants headroom_1,headroom_16,headroom_96.
const (
	noLimit    = 0
	usualNames = 16
	widerTimes = 6
)

// width of the attempt after `rejected` attempts whose names were all rejected by other plugins; topK 0:
// it was not set.
func width(pod *v1.Pod, topK, rejected int, considered []wire.NotConsidered) int {
	names, found := topK, undecided(pod, considered)
	if found == fewNodes {
		return noLimit
	}
	if topK == 0 {
		names = usualNames
		if found == none {
			if rejected == 0 {
				return 1
			}
			rejected--
		}
	}
	if found == someNodes {
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

// names is the width of this cycle. A pod of a group may be offered some of the nodes, among which the best of all may
// not be.
func (h *Headroom) names(state fwk.CycleState, pod *v1.Pod, rejected int, considered []wire.NotConsidered) int {
	if OfPodGroup(state) {
		return noLimit
	}
	return width(pod, h.args.TopK, rejected, considered)
}

// What of the pod headroomd does not decide comes to, the widest last.
type constraints int

const (
	none constraints = iota
	softly
	someNodes
	fewNodes
)

func undecided(pod *v1.Pod, considered []wire.NotConsidered) constraints {
	found := none
	asks := func(asked bool, what wire.NotConsidered, as constraints) {
		if asked && as > found && !slices.Contains(considered, what) {
			found = as
		}
	}
	var required, preferred, apart, ratherApart, prefersNodes bool
	if affinity := pod.Spec.Affinity; affinity != nil {
		if near := affinity.PodAffinity; near != nil {
			required = len(near.RequiredDuringSchedulingIgnoredDuringExecution) > 0
			preferred = len(near.PreferredDuringSchedulingIgnoredDuringExecution) > 0
		}
		if away := affinity.PodAntiAffinity; away != nil {
			apart = len(away.RequiredDuringSchedulingIgnoredDuringExecution) > 0
			ratherApart = len(away.PreferredDuringSchedulingIgnoredDuringExecution) > 0
		}
		prefersNodes = affinity.NodeAffinity != nil &&
			len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
	}
	spread := pod.Spec.TopologySpreadConstraints
	hard := slices.ContainsFunc(spread, func(its v1.TopologySpreadConstraint) bool {
		return its.WhenUnsatisfiable == v1.DoNotSchedule
	})
	claims := slices.ContainsFunc(pod.Spec.Volumes, func(its v1.Volume) bool {
		return its.PersistentVolumeClaim != nil || its.Ephemeral != nil
	})
	asks(claimsDevices(pod), wire.NotConsideredResourceClaims, fewNodes)
	asks(claims, wire.NotConsideredPersistentVolumeClaims, fewNodes)
	asks(required, wire.NotConsideredRequiredPodAffinity, fewNodes)
	asks(apart, wire.NotConsideredRequiredPodAntiAffinity, someNodes)
	asks(hard, wire.NotConsideredHardTopologySpread, someNodes)
	// Pods without constraints of their own are spread by default, as their services and owners say.
	asks(len(spread) == 0 || !hard || len(spread) > 1, wire.NotConsideredSoftTopologySpread, softly)
	asks(preferred, wire.NotConsideredPreferredPodAffinity, softly)
	asks(ratherApart, wire.NotConsideredPreferredPodAntiAffinity, softly)
	asks(prefersNodes, wire.NotConsideredPreferredNodeAffinity, softly)
	// Of nodes.
	asks(true, wire.NotConsideredPreferNoScheduleTaints, softly)
	return found
}

// considered by the profile that headroomd decides by here.
func (h *Headroom) considered() []wire.NotConsidered {
	greeting := h.client.Greeting()
	if profile := greeting.Profile(h.args.Profile); profile != nil {
		return profile.Considered
	}
	return nil
}

// claimsDevices: DynamicResources decides about the pod, by its claims or, from 1.36 on, by a resource that is a
// device of a class.
func claimsDevices(pod *v1.Pod) bool {
	const devicePrefix = "deviceclass.resource.kubernetes.io/"
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if strings.HasPrefix(string(name), devicePrefix) {
					return true
				}
			}
		}
	}
	return false
}
