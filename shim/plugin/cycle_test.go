package plugin

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

func TestTheBestNodesAreNamedAndScored(t *testing.T) {
	w := newWorld(t, map[string]any{"topK": 2}, fitOnly, node("small", "4"), node("large", "16"), node("middle", "8"))
	w.fedUntil(3, 0)
	p := pod("p", "2")
	try := w.preFilter(p)
	if !try.status.IsSuccess() {
		t.Fatal(try.status)
	}
	slices.Sort(try.names)
	if !slices.Equal(try.names, []string{"large", "middle"}) {
		t.Fatalf("names: %v", try.names)
	}
	scores := map[string]int64{}
	for _, name := range try.names {
		if status := w.filter(try, p, name); !status.IsSuccess() {
			t.Errorf("%s: %v", name, status)
		}
		scores[name], _ = w.headroom.Score(w.ctx, try.state, p, &fakeNode{node: node(name, "1")})
	}
	if scores["large"] <= scores["middle"] {
		t.Errorf("scores: %v", scores)
	}
	// A node that was not named is asked for.
	if status := w.filter(try, p, "small"); !status.IsSuccess() {
		t.Errorf("small: %v", status)
	}
	if status := w.filter(try, p, "unheard-of"); status.Code() != fwk.Unschedulable {
		t.Errorf("unheard-of: %v", status)
	}
}

func TestWhereNoNodeIsFeasibleEachSaysWhy(t *testing.T) {
	tainted := node("tainted", "16")
	tainted.Spec.Taints = []v1.Taint{{Key: "gpu", Value: "yes", Effect: v1.TaintEffectNoSchedule}}
	w := newWorld(t, nil, fitOnly, node("small", "4"), tainted)
	w.fedUntil(2, 0)
	p := pod("p", "8")
	try := w.preFilter(p)
	if !try.status.IsSuccess() || try.names != nil {
		t.Fatalf("%v, names %v", try.status, try.names)
	}
	small, taint := w.filter(try, p, "small"), w.filter(try, p, "tainted")
	// 8 cores are more than the node will ever have.
	if small.Code() != fwk.UnschedulableAndUnresolvable || small.Message() != "Insufficient cpu" {
		t.Errorf("small: %v %v", small.Code(), small)
	}
	if taint.Code() != fwk.UnschedulableAndUnresolvable || !strings.Contains(taint.Message(), "untolerated taint") {
		t.Errorf("tainted: %v %v", taint.Code(), taint)
	}
	if status := w.filter(tryOf{state: try.state}, p, "small"); status.Message() != "Insufficient cpu" {
		t.Error(status)
	}
}

func TestAFullNodeIsResolvable(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "8"), bound(pod("there", "6"), "only"))
	w.fedUntil(1, 1)
	p := pod("p", "4")
	try := w.preFilter(p)
	if status := w.filter(try, p, "only"); status.Code() != fwk.Unschedulable {
		t.Errorf("%v %v", status.Code(), status)
	}
}

func TestPodsThatAreAddedAndRemovedCount(t *testing.T) {
	there := bound(pod("there", "6"), "only")
	w := newWorld(t, nil, fitOnly, node("only", "8"), there)
	w.fedUntil(1, 1)
	p := pod("p", "4")
	try := w.preFilter(p)

	without := tryOf{state: try.state.Clone().(*fakeState)}
	w.headroom.RemovePod(w.ctx, without.state, p, fakePodInfo{pod: there}, nil)
	if status := w.filter(without, p, "only"); !status.IsSuccess() {
		t.Errorf("without the other pod: %v", status)
	}
	if status := w.filter(try, p, "only"); status.IsSuccess() {
		t.Error("the clone's change shows in the original")
	}
	w.headroom.AddPod(w.ctx, without.state, p, fakePodInfo{pod: pod("nominated", "5")}, nil)
	if status := w.filter(without, p, "only"); status.IsSuccess() {
		t.Error("an added pod does not count")
	}
	w.headroom.RemovePod(w.ctx, without.state, p, fakePodInfo{pod: pod("nominated", "5")}, nil)
	w.headroom.AddPod(w.ctx, without.state, p, fakePodInfo{pod: there}, nil)
	if status := w.filter(without, p, "only"); status.Code() != fwk.Unschedulable {
		t.Errorf("all undone: %v", status)
	}
}

func TestPodsWhoseConstraintsTheEngineDoesNotKnowSeeAllNodes(t *testing.T) {
	w := newWorld(t, map[string]any{"topK": 1}, fitOnly, node("small", "4"), node("large", "16"))
	w.fedUntil(2, 0)
	p := pod("p", "8")
	p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}}}}
	try := w.preFilter(p)
	if !try.status.IsSuccess() || try.names != nil {
		t.Fatalf("%v, names %v", try.status, try.names)
	}
	if status := w.filter(try, p, "large"); !status.IsSuccess() {
		t.Error(status)
	}
	if status := w.filter(try, p, "small"); status.IsSuccess() {
		t.Error("small has room for 8 cores")
	}
	large, _ := w.headroom.Score(w.ctx, try.state, p, &fakeNode{node: node("large", "1")})
	if large == 0 {
		t.Error("large scores 0")
	}
}

func TestNamesThatOthersRejectLeadToMore(t *testing.T) {
	w := newWorld(t, map[string]any{"topK": 1}, fitOnly, node("a", "4"), node("b", "4"), node("c", "4"))
	w.fedUntil(3, 0)
	p := pod("p", "1")
	w.create(p)
	w.fedUntil(3, 1)
	try := w.preFilter(p)
	if len(try.names) != 1 {
		t.Fatalf("names: %v", try.names)
	}
	result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil)
	// Unresolvable, so that no other plugin preempts on the one node that it sees; and without words,
	// which would be the pod's condition until the next attempt.
	if result != nil || status.Code() != fwk.UnschedulableAndUnresolvable || status.Message() != "" {
		t.Fatalf("%v %v", result, status)
	}
	// Until it is seen in a cycle: a pod whose cycle has not ended cannot be activated.
	w.eventually("the pod is activated again and again", func() bool { return w.handle.activations("p") > 1 })
	if try = w.preFilter(p); len(try.names) != 3 {
		t.Fatalf("names of the second attempt: %v", try.names)
	}
}

func TestSigning(t *testing.T) {
	if fragments, status := (&Headroom{}).SignPod(t.Context(), pod("p", "1")); fragments != nil || status.Code() != fwk.Unschedulable {
		t.Errorf("%v %v", fragments, status)
	}
}
