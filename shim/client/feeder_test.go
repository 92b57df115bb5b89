package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/wire"
)

// watched is a Feeder whose callbacks are kept.
type watched struct {
	*Feeder
	stores [kindCount]*mapStore

	mu      sync.Mutex
	applied []Stats
	downs   []error
	refused []string
}

func newWatched(address Address, kinds ...Kind) *watched {
	w := &watched{}
	w.Feeder = NewFeeder(address, FeederOptions{
		Options:   Options{Name: "feeder"},
		OnApplied: func(stats Stats) { w.mu.Lock(); w.applied = append(w.applied, stats); w.mu.Unlock() },
		OnDown:    func(err error) { w.mu.Lock(); w.downs = append(w.downs, err); w.mu.Unlock() },
		OnRefused: func(kind Kind, key string, err *ServerError) {
			w.mu.Lock()
			w.refused = append(w.refused, fmt.Sprintf("%s %s: %s", kind, key, err.Message))
			w.mu.Unlock()
		},
	})
	for _, kind := range kinds {
		w.stores[kind] = newStore()
		w.SetStore(kind, w.stores[kind])
	}
	return w
}

func (w *watched) put(kind Kind, object metav1.Object) {
	w.stores[kind].put(object)
	w.Mark(kind, keyOf(object))
}

func (w *watched) remove(kind Kind, key string) {
	w.stores[kind].remove(key)
	w.Mark(kind, key)
}

func (w *watched) last() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.applied) == 0 {
		return Stats{}
	}
	return w.applied[len(w.applied)-1]
}

func (w *watched) downCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.downs)
}

func TestFollowsTheStores(t *testing.T) {
	d := startHeadroomd(t)
	w := newWatched(d.address, Nodes, Pods)
	w.stores[Nodes].put(testNode("n1", "4"))
	w.stores[Pods].put(testPod("a", "1", "n1"))
	run(t, w.Feeder)
	eventually(t, "the first state", func() bool { s := w.last(); return s.Ready && s.Nodes == 1 && s.Pods == 1 })

	w.put(Nodes, testNode("n2", "4"))
	w.put(Pods, testPod("b", "1", ""))
	w.remove(Pods, "team-a/a")
	w.remove(Nodes, "n1")
	w.Mark(Pods, "team-a/never")  // never there
	w.Mark(PriorityClasses, "no") // no store
	eventually(t, "the changes", func() bool { s := w.last(); return s.Nodes == 1 && s.Pods == 1 && s.PendingPods == 1 })
	if w.Resyncs() != 1 {
		t.Errorf("%d resyncs", w.Resyncs())
	}

	// A kind that comes later, and one that goes.
	w.SetStore(PriorityClasses, newStore())
	eventually(t, "another resync", func() bool { return w.Resyncs() == 2 })
	w.SetStore(Pods, nil)
	eventually(t, "no pods", func() bool { s := w.last(); return s.Pods == 0 && s.Nodes == 1 })
	if w.downCount() != 0 {
		t.Errorf("down: %v", w.downs)
	}
}

// What changes while all is sent, and ever after, ends as the stores are.
func TestChangesDuringAResync(t *testing.T) {
	d := startHeadroomd(t)
	w := newWatched(d.address, Nodes, Pods)
	w.clock = func() int64 { return 1_800_000_000_000_000 } // the time is part of a digest
	for _, node := range manyNodes(50) {
		w.stores[Nodes].put(node)
	}
	for _, pod := range manyPods(3000, 50) {
		w.stores[Pods].put(pod)
	}
	run(t, w.Feeder)
	var group sync.WaitGroup
	for writer := range 4 {
		group.Go(func() {
			for i := range 1500 {
				name := fmt.Sprintf("pod-%d", (i*7+writer)%3000)
				if (i+writer)%3 == 0 {
					w.remove(Pods, "team-a/"+name)
				} else {
					w.put(Pods, testPod(name, fmt.Sprintf("%dm", 100+i), fmt.Sprintf("node-%d", i%50)))
				}
				if i%500 == 250 && writer == 0 {
					w.SetStore(PriorityClasses, newStore())
				}
				time.Sleep(50 * time.Microsecond) // changes come before, in and after each resync
			}
		})
	}
	group.Wait()
	// A feeder that reads the same stores afresh feeds the same facts.
	other := startHeadroomd(t)
	second := newWatched(other.address)
	second.clock = w.clock
	second.SetStore(Nodes, w.stores[Nodes])
	second.SetStore(Pods, w.stores[Pods])
	run(t, second.Feeder)
	eventually(t, "the other one", func() bool { return second.last().Ready })
	want := digestsOf(t, other.address)
	// Numbers of pods do not tell the end: the last changes may all be of pods that exist before and after.
	eventually(t, "the facts of a fresh feeding", func() bool { return digestsOf(t, d.address) == want })
	eventually(t, "the fresh feeding's numbers", func() bool {
		stats := w.last()
		return stats.Ready && !stats.Resyncing && stats.Pods == second.last().Pods
	})
}

