package plugin

import (
	"cmp"
	"context"
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

const (
	// At most so often are waiting pods looked at while facts change,
	wakeInterval = 50 * time.Millisecond
	// and at least so often for what time alone changes: metrics that expire, headroomd that is back.
	wakeAnyway = time.Second
	// Pods in one question.
	wakeBatch = 256
	// Of the pods that could be scheduled now so many are activated at a time, the most important
	// first: one node that came may have room for one of thousands that wait.
	wakeMost = 64
	// A pod that was activated and is in no cycle after so long is activated again: the queue drops
	// activations of pods that it does not hold at that moment.
	wakeOverdue = 2 * time.Second
	// A nominated pod keeps others from room: after so long without a cycle it gets one even where no node
	// is feasible, so that PostFilter looks for other victims or gives the nomination up.
	nominatedOverdue = 5 * time.Second
)

// waitingRoom wakes pods that this plugin turned away. The scheduling queue's events cannot do that
// exactly: they come from the scheduler's cache, and the engine may hear of the same change a moment
// later; nor do they know of metrics and quotas. So the room asks the engine itself, after facts were
// applied: a pod is activated when more nodes are feasible for it than when it was turned away;
// otherwise only if it is nominated, now and then.
//
// It also remembers how often in a row all names that a pod got were rejected by other plugins.
// Safe for concurrent use.
type waitingRoom struct {
	client        *client.Client // apart from the scheduling cycles'
	handle        fwk.PodActivator
	pods          func(key string) *v1.Pod // as the API server has it now; nil: gone
	onUnavailable OnUnavailable
	changed       chan struct{}

	mu      sync.Mutex
	waiting map[types.UID]*waitingPod
}

type why int

const (
	inCycle  why = iota // it is being scheduled, or waits for something that is not ours
	rejected            // until more nodes are feasible
	held                // until headroomd can be asked
	again               // at once
)

type waitingPod struct {
	pod      *v1.Pod
	why      why
	feasible int       // nodes, when it was last looked at
	tooFew   int       // attempts in a row whose names were all rejected by other plugins
	woken    bool      // it was activated, and has been in no cycle since
	since    time.Time // of its last cycle, or activation
}

func newWaitingRoom(c *client.Client, handle fwk.PodActivator, onUnavailable OnUnavailable) *waitingRoom {
	return &waitingRoom{
		client:        c,
		handle:        handle,
		onUnavailable: onUnavailable,
		changed:       make(chan struct{}, 1),
		waiting:       map[types.UID]*waitingPod{},
	}
}

// enter: the pod's scheduling cycle begins. Returns tooFew.
func (r *waitingRoom) enter(uid types.UID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[uid]
	if waiting == nil {
		return 0
	}
	waiting.why, waiting.woken = inCycle, false
	return waiting.tooFew
}

func (r *waitingRoom) set(pod *v1.Pod, why why, feasible int) *waitingPod {
	waiting := r.waiting[pod.UID]
	if waiting == nil {
		waiting = &waitingPod{}
		r.waiting[pod.UID] = waiting
		waitingPods.Inc()
	}
	waiting.pod, waiting.why, waiting.feasible, waiting.since = pod, why, feasible, time.Now()
	return waiting
}

// reject: so many nodes are feasible for the engine, and the pod found none.
func (r *waitingRoom) reject(pod *v1.Pod, feasible int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, rejected, feasible)
}

// hold: headroomd cannot be asked.
func (r *waitingRoom) hold(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, held, 0)
}

// retry: try it again at once, with as many names.
func (r *waitingRoom) retry(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, again, 0)
	r.notice()
}

// widen: other plugins rejected all names; try it again at once with more.
func (r *waitingRoom) widen(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, again, 0).tooFew++
	r.notice()
}

// forget: the pod is bound or gone.
func (r *waitingRoom) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(uid)
}

func (r *waitingRoom) remove(uid types.UID) {
	if _, known := r.waiting[uid]; known {
		delete(r.waiting, uid)
		waitingPods.Dec()
	}
}

// mixed tells whether the pod waits although some nodes are feasible for the engine: other plugins
// rejected those.
func (r *waitingRoom) mixed(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[uid]
	return waiting == nil || waiting.why != rejected || waiting.feasible > 0
}

