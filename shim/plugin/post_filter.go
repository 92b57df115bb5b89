package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

// capacityScheduling is the plugin of headroomd's profile that knows quotas and preemption.
const capacityScheduling = "CapacityScheduling"

// PostFilter is asked about a pod that found no node. Where that is because other plugins rejected all
// names that PreFilter gave, the pod is tried again at once with more. Otherwise the engine says who
// has to go; they are deleted, and the pod is nominated to the node.
//
// Of what other plugins say the engine knows nothing. No node is preempted on that one of them calls
// unresolvable, and before anybody goes all filters have to pass: where they do not, the next best of the
// engine's nodes is tried (candidates.go), and at last kube-scheduler's own preemption, with all filters, on
// the nodes and of the pods that quotas allow (dry_run.go).
//
// In the configuration it must come before DefaultPreemption (postFilter names it beside multiPoint), or
// instead of it: kube-scheduler appends plugins of multiPoint behind its own.
func (h *Headroom) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if c.limited() {
		widenedTotal.Inc()
		h.room.widen(pod)
		// No other PostFilter after this one: it would see these few nodes only, and preempt there.
		// Without words: what the next attempt finds is what the pod's condition should say.
		klog.FromContext(ctx).V(4).Info("Other plugins rejected the best nodes: the next attempt looks at more",
			"pod", klog.KObj(pod), "nodes", len(c.decision.Candidates), "feasible", c.decision.Feasible)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
	}
	h.room.reject(pod, c.decision)
	if !h.serves(capacityScheduling) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	answer, err := h.askPostFilter(ctx, pod, client.PostFilterOptions{})
	if err != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	var choice *client.NodeVictims
	search := &search{h: h, state: state, pod: pod, statuses: statuses, overQuota: len(c.decision.PreFilter) > 0}
	switch {
	case answer.Code == wire.CodeSuccess:
		choice, err = search.amongCandidates(ctx, answer)
	case c.decision.Feasible > 0 && !search.overQuota && search.mayPreempt():
		// To the engine the pod has room: what is in its way other plugins alone know.
		choice, err = search.byDryRun(ctx)
	case answer.StaysNominated:
		return nil, fwk.NewStatus(fwk.Unschedulable, answer.Reasons...)
	default:
		return h.nominate(pod, ""), fwk.NewStatus(fwk.Unschedulable, answer.Reasons...)
	}
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if choice == nil {
		return h.nominate(pod, ""), fwk.NewStatus(fwk.Unschedulable, search.why())
	}
	// Before the victims leave room that others could take.
	result := h.nominate(pod, choice.Node)
	if err := h.preempt(ctx, pod, choice); err != nil {
		h.facts.denominate(pod)
		return nil, fwk.AsStatus(err)
	}
	klog.FromContext(ctx).V(2).Info("Preempted pods", "pod", klog.KObj(pod), "node", choice.Node,
		"victims", len(choice.Victims), "budgetViolations", choice.PDBViolations)
	return result, nil
}

func (h *Headroom) askPostFilter(ctx context.Context, pod *v1.Pod, options client.PostFilterOptions) (answer *client.PostFilterAnswer, err error) {
	err = h.timed("post_filter", func() error {
		answer, err = h.client.PostFilter(ctx, pod, options)
		return err
	})
	return answer, err
}

// nominate tells the engine and the framework which node the pod waits for; "": none any more, so that
// it keeps no room that it cannot use. As DefaultPreemption does.
func (h *Headroom) nominate(pod *v1.Pod, node string) *fwk.PostFilterResult {
	h.facts.nominate(pod, node)
	return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{
		NominatedNodeName: node,
		NominatingMode:    fwk.ModeOverride,
	}}
}
