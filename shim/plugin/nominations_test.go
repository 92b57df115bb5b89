package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

func nominatedTo(p *v1.Pod, node string) *v1.Pod {
	p.Status.NominatedNodeName = node
	return p
}

func TestNominationsHoldUntilTheyAreShown(t *testing.T) {
	shown := cache.NewStore(cache.MetaNamespaceKeyFunc)
	n := newNominations(shown)
	show := func(p *v1.Pod) {
		if err := shown.Add(p); err != nil {
			t.Fatal(err)
		}
		n.shown(p)
	}
	want := func(what, node string) {
		t.Helper()
		object, exists, err := n.GetByKey("default/p")
		if err != nil || !exists {
			t.Fatal(exists, err)
		}
		one, listed := object.(*v1.Pod).Status.NominatedNodeName, n.List()[0].(*v1.Pod).Status.NominatedNodeName
		if one != node || listed != node {
			t.Errorf("%s: nominated to %q, listed as to %q, should be %q", what, one, listed, node)
		}
	}
	if n.set(pod("p", "1"), "a") {
		t.Error("nominated a pod that is not there")
	}
	original := pod("p", "1")
	show(original)
	if !n.set(pod("p", "1"), "a") || n.set(pod("p", "1"), "a") {
		t.Error("the first word changes something, the second does not")
	}
	want("said", "a")
	if original.Status.NominatedNodeName != "" {
		t.Error("the informer's object was changed")
	}
	show(pod("p", "1"))
	want("another change is shown", "a")
	show(nominatedTo(pod("p", "1"), "a"))
	show(nominatedTo(pod("p", "1"), "b"))
	want("it was shown, and somebody changed it", "b")
	if !n.set(pod("p", "1"), "") {
		t.Error("losing a nomination is a change")
	}
	want("lost", "")
	if !n.drop("p") || n.drop("p") {
		t.Error("the word is taken back once")
	}
	want("taken back", "b")
	n.set(pod("p", "1"), "c")
	show(bound(pod("p", "1"), "d"))
	want("a bound pod waits for nothing", "")
	if n.set(&v1.Pod{ObjectMeta: pod("p", "1").ObjectMeta}, "") {
		t.Error("so it was")
	}
}

// What the engine says of a pod of the same priority while the room on the node is promised.
func TestANominationCountsBeforeTheAPIServerShowsIt(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	try := w.preFilter(p)
	if result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil); result == nil {
		t.Fatal(status)
	}
	other := withPriority(pod("other", "3"), 10)
	w.create(other)
	w.eventually("the victim is gone, and the nominated pod gets its room", func() bool { return len(w.preFilter(p).names) == 1 })
	if try := w.preFilter(other); len(try.names) != 0 {
		t.Error("the room of the nominated pod was given away to ", try.names)
	}
}

func TestANominationThatCannotHelpIsGivenUp(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	p = withPriority(p, 0) // nobody would go for it
	nominated := nominatedTo(withPriority(pod("p", "3"), 0), "only")
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, nominated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the update is shown", func() bool {
		return w.headroom.facts.pod("default/p").Status.NominatedNodeName == "only"
	})
	try := w.preFilter(nominated)
	result, status := w.headroom.PostFilter(w.ctx, try.state, nominated, nil)
	if result == nil || result.NominatedNodeName != "" || result.Mode() != fwk.ModeOverride || status.IsSuccess() {
		t.Fatalf("%v %v", result, status)
	}
	if now := w.headroom.facts.pod("default/p").Status.NominatedNodeName; now != "" {
		t.Error("the engine still counts it on ", now)
	}
}

func TestANominationStaysWhileItsVictimTerminates(t *testing.T) {
	w, p := fullNode(t, withPreemption)
	going := withPriority(bound(pod("victim", "3"), "only"), 1)
	now := metav1.Now()
	going.DeletionTimestamp = &now
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, going, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	nominated := nominatedTo(p, "only")
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, nominated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("PostFilter waits", func() bool {
		try := w.preFilter(nominated)
		result, status := w.headroom.PostFilter(w.ctx, try.state, nominated, nil)
		return result == nil && status.Code() == fwk.Unschedulable
	})
}
