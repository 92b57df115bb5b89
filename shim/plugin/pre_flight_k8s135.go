//go:build k8s135

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.PreBindPlugin = &Headroom{}

// PreBindPreFlight is that of pre_flight.go; Kubernetes 1.35 has one result less.
func (h *Headroom) PreBindPreFlight(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if h.confirm(ctx, state, pod, node).IsSuccess() && h.handle.GetWaitingPod(pod.UID) == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}