func TestSurvivesARestart(t *testing.T) {
	d := startHeadroomd(t)
	w := newWatched(d.address, Nodes)
	w.stores[Nodes].put(testNode("n1", "4"))
	run(t, w.Feeder)
	eventually(t, "fed", func() bool { return w.last().Nodes == 1 })
	before := w.last().Incarnation
	d.kill()
	eventually(t, "it is noticed", func() bool { return w.downCount() == 1 })
	w.put(Nodes, testNode("n2", "4"))
	d.start()
	eventually(t, "fed again", func() bool { s := w.last(); return s.Incarnation != before && s.Nodes == 2 })
	if w.downCount() != 1 || !errors.Is(w.downs[0], ErrUnavailable) {
		t.Errorf("down: %v", w.downs)
	}
}

func TestTakesTurns(t *testing.T) {
	d := startHeadroomd(t)
	first, second := newWatched(d.address, Nodes), newWatched(d.address, Nodes)
	first.stores[Nodes].put(testNode("n1", "4"))
	second.stores[Nodes].put(testNode("n1", "4"))
	second.stores[Nodes].put(testNode("n2", "4"))
	run(t, first.Feeder)
	eventually(t, "the first feeds", func() bool { return first.last().Nodes == 1 })
	stop := run(t, second.Feeder)
	eventually(t, "the second feeds", func() bool { return second.last().Nodes == 2 && first.Replaced() })
	first.put(Nodes, testNode("n9", "4"))
	time.Sleep(300 * time.Millisecond)
	if second.Replaced() || first.Resyncs() != 1 || first.downCount() != 0 {
		t.Errorf("replaced %v, %d resyncs, down: %v", second.Replaced(), first.Resyncs(), first.downs)
	}
	second.TakeOver() // it has
	stop()
	first.TakeOver()
	eventually(t, "the first feeds again", func() bool {
		s := first.last()
		return s.Nodes == 2 && first.Resyncs() == 2 && !first.Replaced()
	})
	c := newClient(t, d.address, Options{})
	var decision Decision
	if err := c.Evaluate(context.Background(), testPod("p", "1", ""), EvaluateOptions{TopK: 9}, &decision); err != nil || decision.Feasible != 2 {
		t.Errorf("%+v, error %v", decision, err)
	}
}

func TestRefusedObjects(t *testing.T) {
	d := startHeadroomd(t)
	w := newWatched(d.address, Nodes, Pods, NodeMetrics)
	for _, node := range manyNodes(100) {
		w.stores[Nodes].put(node)
	}
	bad := testPod("bad", "1", "node-1")
	bad.Labels[strings.Repeat("k", 2000)] = "" // kTextBytesMax
	w.stores[Pods].put(bad)
	run(t, w.Feeder)
	eventually(t, "fed", func() bool { s := w.last(); return s.Nodes == 100 && s.Pods == 0 })
	// Neither fits a frame; the others of the batch go.
	large := testPod("large", "1", "node-1")
	large.Labels["l"] = strings.Repeat("x", defaultFrameBytesMax)
	metric := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "node-1"}, "status": "soon"}}
	w.stores[Pods].put(large)
	for _, pod := range manyPods(40, 100) {
		w.stores[Pods].put(pod)
	}
	w.put(NodeMetrics, metric)
	for _, object := range w.stores[Pods].List() {
		w.Mark(Pods, keyOf(object.(metav1.Object)))
	}
	eventually(t, "the good ones", func() bool { return w.last().Pods == 40 })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, want := range []string{"Pods team-a/bad: ", "Pods team-a/large: Pods team-a/large: 8389", "NodeMetrics node-1: NodeMetrics node-1: status: soon is not an object"} {
		found := false
		for _, refused := range w.refused {
			found = found || strings.HasPrefix(refused, want)
		}
		if !found {
			t.Errorf("no %q among %.300q", want, w.refused)
		}
	}
	if w.Resyncs() != 1 {
		t.Errorf("%d resyncs", w.Resyncs())
	}
}

