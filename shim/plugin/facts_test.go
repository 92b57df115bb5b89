package plugin

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/client"
)

func TestFactsFollowTheInformers(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"), node("b", "4"), bound(pod("there", "1"), "a"))
	w.fedUntil(2, 1)
	if err := w.api.CoreV1().Nodes().Delete(w.ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.fedUntil(1, 1)
	stats, err := w.headroom.client.Stats(w.ctx, client.StatsOptions{Validate: true})
	if err != nil || stats.Invalid != "" {
		t.Fatalf("%v %v", stats, err)
	}
}

func TestProfilesOfOneSchedulerShareTheFacts(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"))
	w.fedUntil(1, 0)
	resyncs := w.headroom.facts.feeder.Resyncs()
	made, err := New(w.ctx, w.rawArgs(nil), w.handle)
	if err != nil {
		t.Fatal(err)
	}
	other := made.(*Headroom)
	if other.facts != w.headroom.facts {
		t.Fatal("each feeds on its own")
	}
	if try := (&world{t: t, ctx: w.ctx, headroom: other}).preFilter(pod("p", "1")); len(try.names) != 1 {
		t.Fatal(try.status)
	}
	if now := w.headroom.facts.feeder.Resyncs(); now != resyncs {
		t.Errorf("%d resyncs, %d before", now, resyncs)
	}
}

func TestOnlyTheLeaderTakesOver(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"))
	w.fedUntil(1, 0)
	// Another scheduler starts, with an API server that has two nodes.
	successor := &world{t: t, ctx: w.ctx, daemon: w.daemon}
	successor.api = newAPI(node("a", "4"), node("b", "4"))
	successor.start(nil)
	successor.fedUntil(2, 0)
	w.eventually("the first one knows", w.headroom.facts.feeder.Replaced)
	// It runs a cycle: it leads.
	w.preFilter(pod("p", "1"))
	w.fedUntil(1, 0)
	successor.eventually("the other one is silent", successor.headroom.facts.feeder.Replaced)
}

// A relist shows a pod that was deleted and made anew as one that changed.
func TestAPodOfAnotherUIDReplacesTheOneBefore(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"), pod("p", "1"))
	w.fedUntil(1, 1)
	before := w.headroom.facts.pod("default/p")
	if status := w.reserve(w.preFilter(before), before, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	again := pod("p", "1")
	again.UID = "another"
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, again, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("its reservation ends", func() bool { return len(w.headroom.reserved.all()) == 0 })
}
