package plugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
)

// reservations are the pods that count in the engine by our word alone. Safe for concurrent use.
type reservations struct {
	mu    sync.Mutex
	byPod map[types.UID]reservation
	// Those that should be undone, where headroomd could not be told.
	undo []reservation
}

type reservation struct {
	pod  *v1.Pod
	node string
}

func newReservations() *reservations { return &reservations{byPod: map[types.UID]reservation{}} }

func (r *reservations) add(pod *v1.Pod, node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPod[pod.UID] = reservation{pod, node}
}

// remove: it was undone, or a fact shows the pod as bound or gone.
func (r *reservations) remove(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byPod, uid)
}

func (r *reservations) all() []reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.byPod))
}

func (r *reservations) undoLater(pod *v1.Pod, node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undo = append(r.undo, reservation{pod, node})
}

// takeUndo returns what is to be undone and not reserved anew; nil for most cycles.
func (r *reservations) takeUndo() []reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.undo) == 0 {
		return nil
	}
	undo := slices.DeleteFunc(r.undo, func(u reservation) bool { return r.byPod[u.pod.UID].node == u.node })
	r.undo = nil
	return undo
}

// Reserve makes the pod count on the node. The engine looks once more, at its current state, because
// other schedulers may have asked in between; its answer is awaited where the pod is bound, beside the
// next pod's cycle, which the engine answers after it.
func (h *Headroom) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	h.reserved.add(pod, node)
	h.facts.denominate(pod)
	var err error
	if c.reservation, err = h.client.Reserve(ctx, pod, node); err != nil {
		return h.notReserved(ctx, pod, node, err)
	}
	return nil
}

// confirm awaits the engine's answer to Reserve.
func (h *Headroom) confirm(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	if c.reservation == nil {
		return c.refused
	}
	err := h.timed("Reserve", func() error { return h.client.Await(ctx, c.reservation) })
	c.reservation, c.refused = nil, nil
	if err != nil {
		c.refused = h.notReserved(ctx, pod, node, err)
	}
	return c.refused
}

// notReserved: nil where the pod goes its way all the same; then it is one of those that a headroomd
// which comes back is told of.
func (h *Headroom) notReserved(ctx context.Context, pod *v1.Pod, node string, err error) *fwk.Status {
	var refused *client.ServerError
	if errors.As(err, &refused) {
		h.reserved.remove(pod.UID)
		h.room.retry(pod)
		return fwk.NewStatus(fwk.Unschedulable, refused.Message)
	}
	if h.args.OnUnavailable == Skip {
		klog.FromContext(ctx).V(2).Info("headroomd is not available: the pod is bound without a reservation",
			"pod", klog.KObj(pod), "node", node, "why", err)
		return nil
	}
	h.reserved.remove(pod.UID)
	h.reserved.undoLater(pod, node) // it may have been heard
	h.room.hold(pod)
	return fwk.NewStatus(fwk.Unschedulable, err.Error())
}

// PreBind refuses the node where the engine did.
func (h *Headroom) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	return h.confirm(ctx, state, pod, node)
}

// Unreserve undoes it; where headroomd cannot be told now, before the next pod is asked for.
func (h *Headroom) Unreserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	if cycleOf(state) == nil {
		return
	}
	h.reserved.remove(pod.UID)
	// The cycle's context may have ended, which may be why we are here.
	h.unreserve(context.WithoutCancel(ctx), pod, node)
}

func (h *Headroom) unreserve(ctx context.Context, pod *v1.Pod, node string) {
	err := h.timed("Unreserve", func() error { return h.client.Unreserve(ctx, pod, node) })
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot undo the reservation yet", "pod", klog.KObj(pod), "node", node, "why", err)
		h.reserved.undoLater(pod, node)
	}
}

// reserveAgain tells a new headroomd of the pods that are being bound. False: there are none.
func (h *Headroom) reserveAgain(ctx context.Context) bool {
	all := h.reserved.all()
	for _, reserved := range all {
		asked, err := h.client.Reserve(ctx, reserved.pod, reserved.node)
		if err == nil {
			err = h.client.Await(ctx, asked)
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "Cannot repeat the reservation", "pod", klog.KObj(reserved.pod), "node", reserved.node)
		}
	}
	return len(all) > 0
}
