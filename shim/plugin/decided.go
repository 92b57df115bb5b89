package plugin

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/wire"
)

// What other plugins of the same kube-scheduler may ask about the cycle, so as not to compute what headroomd has
// computed (shim/deferred). Safe to call from Filter, on the cycle's own state and on clones of it.

// Decided tells whether headroomd answered about the pod of this cycle, by a profile that looks at all of that.
// Headroom's PreFilter comes first, or nothing is decided yet.
func Decided(state fwk.CycleState, what ...wire.NotConsidered) bool {
	c := cycleOf(state)
	return c != nil && !slices.ContainsFunc(what, func(one wire.NotConsidered) bool {
		return !slices.Contains(c.considered, one)
	})
}

// OfPodGroup tells whether it is the cycle of a pod's group. 1.35 knows no such cycles.
func OfPodGroup(state fwk.CycleState) bool {
	its, known := state.(interface{ IsPodGroupSchedulingCycle() bool })
	return known && its.IsPodGroupSchedulingCycle()
}

// Passed tells whether headroomd's answer lets the pod on the node, with the pods that were there when it was asked.
func Passed(state fwk.CycleState, node string) bool {
	c := cycleOf(state)
	if c == nil || c.changed() {
		return false
	}
	_, passed := c.total(node)
	return passed
}
