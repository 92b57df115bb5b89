package plugin

import (
	"context"
	"errors"
	"fmt"

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
// In the configuration it must come before DefaultPreemption (postFilter names it beside multiPoint), or
// instead of it: kube-scheduler appends plugins of multiPoint behind its own.
func (h *Headroom) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if c.limited() {
		widenedTotal.Inc()
		h.room.widen(pod)
		// No other PostFilter after this one: it would see these few nodes only, and preempt there.
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
			"other plugins rejected the best %d of %d feasible nodes: the next attempt looks at more",
			len(c.decision.Candidates), c.decision.Feasible))
	}
	h.room.reject(pod, c.decision.Feasible)
	if !h.serves(capacityScheduling) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	var answer *client.PostFilterAnswer
	err := h.timed("PostFilter", func() (err error) {
		answer, err = h.client.PostFilter(ctx, pod, client.PostFilterOptions{})
		return err
	})
	if err != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	if answer.Code != wire.CodeSuccess {
		unschedulable := fwk.NewStatus(fwk.Unschedulable, answer.Reasons...)
		if answer.StaysNominated {
			return nil, unschedulable
		}
		return h.nominate(pod, ""), unschedulable
	}
	if status := h.wouldPass(ctx, state, pod, answer); !status.IsSuccess() {
		return h.nominate(pod, ""), fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf(
			"preemption on node %s is no use: %s", answer.NominatedNode, status.Message()))
	}
	// Before the victims leave room that others could take.
	result := h.nominate(pod, answer.NominatedNode)
	if err := h.preempt(ctx, pod, answer); err != nil {
		h.facts.denominate(pod)
		return nil, fwk.AsStatus(err)
	}
	klog.FromContext(ctx).V(2).Info("Preempted pods", "pod", klog.KObj(pod), "node", answer.NominatedNode,
		"victims", len(answer.Victims), "budgetViolations", answer.PDBViolations)
	return result, nil
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

// wouldPass runs all filters, those that the engine does not know too, on the node without the
// victims: nobody goes for nothing.
func (h *Headroom) wouldPass(ctx context.Context, state fwk.CycleState, pod *v1.Pod, answer *client.PostFilterAnswer) *fwk.Status {
	node, err := h.handle.SnapshotSharedLister().NodeInfos().Get(answer.NominatedNode)
	if err != nil {
		return fwk.AsStatus(err)
	}
	node, state = node.Snapshot(), state.Clone()
	victims := map[string]bool{}
	for i := range answer.Victims {
		victims[answer.Victims[i].UID] = true
	}
	var going []fwk.PodInfo
	for _, on := range node.GetPods() {
		if victims[string(on.GetPod().UID)] {
			going = append(going, on)
		}
	}
	for _, victim := range going {
		if err := node.RemovePod(klog.FromContext(ctx), victim.GetPod()); err != nil {
			return fwk.AsStatus(err)
		}
		if status := h.handle.RunPreFilterExtensionRemovePod(ctx, state, pod, victim, node); !status.IsSuccess() {
			return status
		}
	}
	status := h.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	if status.IsSuccess() || status.Code() != fwk.Error {
		return status
	}
	return fwk.AsStatus(errors.Join(errors.New("a filter failed"), status.AsError()))
}
