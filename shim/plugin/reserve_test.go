package plugin

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
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

// However often it is tried, and no longer than headroomd keeps it.
func TestWhatIsToBeUndoneIsListedOnce(t *testing.T) {
	r, p := newReservations(), pod("p", "1")
	for range 3 {
		r.undoLater(p, "a", time.Minute)
		r.undoLater(p, "b", time.Minute)
	}
	if undo := r.takeUndo(); len(undo) != 2 || undo[0].node == undo[1].node {
		t.Errorf("%v", undo)
	}
	r.undoLater(p, "ended", time.Nanosecond)
	time.Sleep(time.Millisecond)
	r.undoLater(p, "a", 0)
	if undo := r.takeUndo(); len(undo) != 1 || undo[0].node != "a" {
		t.Errorf("%v", undo)
	}
}

func TestAReservationThatCannotBeUndoneNowIsUndoneLater(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	p := pod("p", "3")
	w.headroom.reserved.undoLater(p, "only", 0)
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

// endBehindItsBack: the reservation ends although nobody undid it, as one does that nobody renewed.
func (w *world) endBehindItsBack(p *v1.Pod, node string) {
	w.t.Helper()
	if err := w.headroom.client.Unreserve(w.ctx, p, node); err != nil {
		w.t.Fatal(err)
	}
	held, ok := w.headroom.reserved.of(p, node)
	if !ok {
		w.t.Fatal("it is not held")
	}
	w.headroom.reserved.renewed([]reservation{held}, time.Now().Add(-time.Second))
}

func (w *world) reservedPods() int {
	w.t.Helper()
	stats, err := w.headroom.client.Stats(w.ctx, client.StatsOptions{Validate: true})
	if err != nil || stats.Invalid != "" {
		w.t.Fatalf("%v %s", err, stats.Invalid)
	}
	return stats.ReservedPods
}

func TestAReservationThatEndedIsMadeAgainBeforeTheBinding(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	p := pod("p", "3")
	try := w.preFilter(p)
	if status := w.reserve(try, p, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	w.handle.waits = p.UID
	if got := w.preFlight(try, p, "only"); !got.IsSuccess() {
		t.Fatalf("the pre-flight comes before the wait in Permit: %v", got)
	}
	w.endBehindItsBack(p, "only")
	if status := w.headroom.PreBind(w.ctx, try.state, p, "only"); !status.IsSuccess() || w.reservedPods() != 1 {
		t.Fatalf("%v, %d reserved", status, w.reservedPods())
	}
}

func TestAPodWhoseReservationEndedAndWhosePlaceIsTakenIsNotBound(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	slow, quick := pod("slow", "3"), pod("quick", "3")
	try := w.preFilter(slow)
	if status := w.reserve(try, slow, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	w.handle.waits = slow.UID
	if got := w.preFlight(try, slow, "only"); !got.IsSuccess() {
		t.Fatalf("the pre-flight comes before the wait in Permit: %v", got)
	}
	w.endBehindItsBack(slow, "only")
	if status := w.reserve(w.preFilter(quick), quick, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	// Whoever finds out first: the renewal,
	w.headroom.reserveAgain(w.ctx)
	// or the binding.
	status := w.headroom.PreBind(w.ctx, try.state, slow, "only")
	if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "Insufficient cpu") {
		t.Fatal(status)
	}
	if len(w.headroom.reserved.all()) != 1 || w.reservedPods() != 1 {
		t.Fatal("the other one's reservation is gone")
	}
}

func TestARefusedRoleIsAnAbsenceAndAnothersReservationIsNone(t *testing.T) {
	forbidden := error(&client.ServerError{Code: wire.ErrorCodeForbidden, Message: "Reserve takes the role decide"})
	if isAboutThePod(forbidden) || isOthers(forbidden, client.Greeting{Roles: []wire.Role{wire.RoleLook}}) {
		t.Error("a role that is missing")
	}
	if !isOthers(forbidden, client.Greeting{Roles: []wire.Role{wire.RoleLook, wire.RoleDecide}}) {
		t.Error("another's reservation")
	}
}

// expires skips where headroomd's reservations do not end.
func (w *world) expires() {
	w.t.Helper()
	if _, err := w.headroom.client.RenewReservations(w.ctx); err != nil {
		w.t.Skip(err)
	}
}

func TestAPodThatAnotherFrontEndReservedIsNotBound(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	w.expires()
	p := pod("p", "3")
	try := w.preFilter(p)
	address, err := client.ParseAddress(w.daemon.Address)
	if err != nil {
		t.Fatal(err)
	}
	other := client.New(address, client.Options{Name: "another", Timeout: longEnough})
	defer other.Close()
	asked, err := other.Reserve(w.ctx, p, "only")
	if err == nil {
		err = other.Await(w.ctx, asked)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status := w.reserve(try, p, "only"); status.IsSuccess() || !strings.Contains(status.Message(), "another") {
		t.Fatal(status)
	}
}

func TestReservationsAreRenewed(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	w.expires()
	p := pod("p", "3")
	if status := w.reserve(w.preFilter(p), p, "only"); !status.IsSuccess() {
		t.Fatal(status)
	}
	before, _ := w.headroom.reserved.of(p, "only")
	w.headroom.renew(w.ctx)
	after, held := w.headroom.reserved.of(p, "only")
	if !held || !after.until.After(before.until) {
		t.Errorf("until %v, renewed until %v", before.until, after.until)
	}
	// One that ended is made again,
	w.endBehindItsBack(p, "only")
	w.headroom.renew(w.ctx)
	if w.reservedPods() != 1 {
		t.Error("not made again")
	}
	// and one that is undone is not.
	w.headroom.Unreserve(w.ctx, &fakeState{data: map[fwk.StateKey]fwk.StateData{cycleKey: &cycle{}}}, p, "only")
	w.headroom.renew(w.ctx)
	if w.reservedPods() != 0 {
		t.Error("made again although it was undone")
	}
}