// fedTimes serves feeders: it answers Stats, and does `then` after so many.
func fedTimes(incarnation uint64, then func(p *peer, begun asked)) func(p *peer) {
	return func(p *peer) {
		p.greet(incarnation)
		var begun asked
		for {
			request, ok := p.next()
			if !ok {
				return
			}
			switch request.bodyType {
			case wire.BodyFeedBegin:
				begun = request
			case wire.BodyStats:
				p.stats(request.id, 1)
				if then != nil {
					then(p, begun)
					then = nil
				}
			}
		}
	}
}

// What stops a feeding makes the feeder connect and send all again; it was well before, so at once.
func TestResyncsAfterAStop(t *testing.T) {
	for name, stop := range map[string]func(p *peer, begun asked){
		"gap":             func(p *peer, _ asked) { p.stopFeeding(wire.FeedStopGap) },
		"new profile":     func(p *peer, _ asked) { p.stopFeeding(wire.FeedStopNewProfile) },
		"close":           func(p *peer, _ asked) { p.conn.Close() },
		"garbage":         func(p *peer, _ asked) { p.write([]byte{0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}) },
		"connection":      func(p *peer, _ asked) { p.fail(0, wire.ErrorCodeInvalid, -1, "no frame") },
		"incarnation":     func(p *peer, begun asked) { p.fail(begun.id, wire.ErrorCodeConflict, -1, "another incarnation") },
		"unknown refusal": func(p *peer, _ asked) { p.fail(99, wire.ErrorCodeInvalid, 3, "pod") },
		"another reply":   func(p *peer, _ asked) { p.evaluated(5, 1, "n1") },
		"unasked stats":   func(p *peer, _ asked) { p.stats(5, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			server := startFake(t, fedTimes(7, stop), fedTimes(8, nil))
			w := newWatched(server.address, Nodes)
			w.stores[Nodes].put(testNode("n1", "4"))
			run(t, w.Feeder)
			eventually(t, "a second resync", func() bool { return w.Resyncs() == 2 })
			eventually(t, "it is told", func() bool { return w.downCount() == 1 })
			if server.connections() != 2 || w.Replaced() {
				t.Errorf("%d connections, replaced %v", server.connections(), w.Replaced())
			}
		})
	}
}

func TestReplacedIsSilent(t *testing.T) {
	server := startFake(t, fedTimes(7, func(p *peer, _ asked) { p.stopFeeding(wire.FeedStopReplaced) }), fedTimes(7, nil))
	w := newWatched(server.address, Nodes)
	run(t, w.Feeder)
	eventually(t, "replaced", w.Replaced)
	w.put(Nodes, testNode("n1", "4"))
	time.Sleep(3 * backoffFirst)
	if server.connections() != 1 || w.downCount() != 0 {
		t.Errorf("%d connections, down: %v", server.connections(), w.downs)
	}
	w.TakeOver()
	eventually(t, "a second resync", func() bool { return w.Resyncs() == 2 })
}

// A server that reads late and answers a lot: neither end waits for the other for ever.
func TestSlowServer(t *testing.T) {
	var facts atomic.Int64
	server := startFake(t, func(p *peer) {
		p.greet(7)
		for {
			request, ok := p.next()
			if !ok {
				return
			}
			switch request.bodyType {
			case wire.BodyFacts:
				facts.Add(1)
				for place := range 64 {
					p.fail(request.id, wire.ErrorCodeInvalid, int32(place), strings.Repeat("x", 1000))
				}
			case wire.BodyStats:
				p.stats(request.id, 1)
			}
			time.Sleep(200 * time.Microsecond)
		}
	})
	w := newWatched(server.address, Pods)
	for _, pod := range manyPods(64*100, 10) {
		w.stores[Pods].put(pod)
	}
	run(t, w.Feeder)
	eventually(t, "all refused", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.refused) == 6400 })
	eventually(t, "answered", func() bool { return w.last().Ready })
	if facts.Load() != 100 || server.connections() != 1 {
		t.Errorf("%d facts, %d connections", facts.Load(), server.connections())
	}
	seen := map[string]bool{}
	for _, refused := range w.refused {
		seen[refused] = true
	}
	if len(seen) != 6400 {
		t.Errorf("%d objects were refused", len(seen))
	}
}

// A context's end ends a feeder that waits for a server that does not read.
func TestRunEnds(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	server := startFake(t, func(p *peer) { p.greet(7); <-hold })
	w := newWatched(server.address, Pods)
	for _, pod := range manyPods(20000, 10) {
		w.stores[Pods].put(pod)
	}
	stop := run(t, w.Feeder)
	eventually(t, "connected", func() bool { return server.connections() == 1 })
	time.Sleep(50 * time.Millisecond)
	begin := time.Now()
	stop()
	if took := time.Since(begin); took > silenceMax/3 {
		t.Errorf("took %s", took)
	}
}
