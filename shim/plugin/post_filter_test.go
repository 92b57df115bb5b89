package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/lab"
)

// withPreemption ranks by NodeResourcesFit and preempts.
var withPreemption = lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{"multiPoint": {
	Enabled: lab.Plugins("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit",
		"CapacityScheduling"),
	Disabled: lab.Plugins("*")}}}

// fullNode is a world of one node that a pod of priority 1 fills.
func fullNode(t *testing.T, profile lab.SchedulerProfile) (*world, *v1.Pod) {
	victim := withPriority(bound(pod("victim", "3"), "only"), 1)
	w := newWorld(t, nil, profile, node("only", "4"), victim, withPriority(pod("p", "3"), 10))
	w.fedUntil(1, 2)
	w.handle.nodes["only"] = &fakeNode{node: node("only", "4"), pods: []fwk.PodInfo{fakePodInfo{pod: victim}}}
	return w, withPriority(pod("p", "3"), 10)
}

func TestAVictimThatHasNotBegunIsLeastImportant(t *testing.T) {
	begun, later, waiting, other := pod("begun", "1"), pod("later", "1"), pod("waiting", "1"), pod("other", "1")
	now := metav1.Now()
	begun.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
	later.Status.StartTime = &now
	victims := []*v1.Pod{waiting, later, other, begun}
	slices.SortStableFunc(victims, moreImportantVictim)
	if victims[0] != begun || victims[1] != later || victims[2] != waiting || victims[3] != other {
		t.Errorf("%v", victims)
	}
}

func TestPreemptionDeletesTheVictim(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	try := w.preFilter(p)
	if status := w.filter(try, p, "only"); status.Code() != fwk.Unschedulable {
		t.Fatal(status)
	}
	result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil)
	if !status.IsSuccess() || result == nil || result.NominatedNodeName != "only" {
		t.Fatalf("%v %v", result, status)
	}
	if _, err := w.api.CoreV1().Pods("default").Get(w.ctx, "victim", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error("the victim is there: ", err)
	}
	var told bool
	for _, action := range w.api.Actions() {
		if action.Matches("patch", "pods/status") {
			told = true
		}
	}
	if !told {
		t.Error("no condition tells the victim why")
	}
	w.eventually("the pod is woken when the victim is gone", func() bool { return w.handle.activations("p") > 0 })
}

func TestNobodyGoesForNothing(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	w.handle.others = func(*fakeNode) *fwk.Status {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) didn't match pod anti-affinity rules")
	}
	try := w.preFilter(p)
	result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil)
	if result == nil || result.NominatedNodeName != "" || status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "anti-affinity") {
		t.Fatalf("%v %v", result, status)
	}
	if _, err := w.api.CoreV1().Pods("default").Get(w.ctx, "victim", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestPreemptionIsLeftToOthersWhereTheProfileHasNone(t *testing.T) {
	w, p := fullNode(t, fitOnly)
	try := w.preFilter(p)
	if result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil); result != nil || status.Code() != fwk.Unschedulable {
		t.Fatalf("%v %v", result, status)
	}
	if _, err := w.api.CoreV1().Pods("default").Get(w.ctx, "victim", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestPreemptionThatCannotHelpSaysWhy(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	p = withPriority(p, 0)
	try := w.preFilter(p)
	result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil)
	if result == nil || result.NominatedNodeName != "" || status.Code() != fwk.Unschedulable || len(status.Reasons()) == 0 {
		t.Fatalf("%v %v", result, status)
	}
}
