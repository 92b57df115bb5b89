package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
)

func TestAReservedPodCounts(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	first, second := pod("first", "3"), pod("second", "3")
	try, other := w.preFilter(first), w.preFilter(second)
	if status := w.reserve(try, first, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	// The other was answered before: the engine looks again.
	if status := w.reserve(other, second, "only"); status.Code() != fwk.Unschedulable || status.Message() == "" {
		t.Fatal(status)
	}
	if len(w.headroom.reserved.all()) != 1 {
		t.Fatal("a refused reservation is kept")
	}
	w.eventually("the refused pod is tried again", func() bool {
		w.headroom.room.mu.Lock()
		defer w.headroom.room.mu.Unlock()
		return w.headroom.room.waiting[second.UID].why == again
	})
	w.headroom.Unreserve(w.ctx, try.state, first, "only")
	if status := w.reserve(other, second, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
}

func TestThePreFlightOfAReservationThatHoldsSkips(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	for pod, skips := range map[*v1.Pod]bool{pod("first", "3"): true, pod("too-large", "5"): false} {
		try := w.preFilter(pod)
		if status := w.headroom.Reserve(w.ctx, try.state, pod, "only"); !status.IsSuccess() {
			t.Fatal(status)
		}
		if got := w.preFlight(try, pod, "only"); got.IsSkip() != skips {
			t.Errorf("%s: %v", pod.Name, got)
		}
		if status := w.headroom.PreBind(w.ctx, try.state, pod, "only"); status.IsSuccess() != skips {
			t.Errorf("%s: %v", pod.Name, status)
		}
	}
}

func TestAReservationEndsWithTheBinding(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	p := pod("p", "3")
	try := w.preFilter(p)
	if status := w.reserve(try, p, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if len(w.headroom.reserved.all()) != 1 {
		t.Fatal("not kept")
	}
	w.create(bound(p.DeepCopy(), "only"))
	w.eventually("the fact ends it", func() bool {
		stats, err := w.headroom.client.Stats(w.ctx, client.StatsOptions{Validate: true})
		return err == nil && stats.Invalid == "" && stats.ReservedPods == 0 && len(w.headroom.reserved.all()) == 0
	})
}

func TestReservationsOutliveHeadroomd(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"), node("b", "4"))
	w.fedUntil(2, 0)
	first := pod("first", "3")
	try := w.preFilter(first)
	if status := w.reserve(try, first, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if err := w.daemon.Restart(w.ctx); err != nil {
		t.Fatal(err)
	}
	second := pod("second", "3")
	w.eventually("headroomd is fed again and knows the reservation", func() bool {
		try := w.preFilter(second)
		return try.status.IsSuccess() && len(try.names) == 1 && try.names[0] == "b"
	})
}

func TestAReservationThatCannotBeUndoneNowIsUndoneLater(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	p := pod("p", "3")
	w.headroom.reserved.undoLater(p, "only")
	asked, err := w.headroom.client.Reserve(w.ctx, p, "only")
	if err == nil {
		err = w.headroom.client.Await(w.ctx, asked)
	}
	if err != nil {
		t.Fatal(err)
	}
	if try := w.preFilter(pod("q", "3")); len(try.names) != 1 {
		t.Fatalf("%v %v", try.names, try.status)
	}
}

func TestAPodThatIsBoundWithoutAReservationIsToldOfLater(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailable": "Skip"}, fitOnly, node("a", "4"), node("b", "4"))
	w.fedUntil(2, 0)
	first := pod("first", "3")
	try := w.preFilter(first)
	w.daemon.Kill()
	if status := w.reserve(try, first, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if err := w.daemon.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	second := pod("second", "3")
	w.eventually("headroomd is fed again and knows the pod", func() bool {
		try := w.preFilter(second)
		return try.status.IsSuccess() && len(try.names) == 1 && try.names[0] == "b"
	})
}
