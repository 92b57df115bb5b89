package plugin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

// search looks for a node, and who has to go from it, with which all filters pass, those that the engine
// does not know too: nobody goes for nothing. Of one PostFilter; one goroutine's.
type search struct {
	h        *Headroom
	state    fwk.CycleState
	pod      *v1.Pod
	statuses fwk.NodeToStatusReader // nil: none are known
	// A quota rejects the pod: which victims it would let the pod in for is the engine's alone to say.
	overQuota bool

	tried        map[string]bool // nodes on which preemption is no use
	first, whyNo string
}

// why nothing was found.
func (s *search) why() string {
	if len(s.tried) == 0 {
		return "preemption helps on none of the nodes that the other plugins leave"
	}
	text := fmt.Sprintf("preemption on node %s is no use: %s", s.first, s.whyNo)
	if others := len(s.tried) - 1; others > 0 {
		text += fmt.Sprintf("; nor on %d others", others)
	}
	return text
}

// rejected: preemption on the node is no use.
func (s *search) rejected(node string, status *fwk.Status) {
	if len(s.tried) == 0 {
		s.tried, s.first, s.whyNo = map[string]bool{}, node, status.Message()
	}
	s.tried[node] = true
}

// unresolvable tells whether some plugin said that nobody's going helps on that node.
func (s *search) unresolvable(node string) bool {
	return s.statuses != nil && s.statuses.Get(node).Code() == fwk.UnschedulableAndUnresolvable
}

// amongCandidates: the engine's choice, or else the next best of its nodes, or else what all filters know.
func (s *search) amongCandidates(ctx context.Context, answer *client.PostFilterAnswer) (*client.NodeVictims, error) {
	choice := client.NodeVictims{Node: answer.NominatedNode, Victims: answer.Victims, PDBViolations: answer.PDBViolations}
	if passes, err := s.passes(ctx, &choice); passes || err != nil {
		return &choice, err
	}
	answer, err := s.h.askPostFilter(ctx, s.pod, client.PostFilterOptions{Candidates: true})
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(answer.Candidates, func(other client.NodeVictims) bool {
		return other.Code != wire.CodeSuccess || other.Node == choice.Node
	})
	slices.SortStableFunc(others, s.h.cheaper)
	for i := range others {
		if passes, err := s.passes(ctx, &others[i]); passes || err != nil {
			return &others[i], err
		}
	}
	return s.byDryRun(ctx)
}

// passes runs all filters on the node without the victims. Victims elsewhere are still there.
func (s *search) passes(ctx context.Context, choice *client.NodeVictims) (bool, error) {
	if s.unresolvable(choice.Node) {
		s.rejected(choice.Node, s.statuses.Get(choice.Node))
		return false, nil
	}
	node, err := s.h.handle.SnapshotSharedLister().NodeInfos().Get(choice.Node)
	if err != nil {
		return false, err
	}
	victims := map[string]bool{}
	for i := range choice.Victims {
		victims[choice.Victims[i].UID] = true
	}
	trial := s.begin(node)
	for _, on := range node.GetPods() {
		if victims[string(on.GetPod().UID)] {
			if err := trial.remove(ctx, on); err != nil {
				return false, err
			}
		}
	}
	status := trial.filter(ctx)
	if !status.IsSuccess() {
		s.rejected(choice.Node, status)
	}
	return status.IsSuccess(), filterError(status)
}

// cheaper orders as kube-scheduler's pickOneNodeForPreemption: fewer victims beyond their budgets, less
// important ones, a lower sum of their priorities, fewer, and the most important of them started later.
func (h *Headroom) cheaper(a, b client.NodeVictims) int {
	ofA, ofB := h.costOf(a.Victims), h.costOf(b.Victims)
	return cmp.Or(
		cmp.Compare(a.PDBViolations, b.PDBViolations),
		cmp.Compare(ofA.highest, ofB.highest),
		cmp.Compare(ofA.sum, ofB.sum),
		cmp.Compare(len(a.Victims), len(b.Victims)),
		cmp.Compare(ofB.started, ofA.started))
}

type cost struct {
	highest int32
	sum     int64
	started int64 // of the highest the earliest, in seconds
}

func (h *Headroom) costOf(victims []client.Victim) cost {
	its := cost{highest: math.MinInt32, started: math.MaxInt64}
	for i := range victims {
		priority := victims[i].Priority
		its.sum += int64(priority) + math.MaxInt32 + 1
		if priority > its.highest {
			its.highest, its.started = priority, math.MaxInt64
		}
		pod := h.facts.pod(victims[i].Namespace + "/" + victims[i].Name)
		if priority == its.highest && pod != nil && pod.Status.StartTime != nil {
			its.started = min(its.started, pod.Status.StartTime.Unix())
		}
	}
	return its
}
