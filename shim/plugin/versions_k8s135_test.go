//go:build k8s135

package plugin

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
)

// Kubernetes 1.35 has the older interface here.
func (h *fakeHandle) EventRecorder() events.EventRecorder { return h.recorder }

func (w *world) preFlight(try tryOf, pod *v1.Pod, node string) *fwk.Status {
	return w.headroom.PreBindPreFlight(w.ctx, try.state, pod, node)
}
