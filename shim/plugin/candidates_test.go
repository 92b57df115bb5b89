package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// Preemption where filters that the engine does not know have a word.

// nodesOf is a world of nodes of 4 cpu with these pods, and the pod to be placed.
func nodesOf(t *testing.T, p *v1.Pod, pods ...*v1.Pod) *world {
	nodes := map[string]*fakeNode{}
	w := newWorld(t, nil, withPreemption)
	w.handle.nodes = nodes
	for _, on := range pods {
		name := on.Spec.NodeName
		if nodes[name] == nil {
			nodes[name] = &fakeNode{node: node(name, "4")}
			w.create(nodes[name].node)
		}
		nodes[name].pods = append(nodes[name].pods, fakePodInfo{pod: on})
		w.create(on)
	}
	w.create(p)
	w.fedUntil(len(nodes), len(pods)+1)
	return w
}

func runningPod(name, cpu, node string, priority int32) *v1.Pod {
	return withPriority(bound(pod(name, cpu), node), priority)
}

// postFilter after a cycle of the pod that found no node.
func (w *world) postFilter(p *v1.Pod, statuses fwk.NodeToStatusReader) (node string, status *fwk.Status) {
	w.t.Helper()
	result, status := w.headroom.PostFilter(w.ctx, w.preFilter(p).state, p, statuses)
	if result != nil {
		node = result.NominatedNodeName
	}
	return node, status
}

// left tells which of the pods the API server still has.
func (w *world) left(names ...string) (left []string) {
	for _, name := range names {
		if _, err := w.api.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{}); err == nil {
			left = append(left, name)
		}
	}
	return left
}

func (w *world) wantLeft(want string, names ...string) {
	w.t.Helper()
	if left := w.left(names...); len(left) != 1 || left[0] != want {
		w.t.Errorf("%v are left, not %s alone", left, want)
	}
}

func TestPreemptionTriesTheNextNodeWhereOthersRejectTheFirst(t *testing.T) {
	p := withPriority(pod("p", "3"), 10)
	w := nodesOf(t, p, runningPod("cheap", "3", "first", 1), runningPod("dear", "3", "second", 2))
	w.handle.others = func(on *fakeNode) *fwk.Status {
		if on.node.Name == "first" {
			return fwk.NewStatus(fwk.Unschedulable, "cannot allocate all claims")
		}
		return nil
	}
	if node, status := w.postFilter(p, fakeStatuses{}); !status.IsSuccess() || node != "second" {
		t.Fatal(node, status)
	}
	w.wantLeft("cheap", "cheap", "dear")
}

func TestPreemptionLeavesNodesAloneThatOthersCallUnresolvable(t *testing.T) {
	p := withPriority(pod("p", "3"), 10)
	w := nodesOf(t, p, runningPod("cheap", "3", "first", 1), runningPod("dear", "3", "second", 2))
	statuses := fakeStatuses{"first": fwk.UnschedulableAndUnresolvable}
	if node, status := w.postFilter(p, statuses); !status.IsSuccess() || node != "second" {
		t.Fatal(node, status)
	}
	w.wantLeft("cheap", "cheap", "dear")
}

// holdsWhatOthersWant: filters reject the node as long as one of the pods runs there.
func holdsWhatOthersWant(names ...string) func(*fakeNode) *fwk.Status {
	return func(on *fakeNode) *fwk.Status {
		for _, name := range names {
			if on.runs(name) {
				return fwk.NewStatus(fwk.Unschedulable, "held by "+name)
			}
		}
		return nil
	}
}

func TestPreemptionWhereOtherPluginsAloneSeeNoRoom(t *testing.T) {
	p := withPriority(pod("p", "1"), 10)
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device"}} // no limit of names
	w := nodesOf(t, p, runningPod("bystander", "1", "only", 1), runningPod("holder", "1", "only", 2))
	w.handle.others = holdsWhatOthersWant("holder")
	if node, status := w.postFilter(p, fakeStatuses{}); !status.IsSuccess() || node != "only" {
		t.Fatal(node, status)
	}
	w.wantLeft("bystander", "bystander", "holder")
}

func TestPreemptionOfMoreThanTheEngineWants(t *testing.T) {
	p := withPriority(pod("p", "2"), 10)
	w := nodesOf(t, p, runningPod("least", "2", "only", 1), runningPod("holder", "1", "only", 2), runningPod("stays", "1", "only", 3))
	w.handle.others = holdsWhatOthersWant("least", "holder") // the one's cpu, what the other holds
	if node, status := w.postFilter(p, fakeStatuses{}); !status.IsSuccess() || node != "only" {
		t.Fatal(node, status)
	}
	w.wantLeft("stays", "least", "holder", "stays")
}

func TestWhoNeverPreemptsDoesNotByOtherPluginsFiltersEither(t *testing.T) {
	never := v1.PreemptNever
	p := withPriority(pod("p", "1"), 10)
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device"}}
	p.Spec.PreemptionPolicy = &never
	w := nodesOf(t, p, runningPod("holder", "1", "only", 2))
	w.handle.others = holdsWhatOthersWant("holder")
	if node, status := w.postFilter(p, fakeStatuses{}); status.IsSuccess() {
		t.Fatal(node, status)
	}
	w.wantLeft("holder", "holder")
}

// quotasOf have ElasticQuotas in these namespaces.
func quotasOf(namespaces ...string) *facts {
	f := &facts{}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, namespace := range namespaces {
		_ = store.Add(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"}})
	}
	f.elasticQuotas.follow(store, func() bool { return true }, 0)
	return f
}

func TestAQuotasPodsMakeRoomForItsOwnAlone(t *testing.T) {
	h := &Headroom{facts: quotasOf("team", "other")}
	in := func(namespace string, priority int32) *v1.Pod {
		p := withPriority(pod("p", "1"), priority)
		p.Namespace = namespace
		return p
	}
	for _, test := range []struct {
		preemptor, victim string
		may               bool
	}{
		{"team", "team", true}, {"team", "other", false}, {"team", "free", false}, {"free", "team", false}, {"free", "free", true},
	} {
		s := &search{h: h, pod: in(test.preemptor, 2)}
		if may := s.mayGo(in(test.victim, 1)); may != test.may {
			t.Errorf("of %s for %s: %v", test.victim, test.preemptor, may)
		}
		if s.mayGo(in(test.victim, 2)) {
			t.Errorf("of %s for %s: an equal may go", test.victim, test.preemptor)
		}
	}
}

func TestBudgetsAreTakenFromByTheMostImportantFirst(t *testing.T) {
	labels := map[string]string{"app": "db"}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, DisruptedPods: map[string]metav1.Time{"going": {}}}}
	var pods []fwk.PodInfo
	for _, name := range []string{"going", "first", "second", "stranger"} {
		p := pod(name, "1")
		if name != "stranger" {
			p.Labels = labels
		}
		pods = append(pods, fakePodInfo{pod: p})
	}
	beyond, within := splitByBudgets(pods, []*policyv1.PodDisruptionBudget{budget})
	if len(beyond) != 1 || beyond[0].GetPod().Name != "second" || len(within) != 3 {
		t.Errorf("beyond: %v, within: %v", beyond, within)
	}
}
