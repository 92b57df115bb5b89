package plugin

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

const cycleKey fwk.StateKey = Name

// cycle is what PreFilter learned about the pod of this scheduling cycle. Immutable after PreFilter,
// but for the changes that the framework makes to a clone of it.
type cycle struct {
	decision *client.Decision
	// What every node says, where the names are not limited; else nil.
	nodes *client.NodesAnswer
	// What the profile that answered looks at.
	considered []wire.NotConsidered
	// As if these pods did not count on the node that Filter is asked about, and as if these did.
	without []types.NamespacedName
	with    []*v1.Pod
	// Reserve was asked and not answered yet; and where it was refused, how.
	reservation *client.Reservation
	refused     *fwk.Status
}

// Clone is called before pods are added or removed for one node.
func (c *cycle) Clone() fwk.StateData {
	return &cycle{
		decision:   c.decision,
		nodes:      c.nodes,
		considered: c.considered,
		without:    slices.Clone(c.without),
		with:       slices.Clone(c.with),
	}
}

// changed: the framework asks about other pods than there are.
func (c *cycle) changed() bool { return len(c.with) > 0 || len(c.without) > 0 }

// limited: other nodes than the candidates were withheld from the other plugins.
func (c *cycle) limited() bool { return c.nodes == nil && len(c.decision.Candidates) > 0 }

// total of the node among all feasible ones; false where the reply does not have it.
func (c *cycle) total(node string) (int64, bool) {
	if c.nodes != nil {
		answer, ok := c.nodes.Nodes[node]
		return answer.Total, ok && answer.Verdict.Code == wire.CodeSuccess
	}
	for i := range c.decision.Candidates {
		if c.decision.Candidates[i].Node == node {
			return c.decision.Candidates[i].Total, true
		}
	}
	return 0, false
}

// cycleOf is nil where PreFilter left the pod to the other plugins.
func cycleOf(state fwk.CycleState) *cycle {
	data, err := state.Read(cycleKey)
	if err != nil {
		return nil
	}
	c, _ := data.(*cycle)
	return c
}

// PreFilter asks headroomd once. The names of the best nodes go to the framework where some node is
// feasible and the names may be limited (width.go); where none is, every node gets to say why in
// Filter, because nodes that are left out count as unresolvable and preemption would look away.
func (h *Headroom) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	h.facts.lead()
	rejected := h.room.enter(pod.UID)
	c := &cycle{decision: &client.Decision{}, considered: h.considered()}
	names := h.names(state, pod, rejected, c.considered)
	err := h.evaluate(ctx, pod, max(names, 1), c.decision)
	// A pod that is turned away loses the node that victims have left for it: until the first facts have
	// come it waits here.
	for pod.Status.NominatedNodeName != "" && h.gate.isBeingFed(err) && ctx.Err() == nil {
		time.Sleep(feedLook)
		err = h.evaluate(ctx, pod, max(names, 1), c.decision)
	}
	// The connection may be another by now, or another profile may have answered.
	if now := h.considered(); err == nil && !slices.Equal(now, c.considered) {
		c.considered = now
		names = h.names(state, pod, rejected, now)
		err = h.evaluate(ctx, pod, max(names, 1), c.decision)
	}
	if err == nil && h.gate.awaitsQuotas(pod, h.client.Greeting()) {
		err = errQuotasUnknown
	}
	if err != nil {
		return nil, h.unavailable(ctx, pod, err)
	}
	if len(c.decision.PreFilter) > 0 {
		cyclesTotal.WithLabelValues("quota").Inc()
		state.Write(cycleKey, c)
		h.room.reject(pod, c.decision)
		return nil, fwk.NewStatus(fwk.Unschedulable, c.decision.PreFilter...)
	}
	// Before the next question, which may fail: it was turned away then, too.
	if c.decision.Feasible > 0 {
		h.room.pass(pod.UID)
	} else {
		h.room.reject(pod, c.decision)
	}
	if c.decision.Feasible > 0 && names != noLimit {
		cyclesTotal.WithLabelValues("limited").Inc()
		state.Write(cycleKey, c)
		best := make(sets.Set[string], len(c.decision.Candidates))
		for i := range c.decision.Candidates {
			best.Insert(c.decision.Candidates[i].Node)
		}
		return &fwk.PreFilterResult{NodeNames: best}, nil
	}
	if c.nodes, err = h.evaluateNodes(ctx, pod, client.NodesRequest{}); err != nil {
		return nil, h.unavailable(ctx, pod, err)
	}
	if c.decision.Feasible > 0 {
		cyclesTotal.WithLabelValues("all").Inc()
	} else {
		cyclesTotal.WithLabelValues("infeasible").Inc()
	}
	state.Write(cycleKey, c)
	return nil, nil
}

func (h *Headroom) evaluateNodes(ctx context.Context, pod *v1.Pod, request client.NodesRequest) (answer *client.NodesAnswer, err error) {
	err = h.timed("evaluate_nodes", func() error {
		answer, err = h.client.EvaluateNodes(ctx, pod, request)
		return err
	})
	return answer, err
}

func (h *Headroom) PreFilterExtensions() fwk.PreFilterExtensions { return h }

// AddPod and RemovePod only take note: Filter asks about the node as it would be.
func (h *Headroom) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	pod := added.GetPod()
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if at := slices.Index(c.without, name); at >= 0 {
		c.without = slices.Delete(c.without, at, at+1)
	} else {
		c.with = append(c.with, pod)
	}
	return nil
}

func (h *Headroom) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	pod := removed.GetPod()
	at := slices.IndexFunc(c.with, func(with *v1.Pod) bool { return with.UID == pod.UID })
	if at >= 0 {
		c.with = slices.Delete(c.with, at, at+1)
	} else {
		c.without = append(c.without, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	return nil
}

// Filter answers from PreFilter's reply. Headroomd is asked again about a node that the reply does not
// have (a nominated one, one of a batch), and about one whose pods the framework has changed.
func (h *Headroom) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	name := node.Node().Name
	if !c.changed() {
		if c.nodes != nil {
			if answer, ok := c.nodes.Nodes[name]; ok {
				return statusOf(answer.Verdict)
			}
		} else if _, ok := c.total(name); ok {
			return nil
		}
	}
	answer, err := h.evaluateNodes(ctx, pod, client.NodesRequest{Nodes: []string{name}, Without: c.without, With: c.with})
	if err != nil {
		return fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	found, ok := answer.Nodes[name]
	if !ok {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) not known to headroomd yet")
	}
	return statusOf(found.Verdict)
}

func statusOf(verdict *client.NodeVerdict) *fwk.Status {
	switch verdict.Code {
	case wire.CodeSuccess:
		return nil
	case wire.CodeUnschedulableAndUnresolvable:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, verdict.Reasons...)
	case wire.CodeError:
		return fwk.NewStatus(fwk.Error, verdict.Reasons...)
	default:
		return fwk.NewStatus(fwk.Unschedulable, verdict.Reasons...)
	}
}
