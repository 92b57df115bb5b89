//go:build !k8s135

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.PreBindPlugin = &Headroom{}

// PreBindPreFlight awaits the reservation; one that holds leaves nothing to do in PreBind. It says Skip
// then, because Success would make kube-scheduler write the node into the pod's status first. Not for a pod
// that is to wait in Permit yet: its reservation may end meanwhile, and its status has the node in any case.
func (h *Headroom) PreBindPreFlight(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if h.confirm(ctx, state, pod, node).IsSuccess() && h.handle.GetWaitingPod(pod.UID) == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}