// notice: facts were applied, or a pod is to be tried again.
func (r *waitingRoom) notice() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// run wakes pods until ctx ends.
func (r *waitingRoom) run(ctx context.Context) {
	anyway := time.NewTicker(wakeAnyway)
	defer anyway.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-anyway.C:
		case <-r.changed:
		}
		if r.wake(ctx) {
			r.notice()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wakeInterval):
		}
	}
}

// wake activates who can be scheduled now. True: some are to be tried again and have not been seen in
// a cycle yet. (A pod whose cycle has not ended cannot be activated, so that is repeated.)
func (r *waitingRoom) wake(ctx context.Context) bool {
	logger := klog.FromContext(ctx)
	var ask []*v1.Pod
	activate := map[string]*v1.Pod{}
	repeat := false
	r.mu.Lock()
	for uid, waiting := range r.waiting {
		if waiting.why == inCycle {
			continue
		}
		now := r.pods(keyOf(waiting.pod))
		if now == nil || now.UID != uid || now.Spec.NodeName != "" {
			r.remove(uid)
			continue
		}
		waiting.pod = now
		if waiting.why == again {
			activate[keyOf(waiting.pod)] = waiting.pod
			repeat = true
		} else {
			ask = append(ask, waiting.pod)
		}
	}
	r.mu.Unlock()
	able := r.able(ctx, ask)
	slices.SortFunc(able, moreImportant)
	if len(able) > wakeMost {
		able, repeat = able[:wakeMost], true
	}
	for _, a := range able {
		activate[keyOf(a.pod)] = a.pod
		r.woken(a.pod.UID, a.feasible)
	}
	if len(activate) > 0 {
		logger.V(4).Info("Activating pods", "pods", len(activate))
		podsWoken.Add(float64(len(activate)))
		r.handle.Activate(logger, activate)
	}
	return repeat
}

type ablePod struct {
	pod      *v1.Pod
	feasible int
}

// kube-scheduler's PrioritySort, by the time of creation.
func moreImportant(a, b ablePod) int {
	return cmp.Or(
		cmp.Compare(priorityOf(b.pod), priorityOf(a.pod)),
		a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time))
}

// able asks the engine which of the pods have more nodes now than when they were turned away.
func (r *waitingRoom) able(ctx context.Context, pods []*v1.Pod) []ablePod {
	var able []ablePod
	decisions := make([]client.Decision, min(len(pods), wakeBatch))
	for len(pods) > 0 {
		batch := pods[:min(len(pods), wakeBatch)]
		pods = pods[len(batch):]
		err := r.client.EvaluateMany(ctx, batch, client.EvaluateOptions{TopK: 1}, decisions[:len(batch)])
		for i, pod := range batch {
			if feasible, yes := r.worthWaking(pod, &decisions[i], err); yes {
				able = append(able, ablePod{pod, feasible})
			}
		}
	}
	return able
}

func (r *waitingRoom) worthWaking(pod *v1.Pod, decision *client.Decision, err error) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[pod.UID]
	switch {
	case waiting == nil || waiting.why == inCycle:
		return 0, false
	case err != nil:
		// Without headroomd the other plugins may find room.
		return 0, r.onUnavailable == Skip
	case decision.Nodes == 0:
		return 0, false // not fed yet
	case waiting.why == held:
		return 0, true
	}
	feasible := decision.Feasible
	if decision.Code != wire.CodeSuccess {
		feasible = 0
	}
	waiting.feasible = min(waiting.feasible, feasible)
	waited := time.Since(waiting.since)
	switch {
	case feasible > waiting.feasible:
		return feasible, true
	case waiting.pod.Status.NominatedNodeName != "" && waited > nominatedOverdue:
		return feasible, true
	default:
		return feasible, feasible > 0 && waiting.woken && waited > wakeOverdue
	}
}

// woken: until it is seen in a cycle it need not be woken for the same nodes again.
func (r *waitingRoom) woken(uid types.UID, feasible int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting := r.waiting[uid]; waiting != nil {
		waiting.feasible, waiting.woken, waiting.since = feasible, true, time.Now()
	}
}

func keyOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
