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
	// activations of pods that it does not hold at that moment. Twice as long each time, up to wakePauseMax:
	// another plugin may turn it away before this one hears of its cycle.
	wakeOverdue  = 2 * time.Second
	wakePauseMax = 10 * time.Second
	// A question of the room's is about many pods, whose shapes may be new, and nobody waits for it.
	roomTimeout = 5 * time.Second
	// A nominated pod keeps others from room: after so long without a cycle it gets one even where no node
	// is feasible, so that PostFilter looks for other victims or gives the nomination up.
	nominatedOverdue = 5 * time.Second
	// While headroomd is away one of the pods that it turned away is released in so much time, the most
	// important first, once the grace period is over.
	releaseInterval = time.Second
)

// waitingRoom wakes pods that this plugin turned away. The scheduling queue's events cannot do that
// exactly: they come from the scheduler's cache, and the engine may hear of the same change a moment
// later; nor do they know of metrics and quotas. So the room asks the engine itself, after facts were
// applied: a pod is activated when more nodes are feasible for it than when it was turned away;
// otherwise only if it is nominated, now and then. While headroomd is away it lets pods go as the gate
// says.
//
// It also remembers how often in a row all names that a pod got were rejected by other plugins, and
// which pods the engine turned away. Safe for concurrent use.
type waitingRoom struct {
	client  *client.Client // apart from the scheduling cycles'
	handle  fwk.Handle
	pods    func(key string) *v1.Pod // as the API server has it now; nil: gone
	gate    *gate
	profile string
	changed chan struct{}
	outage  outage // of the one who runs

	mu      sync.Mutex
	waiting map[types.UID]*waitingPod
}

// outage is headroomd's absence as the room finds it.
type outage struct {
	asked time.Time // when headroomd was asked last
	err   error     // how it failed; nil: it answers
	since time.Time
	next  time.Time // when the next pod may be released
	told  bool      // the log has that it began
}

type why int

const (
	inCycle  why = iota // it is being scheduled, or waits for something that is not ours
	rejected            // until more nodes are feasible
	held                // until headroomd can be asked
	again               // at once, and then as after wakeInterval, twice, ...
)

type waitingPod struct {
	pod      *v1.Pod
	why      why
	feasible int // nodes, when it was last looked at
	tooFew   int // attempts in a row whose names were all rejected by other plugins
	// The engine's last word on it was no; and in this outage it goes all the same.
	turnedAway, released bool
	preFiltered          bool      // by a quota, say, whatever nodes are feasible
	wakes                int       // how often it was activated since its last cycle
	since                time.Time // of its last cycle, or activation
}

// pause is how long it may be in no cycle after it was activated: so long after the first time, twice as long after the
// second, ...
func (p *waitingPod) pause(first time.Duration) time.Duration {
	return min(first<<min(p.wakes-1, 16), wakePauseMax)
}

// overdue: it was activated, and has been in no cycle for longer than that.
func (p *waitingPod) overdue(first time.Duration) bool {
	return p.wakes > 0 && time.Since(p.since) > p.pause(first)
}

func (p *waitingPod) woken() { p.wakes, p.since = p.wakes+1, time.Now() }

func newWaitingRoom(c *client.Client, handle fwk.Handle, gate *gate) *waitingRoom {
	return &waitingRoom{
		client:  c,
		handle:  handle,
		gate:    gate,
		profile: handle.ProfileName(),
		changed: make(chan struct{}, 1),
		waiting: map[types.UID]*waitingPod{},
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
	waiting.why, waiting.wakes = inCycle, 0
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
	waiting.preFiltered = false
	return waiting
}

// reject: that is what the engine said, and the pod found no node.
func (r *waitingRoom) reject(pod *v1.Pod, decision *client.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.set(pod, rejected, feasibleOf(decision))
	waiting.turnedAway, waiting.preFiltered = true, len(decision.PreFilter) > 0
}

func feasibleOf(decision *client.Decision) int {
	if decision.Code != wire.CodeSuccess {
		return 0
	}
	return decision.Feasible
}

// pass: some nodes are feasible for the engine.
func (r *waitingRoom) pass(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting := r.waiting[uid]; waiting != nil {
		waiting.turnedAway = false
	}
}

// parked tells whether a pod that headroomd cannot be asked about is one that it turned away, and that
// is not released. What it says of a pod holds until the engine's next word.
func (r *waitingRoom) parked(pod *v1.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[pod.UID]
	if waiting == nil {
		waiting = r.set(pod, inCycle, 0)
		waiting.turnedAway = wasTurnedAway(pod)
	}
	return waiting.turnedAway && !waiting.released
}

// hold: headroomd cannot be asked.
func (r *waitingRoom) hold(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, held, 0)
}

