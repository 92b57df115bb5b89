package plugin

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"
	fwk "k8s.io/kube-scheduler/framework"
)

func conflictsSoFar(t *testing.T, reason string) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(conflictsTotal.WithLabelValues(reason))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// failed as a kubelet writes it that does not admit the pod.
func failed(p *v1.Pod, reason string) *v1.Pod {
	p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodFailed, reason, "Pod was rejected"
	return p
}

func onNode(p *v1.Pod) *v1.Pod {
	p.Spec.NodeName = "node"
	return p
}

// What the API server has of a pod when it is looked up.
func TestAPodThatItsKubeletDoesNotAdmitIsAConflict(t *testing.T) {
	registerMetrics()
	recreated := failed(pod("p", "1"), "OutOfcpu")
	recreated.UID = "another"
	for name, story := range map[string]struct {
		now    *v1.Pod
		reason string // the counter that grows; "": none
	}{
		"cpu":                     {failed(pod("p", "1"), "OutOfcpu"), "OutOfcpu"},
		"pods":                    {failed(pod("p", "1"), "OutOfpods"), "OutOfpods"},
		"labels that changed":     {failed(pod("p", "1"), "NodeAffinity"), "NodeAffinity"},
		"devices":                 {failed(pod("p", "1"), "OutOfexample.com/gpu"), conflictExtendedResource},
		"evicted":                 {failed(pod("p", "1"), "Evicted"), ""},
		"it ended by itself":      {failed(pod("p", "1"), ""), ""},
		"it is not failed":        {pod("p", "1"), ""},
		"another one of its name": {recreated, ""},
		"it is gone":              {pod("other", "1"), ""},
	} {
		before := map[string]float64{}
		for _, reason := range append(kubeletConflicts, conflictExtendedResource) {
			before[reason] = conflictsSoFar(t, reason)
		}
		newConflicts(newAPI(story.now)).look(t.Context(), onNode(pod("p", "1")))
		for reason, was := range before {
			grew := conflictsSoFar(t, reason) - was
			if (grew != 0) != (reason == story.reason) {
				t.Errorf("%s: %s grew by %v", name, reason, grew)
			}
		}
	}
}

func TestOnlyPodsThatNeverBeganAreLookedUp(t *testing.T) {
	deleted, started := onNode(pod("deleted", "1")), onNode(pod("started", "1"))
	deleted.DeletionTimestamp, started.Status.StartTime = &metav1.Time{}, &metav1.Time{}
	for name, story := range map[string]struct {
		pod    *v1.Pod
		lookUp bool
	}{
		"bound":     {onNode(pod("bound", "1")), true},
		"not bound": {pod("pending", "1"), false},
		"deleted":   {deleted, false},
		"started":   {started, false},
		"running":   {bound(pod("running", "1"), "node"), false},
	} {
		c := newConflicts(nil)
		c.gone(story.pod)
		if (len(c.ended) == 1) != story.lookUp {
			t.Errorf("%s: %d to look up", name, len(c.ended))
		}
	}
	c := newConflicts(nil)
	for range endedPodsMax + 1 {
		c.gone(onNode(pod("one of many", "1")))
	}
	if len(c.ended) != endedPodsMax {
		t.Errorf("%d wait to be looked up", len(c.ended))
	}
}

func TestAReservationThatIsRefusedIsAConflict(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	first, second := pod("first", "3"), pod("second", "3")
	try, other := w.preFilter(first), w.preFilter(second)
	before := conflictsSoFar(t, conflictReserve)
	if status := w.reserve(try, first, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if grew := conflictsSoFar(t, conflictReserve) - before; grew != 0 {
		t.Errorf("grew by %v without a conflict", grew)
	}
	if status := w.reserve(other, second, "only"); status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "Insufficient cpu") {
		t.Fatal(status)
	}
	if grew := conflictsSoFar(t, conflictReserve) - before; grew != 1 {
		t.Errorf("grew by %v", grew)
	}
}

// A standby sees what the leader's pods come to, and counts none of it; nor does anybody count for another
// scheduler.
func TestTheSchedulerThatLeadsCountsItsOwnPods(t *testing.T) {
	w := away(t, map[string]any{})
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, failed(pod("p", "1"), "OutOfcpu"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := conflictsSoFar(t, "OutOfcpu")
	ours, theirs := onNode(pod("p", "1")), onNode(pod("p", "1"))
	theirs.Spec.SchedulerName = "another"
	w.headroom.facts.podGone(ours)
	w.headroom.facts.lead()
	w.headroom.facts.podGone(theirs)
	w.headroom.facts.podGone(ours)
	w.eventually("the pod is counted", func() bool { return conflictsSoFar(t, "OutOfcpu") > before })
	if grew := conflictsSoFar(t, "OutOfcpu") - before; grew != 1 {
		t.Errorf("counted %v times", grew)
	}
}
