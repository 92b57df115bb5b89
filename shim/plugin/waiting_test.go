package plugin

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

func TestARejectedPodWakesWhenANodeCanTakeIt(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("small", "2"), pod("p", "4"))
	w.fedUntil(1, 1)
	w.preFilter(pod("p", "4"))
	w.create(node("small-too", "2"))
	w.fedUntil(2, 1)
	time.Sleep(3 * wakeInterval)
	if w.handle.activations("p") != 0 {
		t.Fatal("woken by a node that cannot take it")
	}
	w.create(node("large", "8"))
	w.eventually("the pod is activated", func() bool { return w.handle.activations("p") == 1 })
	// Once for one change,
	time.Sleep(3 * wakeInterval)
	if n := w.handle.activations("p"); n != 1 {
		t.Errorf("activated %d times", n)
	}
	// and again where it is in no cycle after that.
	w.eventually("the activation is repeated", func() bool { return w.handle.activations("p") > 1 })
}

func TestARejectedPodWakesWhenAnotherGoes(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"), bound(pod("there", "3"), "only"), pod("p", "2"))
	w.fedUntil(1, 2)
	w.preFilter(pod("p", "2"))
	if err := w.api.CoreV1().Pods("default").Delete(w.ctx, "there", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is activated", func() bool { return w.handle.activations("p") == 1 })
}

func TestTheMostImportantWakeFirstAndNotAllAtOnce(t *testing.T) {
	var objects []runtime.Object
	for i := range 3 * wakeMost {
		objects = append(objects, withPriority(pod(fmt.Sprintf("p%03d", i), "2"), int32(i)))
	}
	w := newWorld(t, nil, fitOnly, append(objects, node("small", "1"))...)
	w.fedUntil(1, len(objects))
	for _, object := range objects {
		w.preFilter(object.(*v1.Pod))
	}
	// One round by hand; the room's own may come before, and finds nobody.
	w.create(node("large", "2"))
	w.fedUntil(2, len(objects))
	w.eventually("pods are activated", func() bool { return w.handle.activations(fmt.Sprintf("p%03d", len(objects)-1)) > 0 })
	w.eventually("the others follow", func() bool { return w.handle.activations("p000") > 0 })
}

func TestAPodThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("small", "2"), pod("p", "4"))
	w.fedUntil(1, 1)
	w.preFilter(pod("p", "4"))
	if err := w.api.CoreV1().Pods("default").Delete(w.ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is forgotten", func() bool {
		w.headroom.room.mu.Lock()
		defer w.headroom.room.mu.Unlock()
		return len(w.headroom.room.waiting) == 0
	})
}

func TestHintsAreForPodsThatOthersRejectedToo(t *testing.T) {
	h := &Headroom{room: newWaitingRoom(nil, &fakeHandle{}, nil)}
	alone, mixed := pod("alone", "1"), pod("mixed", "1")
	h.room.reject(alone, &client.Decision{})
	h.room.reject(mixed, &client.Decision{Code: wire.CodeSuccess, Feasible: 3})
	old, heartbeat, relabelled := node("n", "4"), node("n", "4"), node("n", "4")
	heartbeat.ResourceVersion = "2"
	heartbeat.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	relabelled.Labels["zone"] = "a"
	for _, c := range []struct {
		name          string
		pod           *v1.Pod
		before, after any
		want          fwk.QueueingHint
	}{
		{"the engine rejected every node", alone, nil, node("new", "4"), fwk.QueueSkip},
		{"a new node", mixed, nil, node("new", "4"), fwk.Queue},
		{"a heartbeat", mixed, old, heartbeat, fwk.QueueSkip},
		{"a label", mixed, old, relabelled, fwk.Queue},
	} {
		if got, err := h.afterNode(klog.Background(), c.pod, c.before, c.after); err != nil || got != c.want {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
	gone := bound(pod("gone", "1"), "n")
	if got, _ := h.afterPod(klog.Background(), mixed, gone, nil); got != fwk.Queue {
		t.Error("a pod that left a node does not wake it")
	}
	if got, _ := h.afterPod(klog.Background(), mixed, pod("pending", "1"), nil); got != fwk.QueueSkip {
		t.Error("a pod that was on no node wakes it")
	}
	if got, _ := h.afterPod(klog.Background(), alone, gone, nil); got != fwk.QueueSkip {
		t.Error("a hint wakes a pod that the engine alone rejected")
	}
}

// Whatever became of the room it waits for: it gets to choose other victims, or to give up.
func TestANominatedPodIsTriedAgainThoughNothingIsFeasible(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("small", "2"), nominatedTo(pod("nominated", "4"), "small"), pod("other", "4"))
	w.fedUntil(1, 2)
	for _, name := range []string{"nominated", "other"} {
		w.preFilter(w.headroom.facts.pod("default/" + name))
	}
	w.eventually("it is activated", func() bool { return w.handle.activations("nominated") > 0 })
	if w.handle.activations("other") != 0 {
		t.Error("the other one has nothing to try")
	}
}

// Another plugin may turn it away before this one hears of its cycles.
func TestActivationsThatLeadToNoCycleBecomeRare(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"), pod("p", "1"))
	w.fedUntil(1, 1)
	w.headroom.room.widen(w.headroom.facts.pod("default/p"))
	time.Sleep(20 * wakeInterval)
	// At 0, 1, 3, 7 and 15 intervals.
	if n := w.handle.activations("p"); n < 2 || n > 6 {
		t.Errorf("activated %d times", n)
	}
	// After a cycle at once.
	before := w.handle.activations("p")
	w.headroom.room.enter(w.headroom.facts.pod("default/p").UID)
	w.headroom.room.widen(w.headroom.facts.pod("default/p"))
	w.eventually("it is activated", func() bool { return w.handle.activations("p") > before })
}

// No node has room, but the pod may take back now what others borrowed.
func TestAPodThatItsQuotaLetsPassWakesThoughNothingIsFeasible(t *testing.T) {
	room := newWaitingRoom(nil, &fakeHandle{}, &gate{})
	p := pod("p", "1")
	room.reject(p, &client.Decision{Code: wire.CodeUnschedulable, PreFilter: []string{"over max"}})
	full := &client.Decision{Nodes: 1, Code: wire.CodeUnschedulable}
	if _, yes := room.worthWaking(p, &client.Decision{Nodes: 1, Code: wire.CodeUnschedulable, PreFilter: []string{"over max"}}); yes {
		t.Error("woken although its quota rejects it")
	}
	if _, yes := room.worthWaking(p, full); !yes {
		t.Error("not woken")
	}
	room.wakeFor(p.UID, 0)
	if _, yes := room.worthWaking(p, full); yes {
		t.Error("woken twice")
	}
	room.reject(p, full)
	if _, yes := room.worthWaking(p, full); yes {
		t.Error("woken for a quota that did not reject it")
	}
}