// retry: the engine refused its reservation; try it again at once, with as many names.
func (r *waitingRoom) retry(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(pod, again, 0).turnedAway = true
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
			if waiting.wakes == 0 || waiting.overdue(wakeInterval) {
				activate[keyOf(waiting.pod)] = waiting.pod
				waiting.woken()
			}
			// Else wakeAnyway is soon enough: each round asks about all pods that wait.
			repeat = repeat || waiting.pause(wakeInterval) < wakeAnyway
		} else {
			ask = append(ask, waiting.pod)
		}
	}
	r.mu.Unlock()
	able, err := r.able(ctx, ask)
	r.found(logger, err)
	if err != nil {
		able = r.leave(logger, ask)
	}
	slices.SortFunc(able, moreImportant)
	if len(able) > wakeMost {
		able, repeat = able[:wakeMost], true
	}
	for _, a := range able {
		activate[keyOf(a.pod)] = a.pod
		r.wakeFor(a.pod.UID, a.feasible)
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

// able asks the engine which of the pods have more nodes now than when they were turned away. An error
// says why headroomd cannot be asked.
func (r *waitingRoom) able(ctx context.Context, pods []*v1.Pod) ([]ablePod, error) {
	if len(pods) == 0 {
		return nil, r.probe(ctx)
	}
	var able []ablePod
	decisions := make([]client.Decision, min(len(pods), wakeBatch))
	for batch := range slices.Chunk(pods, wakeBatch) {
		if err := r.ask(ctx, batch, decisions[:len(batch)]); err != nil {
			return nil, err
		}
		for i, pod := range batch {
			if feasible, yes := r.worthWaking(pod, &decisions[i]); yes {
				able = append(able, ablePod{pod, feasible})
			}
		}
	}
	return able, nil
}

// ask fills the decisions. One that headroomd cannot use keeps no other from its answer: it has none.
func (r *waitingRoom) ask(ctx context.Context, pods []*v1.Pod, decisions []client.Decision) error {
	r.outage.asked = time.Now()
	err := r.client.EvaluateMany(ctx, pods, client.EvaluateOptions{TopK: 1}, decisions)
	switch {
	case err == nil:
		return r.gate.usable(r.client.Greeting(), decisions[0].Nodes)
	case !isAboutThePod(err):
		return err
	case len(pods) == 1:
		decisions[0].Nodes = 0
		return nil
	}
	half := len(pods) / 2
	if err := r.ask(ctx, pods[:half], decisions[:half]); err != nil {
		return err
	}
	return r.ask(ctx, pods[half:], decisions[half:])
}

// probe: whether headroomd can be asked, where there is nothing to ask, now and then.
func (r *waitingRoom) probe(ctx context.Context) error {
	if time.Since(r.outage.asked) < wakeAnyway {
		return r.outage.err
	}
	r.outage.asked = time.Now()
	stats, err := r.client.Stats(ctx, client.StatsOptions{})
	if err != nil {
		return err
	}
	return r.gate.usable(r.client.Greeting(), stats.Nodes)
}

// found: headroomd can be asked, or, with an error, cannot. The log has a line when an outage begins, and
// one when it is over. That headroomd is being fed is none, where nothing came before.
func (r *waitingRoom) found(logger klog.Logger, err error) {
	before := r.outage.err
	r.outage.err = err
	r.show(err)
	if err == nil {
		if before != nil {
			r.back(logger)
		}
		return
	}
	if before == nil {
		r.outage.since = time.Now()
		r.outage.next = r.outage.since.Add(r.gate.args.GracePeriod.Duration)
		r.outage.told = false
	}
	switch {
	case r.outage.told:
	case !r.gate.isBeingFed(err):
		r.outage.told = true
		logger.Error(err, "headroomd is not available", "profile", r.profile, "onUnavailable", r.gate.args.OnUnavailable,
			"onUnavailableQuotas", r.gate.args.OnUnavailableQuotas, "gracePeriod", r.gate.args.GracePeriod.Duration)
	case before == nil:
		logger.Info("headroomd waits for facts", "profile", r.profile)
	}
}

func (r *waitingRoom) show(err error) {
	limits, quotas := r.gate.open(err)
	available.WithLabelValues(r.profile).Set(flag(err == nil))
	gateOpen.WithLabelValues(r.profile, "limits").Set(flag(limits))
	gateOpen.WithLabelValues(r.profile, "quotas").Set(flag(quotas))
}

// back: the outage is over. Who was released in it goes through the gate in the next one.
func (r *waitingRoom) back(logger klog.Logger) {
	logger.Info("headroomd is available", "profile", r.profile, "away", time.Since(r.outage.since))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, waiting := range r.waiting {
		waiting.released = false
	}
}

// leave says which of the pods go on without headroomd: those that it has not turned away, where the
// gate lets them, and of the others one each releaseInterval after the grace period.
func (r *waitingRoom) leave(logger klog.Logger, pods []*v1.Pod) []ablePod {
	var able, parked []ablePod
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pod := range pods {
		waiting := r.waiting[pod.UID]
		if waiting == nil || waiting.why == inCycle || r.gate.holds(pod) || r.gate.isBeingFed(r.outage.err) {
			continue
		}
		one := ablePod{pod, waiting.feasible}
		switch {
		case waiting.turnedAway && !waiting.released:
			parked = append(parked, one)
		case waiting.wakes == 0 || waiting.overdue(wakeOverdue):
			able = append(able, one)
		}
	}
	now := time.Now()
	if len(parked) == 0 || now.Before(r.outage.next) {
		return able
	}
	r.outage.next = now.Add(releaseInterval)
	first := slices.MinFunc(parked, moreImportant)
	r.waiting[first.pod.UID].released = true
	releasedTotal.Inc()
	away := now.Sub(r.outage.since).Round(time.Second)
	logger.Info("headroomd is not available: a pod that it turned away is released", "pod", klog.KObj(first.pod), "away", away)
	r.handle.EventRecorder().Eventf(first.pod, nil, v1.EventTypeWarning, "ReleasedWithoutHeadroom", "Scheduling",
		"headroomd turned the pod away and has not been available for %v: the other plugins schedule it", away)
	return append(able, first)
}

func (r *waitingRoom) worthWaking(pod *v1.Pod, decision *client.Decision) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[pod.UID]
	switch {
	case waiting == nil || waiting.why == inCycle:
		return 0, false
	case decision.Nodes == 0:
		return 0, false // headroomd cannot use it
	case waiting.why == held:
		return 0, !r.gate.awaitsQuotas(pod, r.client.Greeting())
	}
	feasible := feasibleOf(decision)
	waiting.feasible = min(waiting.feasible, feasible)
	switch {
	case feasible > waiting.feasible:
		return feasible, true
	case waiting.pod.Status.NominatedNodeName != "" && time.Since(waiting.since) > nominatedOverdue:
		return feasible, true
	case waiting.preFiltered && len(decision.PreFilter) == 0:
		// Its quota lets it take back from others what no node has left.
		return feasible, waiting.wakes == 0 || waiting.overdue(wakeOverdue)
	default:
		return feasible, feasible > 0 && waiting.overdue(wakeOverdue)
	}
}

// wakeFor: until it is seen in a cycle it need not be woken for the same nodes again.
func (r *waitingRoom) wakeFor(uid types.UID, feasible int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting := r.waiting[uid]; waiting != nil {
		waiting.feasible = feasible
		waiting.woken()
	}
}

func keyOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
