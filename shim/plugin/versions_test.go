//go:build !k8s135

package plugin

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
)

func (h *fakeHandle) EventRecorder() events.EventRecorderLogger { return h.recorder }

func (w *world) preFlight(try tryOf, pod *v1.Pod, node string) *fwk.Status {
	_, status := w.headroom.PreBindPreFlight(w.ctx, try.state, pod, node)
	return status
}
