// Package plugin puts Headroom into kube-scheduler: one question to headroomd per scheduling cycle,
// whose answer serves Filter and Score; reservations; preemption; and the facts, fed from the
// scheduler's own informers.
//
// It imports k8s.io/kube-scheduler and client-go only, so that it can be compiled into any
// kube-scheduler:
//
//	app.NewSchedulerCommand(app.WithPlugin(plugin.Name, plugin.New))
//
// The life of one cycle: PreFilter asks for the best nodes (cycle.go) and hands their names to the
// framework; Filter and Score answer from that reply; Reserve makes the pod count in the engine. A
// pod that finds no node goes to PostFilter (post_filter.go), and then into the waiting room
// (waiting.go), which asks the engine again when facts changed. While headroomd is away pods are left
// to the other plugins, or wait, as the gate says (gate.go).
//
// Beside the cycles the scheduler that leads writes what headroomd counts into the status of quotas
// (quota_controller.go).
package plugin

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

// Name of the plugin in KubeSchedulerConfiguration.
const Name = "Headroom"

// Headroom is the plugin of one scheduler profile.
type Headroom struct {
	args   HeadroomArgs
	handle fwk.Handle
	client *client.Client // of scheduling cycles
	facts  *facts
	gate   *gate
	room   *waitingRoom
	// Reservations that no fact shows as bound yet.
	reserved *reservations
	// Of the headroomd that holds them.
	incarnation uint64
}

var (
	_ fwk.PreFilterPlugin     = &Headroom{}
	_ fwk.PreFilterExtensions = &Headroom{}
	_ fwk.FilterPlugin        = &Headroom{}
	_ fwk.PostFilterPlugin    = &Headroom{}
	_ fwk.PreScorePlugin      = &Headroom{}
	_ fwk.ScorePlugin         = &Headroom{}
	_ fwk.ReservePlugin       = &Headroom{}
	_ fwk.EnqueueExtensions   = &Headroom{}
	_ fwk.SignPlugin          = &Headroom{}
)

// New is the plugin's factory. Nothing is sent before the informers have synced; ctx ends the feeding.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, address, err := readArgs(object)
	if err != nil {
		return nil, err
	}
	registerMetrics()
	options := client.Options{
		Name:          "kube-scheduler/" + handle.ProfileName(),
		SchedulerName: cmp.Or(args.Profile, handle.ProfileName()),
		Timeout:       args.Timeout.Duration,
	}
	h := &Headroom{
		args:     args,
		handle:   handle,
		client:   client.New(address, options),
		reserved: newReservations(),
	}
	h.gate = &gate{args: args}
	options.Timeout = roomTimeout
	h.room = newWaitingRoom(client.New(address, options), handle, h.gate)
	h.facts, err = factsFor(ctx, handle, address, h)
	if err != nil {
		return nil, err
	}
	go h.room.run(ctx)
	go h.keepReservations(ctx)
	klog.FromContext(ctx).Info("Headroom scores this profile's pods", "profile", handle.ProfileName(),
		"address", args.Address, "topK", args.TopK, "onUnavailable", args.OnUnavailable,
		"onUnavailableQuotas", args.OnUnavailableQuotas, "gracePeriod", args.GracePeriod.Duration)
	return h, nil
}

func (h *Headroom) Name() string { return Name }

// evaluate asks for the pod's best nodes. An error says why headroomd cannot be asked.
func (h *Headroom) evaluate(ctx context.Context, pod *v1.Pod, topK int, decision *client.Decision) error {
	for _, undo := range h.reserved.takeUndo() {
		h.unreserve(ctx, undo.pod, undo.node)
	}
	options := client.EvaluateOptions{TopK: topK}
	if err := h.timed("evaluate", func() error { return h.client.Evaluate(ctx, pod, options, decision) }); err != nil {
		return err
	}
	if err := h.gate.usable(h.client.Greeting(), decision.Nodes); err != nil {
		return err
	}
	incarnation := h.client.Incarnation()
	if incarnation == h.incarnation {
		return nil
	}
	if greeting := h.client.Greeting(); !greeting.May(wire.RoleDecide) {
		klog.FromContext(ctx).Error(nil, "headroomd's configuration does not let this scheduler reserve: it lacks the role Decide",
			"owner", greeting.Owner, "roles", greeting.Roles)
	}
	// A headroomd that was started anew knows no reservations.
	repeated := h.incarnation != 0
	h.incarnation = incarnation
	if !repeated || !h.reserveAgain(ctx) {
		return nil
	}
	return h.client.Evaluate(ctx, pod, options, decision)
}

// serves tells whether the profile that headroomd decides by here has the plugin.
func (h *Headroom) serves(plugin string) bool {
	greeting := h.client.Greeting()
	return greeting.Profile(h.args.Profile).Has(plugin)
}

// unavailable is PreFilter's answer for a pod that headroomd cannot be asked about.
func (h *Headroom) unavailable(ctx context.Context, pod *v1.Pod, why error) *fwk.Status {
	logger := klog.FromContext(ctx)
	parked := h.room.parked(pod)
	if isAboutThePod(why) {
		cyclesTotal.WithLabelValues("refused").Inc()
		// Nobody passes a gate that is closed by being what headroomd cannot use.
		if parked || h.gate.holds(pod) {
			logger.Error(why, "headroomd cannot decide on the pod, which waits", "pod", klog.KObj(pod))
			h.room.hold(pod)
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("headroomd cannot decide on the pod: %v", why))
		}
		logger.Error(why, "headroomd cannot decide on the pod; the other plugins do", "pod", klog.KObj(pod))
		return fwk.NewStatus(fwk.Skip)
	}
	if !parked && !h.gate.holds(pod) && !h.gate.isBeingFed(why) {
		logger.V(4).Info("headroomd is not available: the other plugins schedule the pod", "pod", klog.KObj(pod), "why", why)
		cyclesTotal.WithLabelValues("skipped").Inc()
		return fwk.NewStatus(fwk.Skip)
	}
	logger.V(4).Info("headroomd is not available: the pod waits", "pod", klog.KObj(pod), "turnedAway", parked, "why", why)
	cyclesTotal.WithLabelValues("held").Inc()
	h.room.hold(pod)
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, h.gate.waits(pod, why))
}

// SignPod keeps this profile's pods out of opportunistic batching: a batch hands out the nodes of an
// earlier pod's list, whose engine scores have moved on by then. It is signed off pod by pod, so that
// batching stays on for the pods of other profiles.
func (h *Headroom) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable, "Headroom decides on every pod anew")
}
