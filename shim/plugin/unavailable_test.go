package plugin

import (
	"context"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// away is a plugin whose headroomd does not exist.
func away(t *testing.T, onUnavailable OnUnavailable) *world {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, api: newAPI(pod("p", "1"))}
	w.start(map[string]any{"onUnavailable": string(onUnavailable), "address": "unix://" + t.TempDir() + "/none.sock"})
	return w
}

func TestSkipLeavesThePodToOthers(t *testing.T) {
	w := away(t, Skip)
	p := pod("p", "1")
	try := w.preFilter(p)
	if !try.status.IsSkip() || try.names != nil {
		t.Fatalf("%v %v", try.status, try.names)
	}
	if status := w.headroom.PreScore(w.ctx, try.state, p, nil); !status.IsSkip() {
		t.Error(status)
	}
	if status := w.headroom.Reserve(w.ctx, try.state, p, "anywhere"); !status.IsSuccess() {
		t.Error(status)
	}
	w.headroom.Unreserve(w.ctx, try.state, p, "anywhere")
	if result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil); result != nil || status.Code() != fwk.Unschedulable {
		t.Errorf("%v %v", result, status)
	}
}

func TestWaitHoldsThePod(t *testing.T) {
	w := away(t, Wait)
	try := w.preFilter(pod("p", "1"))
	if try.status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Fatal(try.status)
	}
	if w.handle.activations("p") != 0 {
		t.Error("activated although headroomd is away")
	}
}

func TestAHeldPodIsActivatedWhenHeadroomdIsBack(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailable": "Wait"}, fitOnly, node("only", "4"), pod("p", "1"))
	w.fedUntil(1, 1)
	w.daemon.Kill()
	p := pod("p", "1")
	if try := w.preFilter(p); try.status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Fatal(try.status)
	}
	if err := w.daemon.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is activated", func() bool { return w.handle.activations("p") > 0 })
	w.eventually("the pod has a node", func() bool { return len(w.preFilter(p).names) == 1 })
}

func TestAnotherProfileCountsAsUnavailable(t *testing.T) {
	w := newWorld(t, map[string]any{"profile": "batch"}, fitOnly, node("only", "4"))
	if try := w.preFilter(pod("p", "1")); !try.status.IsSkip() {
		t.Fatal(try.status)
	}
}

func TestAPodThatHeadroomdCannotUseIsLeftToOthers(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailable": "Wait"}, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	p := pod("p", "1")
	p.Name = string(make([]byte, 5000)) // beyond kTextBytesMax
	if try := w.preFilter(p); !try.status.IsSkip() {
		t.Fatal(try.status)
	}
}
