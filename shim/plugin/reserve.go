package plugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

// renewalsPerLife is how often a reservation is renewed in the time that it lasts.
const renewalsPerLife = 3

// renewalLook is how often is looked how long headroomd's reservations last, where that is not known.
const renewalLook = time.Second

// reservations are the pods that count in the engine by our word alone. Safe for concurrent use.
type reservations struct {
	mu    sync.Mutex
	byPod map[types.UID]reservation
	// Those that should be undone, where headroomd could not be told.
	undo []reservation
}

type reservation struct {
	pod   *v1.Pod
	node  string
	until time.Time // when it ends, unless it is renewed; zero: it does not
	// It ended, and the engine gave the place to others since.
	lost error
}

func newReservations() *reservations { return &reservations{byPod: map[types.UID]reservation{}} }

// add: from now on for so long; 0: for ever.
func (r *reservations) add(pod *v1.Pod, node string, lasts time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPod[pod.UID] = reservation{pod: pod, node: node, until: endOf(time.Now(), lasts)}
}

func endOf(begin time.Time, lasts time.Duration) time.Time {
	if lasts == 0 {
		return time.Time{}
	}
	return begin.Add(lasts)
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

// of the pod, and whether it is on that node; without a pod there is none any more.
func (r *reservations) of(pod *v1.Pod, node string) (reservation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.byPod[pod.UID]
	return found, ok && found.node == node
}

// renewed: these last until then.
func (r *reservations) renewed(these []reservation, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range these {
		if now, ok := r.byPod[these[i].pod.UID]; ok && now.node == these[i].node {
			now.until = until
			r.byPod[now.pod.UID] = now
		}
	}
}

// lose: others have its place.
func (r *reservations) lose(pod *v1.Pod, node string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, ok := r.byPod[pod.UID]; ok && now.node == node {
		now.lost = err
		r.byPod[pod.UID] = now
	}
}

// undoLater: once, and not when the reservation has ended by itself.
func (r *reservations) undoLater(pod *v1.Pod, node string, lasts time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.undo = slices.DeleteFunc(r.undo, func(u reservation) bool {
		return u.pod.UID == pod.UID && u.node == node || !u.until.IsZero() && u.until.Before(now)
	})
	r.undo = append(r.undo, reservation{pod: pod, node: node, until: endOf(now, lasts)})
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
	h.reserved.add(pod, node, h.client.Greeting().ReservationTime)
	h.facts.denominate(pod)
	c.refused = nil
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
	if c.refused != nil {
		return c.refused
	}
	var err error
	if c.reservation != nil {
		err = h.timed("reserve", func() error { return h.client.Await(ctx, c.reservation) })
		c.reservation = nil
	}
	if err == nil {
		err = h.stillReserved(ctx, pod, node)
	}
	if err != nil {
		c.refused = h.notReserved(ctx, pod, node, err)
	}
	return c.refused
}

// stillReserved: the pod may have waited in Permit. A reservation that ended meanwhile is made again.
func (h *Headroom) stillReserved(ctx context.Context, pod *v1.Pod, node string) error {
	held, ok := h.reserved.of(pod, node)
	switch {
	case !ok:
		return nil // a fact shows the pod as bound, or it was reserved without headroomd
	case held.lost != nil:
		return held.lost
	case held.until.IsZero() || time.Now().Before(held.until):
		return nil
	}
	return h.reserveOnce(ctx, held)
}

// notReserved: nil where the pod goes its way all the same; then it is one of those that a headroomd
// which comes back is told of.
func (h *Headroom) notReserved(ctx context.Context, pod *v1.Pod, node string, err error) *fwk.Status {
	if isAboutThePod(err) {
		if isConflict(err) {
			conflictsTotal.WithLabelValues(conflictReserve).Inc()
		}
		h.reserved.remove(pod.UID)
		h.room.retry(pod)
		return fwk.NewStatus(fwk.Unschedulable, refusal(err))
	}
	if isOthers(err, h.client.Greeting()) {
		h.reserved.remove(pod.UID)
		h.room.hold(pod)
		return fwk.NewStatus(fwk.Unschedulable, refusal(err))
	}
	if !h.gate.holds(pod) {
		klog.FromContext(ctx).V(4).Info("headroomd is not available: the pod is bound without a reservation",
			"pod", klog.KObj(pod), "node", node, "why", err)
		return nil
	}
	h.reserved.remove(pod.UID)
	h.reserved.undoLater(pod, node, h.client.Greeting().ReservationTime) // it may have been heard
	h.room.hold(pod)
	return fwk.NewStatus(fwk.Unschedulable, h.gate.waits(pod, err))
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
	err := h.timed("unreserve", func() error { return h.client.Unreserve(ctx, pod, node) })
	// Where it may not, there is none of ours.
	if refused := (*client.ServerError)(nil); errors.As(err, &refused) && refused.Code == wire.ErrorCodeForbidden {
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Cannot undo the reservation yet", "pod", klog.KObj(pod), "node", node, "why", err)
		h.reserved.undoLater(pod, node, h.client.Greeting().ReservationTime)
	}
}

// reserveAgain tells headroomd of the pods that are being bound and that it does not hold any more:
// it was started anew, or their reservations ended. One that has lost its place to others gets no
// node: at once where it waits in Permit, else before it is bound. False: there are none.
func (h *Headroom) reserveAgain(ctx context.Context) bool {
	all := h.reserved.all()
	for i := range all {
		held := &all[i]
		if _, ok := h.reserved.of(held.pod, held.node); !ok {
			continue // meanwhile
		}
		err := h.reserveOnce(ctx, *held)
		if err == nil {
			continue
		}
		logger := klog.FromContext(ctx).WithValues("pod", klog.KObj(held.pod), "node", held.node)
		if !isAboutThePod(err) {
			logger.V(4).Info("Cannot repeat the reservation yet", "why", err)
		} else {
			logger.Error(err, "Cannot repeat the reservation")
			reservationsLost.Inc()
			h.reserved.lose(held.pod, held.node, err)
			if h.handle.RejectWaitingPod(held.pod.UID) {
				h.room.retry(held.pod)
			}
		}
	}
	return len(all) > 0
}

func (h *Headroom) reserveOnce(ctx context.Context, held reservation) error {
	begin := time.Now()
	err := h.timed("reserve", func() error {
		asked, err := h.client.Reserve(ctx, held.pod, held.node)
		if err != nil {
			return err
		}
		return h.client.Await(ctx, asked)
	})
	if err != nil {
		return err
	}
	if now, ok := h.reserved.of(held.pod, held.node); !ok {
		h.unreserve(ctx, held.pod, held.node) // it was undone in between
		if now.pod == nil {
			return nil
		}
		return h.reserveOnce(ctx, now) // on another node, from which this one has taken it
	}
	h.reserved.renewed([]reservation{held}, endOf(begin, h.client.Greeting().ReservationTime))
	return nil
}

// keepReservations renews them until ctx ends: a pod that waits in Permit, or is bound slowly, keeps its
// place.
func (h *Headroom) keepReservations(ctx context.Context) {
	for {
		wait := renewalLook
		if lasts := h.client.Greeting().ReservationTime; lasts > 0 {
			wait = lasts / renewalsPerLife
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		h.renew(ctx)
	}
}

func (h *Headroom) renew(ctx context.Context) {
	all := h.reserved.all()
	lasts := h.client.Greeting().ReservationTime
	if len(all) == 0 || lasts == 0 {
		return
	}
	begin := time.Now()
	renewed := 0
	err := h.timed("renew_reservations", func() (err error) {
		renewed, err = h.client.RenewReservations(ctx)
		return err
	})
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Cannot renew the reservations", "reservations", len(all), "why", err)
		return
	}
	all = slices.DeleteFunc(all, func(r reservation) bool {
		_, ok := h.reserved.of(r.pod, r.node)
		return !ok
	})
	late := slices.ContainsFunc(all, func(r reservation) bool { return begin.After(r.until) })
	if renewed >= len(all) && !late {
		h.reserved.renewed(all, begin.Add(lasts))
	} else if stats, err := h.client.Stats(ctx, client.StatsOptions{}); err == nil && stats.Ready {
		h.reserveAgain(ctx) // one that is not fed yet is told by the first cycle
	}
}
