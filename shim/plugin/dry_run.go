package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
)

// kube-scheduler's own preemption with all filters, Headroom's among them, for where those that the engine
// does not know want more, or others, to go than it says. On each node all pods that may go leave at first,
// and come back one after the other, the most important first, as long as the filters pass.
//
// Of a namespace with an ElasticQuota only its own pods make room for each other, and pods without one take
// nothing from it: what quotas lend and take back is the engine's alone.

// dryRunsEnough nodes that help are compared, of more the first; as DefaultPreemption has it.
const dryRunsEnough = 100

// trial is a node as it would be without some of its pods.
type trial struct {
	*search
	node  fwk.NodeInfo
	state fwk.CycleState
}

func (s *search) begin(node fwk.NodeInfo) *trial {
	return &trial{search: s, node: node.Snapshot(), state: s.state.Clone()}
}

func (t *trial) remove(ctx context.Context, victim fwk.PodInfo) error {
	if err := t.node.RemovePod(klog.FromContext(ctx), victim.GetPod()); err != nil {
		return err
	}
	return t.h.handle.RunPreFilterExtensionRemovePod(ctx, t.state, t.pod, victim, t.node).AsError()
}

func (t *trial) putBack(ctx context.Context, victim fwk.PodInfo) error {
	t.node.AddPodInfo(victim)
	return t.h.handle.RunPreFilterExtensionAddPod(ctx, t.state, t.pod, victim, t.node).AsError()
}

func (t *trial) filter(ctx context.Context) *fwk.Status {
	return t.h.handle.RunFilterPluginsWithNominatedPods(ctx, t.state, t.pod, t.node)
}

// filterError is nil where the filters have an answer.
func filterError(status *fwk.Status) error {
	if status.Code() != fwk.Error {
		return nil
	}
	return errors.Join(errors.New("a filter failed"), status.AsError())
}

// mayPreempt: whether anybody may go for the pod, and nobody is going already.
func (s *search) mayPreempt() bool {
	if policy := s.pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false
	}
	nominated := s.pod.Status.NominatedNodeName
	if nominated == "" || s.unresolvable(nominated) {
		return true
	}
	node, err := s.h.handle.SnapshotSharedLister().NodeInfos().Get(nominated)
	return err != nil || !slices.ContainsFunc(node.GetPods(), func(on fwk.PodInfo) bool {
		return on.GetPod().DeletionTimestamp != nil && s.mayGo(on.GetPod())
	})
}

// mayGo: what quotas and priorities allow.
func (s *search) mayGo(victim *v1.Pod) bool {
	quotas := &s.h.facts.elasticQuotas
	if priorityOf(victim) >= priorityOf(s.pod) {
		return false
	}
	if quotas.rule(s.pod.Namespace) {
		return victim.Namespace == s.pod.Namespace
	}
	return !quotas.rule(victim.Namespace)
}

// byDryRun: the cheapest node where preemption lets all filters pass; nil: none.
func (s *search) byDryRun(ctx context.Context) (*client.NodeVictims, error) {
	if s.statuses == nil || s.overQuota {
		return nil, nil
	}
	nodes, err := s.statuses.NodesForStatusCode(s.h.handle.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, err
	}
	budgets, err := s.h.handle.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var found []client.NodeVictims
	for _, node := range nodes {
		choice, err := s.dryRun(ctx, node, budgets)
		if err != nil {
			return nil, err
		}
		if choice != nil {
			found = append(found, *choice)
		}
		if len(found) == dryRunsEnough {
			break
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(found, s.h.cheaper)
	return &found[0], nil
}

// dryRun: who would have to go from the node; nil: nobody's going helps.
func (s *search) dryRun(ctx context.Context, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget) (*client.NodeVictims, error) {
	var victims []fwk.PodInfo
	for _, on := range node.GetPods() {
		if s.mayGo(on.GetPod()) {
			victims = append(victims, on)
		}
	}
	if len(victims) == 0 {
		return nil, nil
	}
	slices.SortFunc(victims, func(a, b fwk.PodInfo) int { return moreImportantVictim(a.GetPod(), b.GetPod()) })
	trial, name := s.begin(node), node.Node().Name
	for _, victim := range victims {
		if err := trial.remove(ctx, victim); err != nil {
			return nil, err
		}
	}
	if status := trial.filter(ctx); !status.IsSuccess() {
		s.rejected(name, status)
		return nil, filterError(status)
	}
	choice := &client.NodeVictims{Node: name}
	beyond, within := splitByBudgets(victims, budgets)
	for i, victim := range append(beyond, within...) {
		if err := trial.putBack(ctx, victim); err != nil {
			return nil, err
		}
		status := trial.filter(ctx)
		if status.IsSuccess() {
			continue
		}
		if err := errors.Join(filterError(status), trial.remove(ctx, victim)); err != nil {
			return nil, err
		}
		choice.Victims = append(choice.Victims, victimOf(victim.GetPod()))
		if i < len(beyond) {
			choice.PDBViolations++
		}
	}
	if len(choice.Victims) == 0 {
		return nil, nil // there is room by now
	}
	return choice, nil
}

func victimOf(pod *v1.Pod) client.Victim {
	return client.Victim{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Node: pod.Spec.NodeName,
		Priority: priorityOf(pod)}
}

// moreImportantVictim: the higher priority, then who runs longer; one that has not begun runs shortest.
func moreImportantVictim(a, b *v1.Pod) int {
	if order := cmp.Compare(priorityOf(b), priorityOf(a)); order != 0 {
		return order
	}
	switch begun, other := a.Status.StartTime, b.Status.StartTime; {
	case begun == nil && other == nil:
		return 0
	case begun == nil:
		return 1
	case other == nil:
		return -1
	default:
		return begun.Compare(other.Time)
	}
}

// splitByBudgets tells the pods whose going would be beyond a budget, where those before them go too.
func splitByBudgets(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) (beyond, within []fwk.PodInfo) {
	allowed := make([]int32, len(budgets))
	for i, budget := range budgets {
		allowed[i] = budget.Status.DisruptionsAllowed
	}
	for _, info := range pods {
		pod, breaks := info.GetPod(), false
		for i, budget := range budgets {
			if counts(budget, pod) {
				allowed[i]--
				breaks = breaks || allowed[i] < 0
			}
		}
		if breaks {
			beyond = append(beyond, info)
		} else {
			within = append(within, info)
		}
	}
	return beyond, within
}

// counts tells whether the pod's going takes one from the budget: one that is known to go has done so.
func counts(budget *policyv1.PodDisruptionBudget, pod *v1.Pod) bool {
	if len(pod.Labels) == 0 || budget.Namespace != pod.Namespace {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	_, going := budget.Status.DisruptedPods[pod.Name]
	return !going
}
