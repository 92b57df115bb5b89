package client

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

func evaluate(c *Client) (Decision, error) {
	var decision Decision
	err := c.Evaluate(context.Background(), testPod("p", "1", ""), EvaluateOptions{TopK: 4}, &decision)
	return decision, err
}

// faults are what a server may do instead of an answer to the first Evaluate, after a hello. The client fails
// that request, and the next one succeeds on a new connection.
var faults = []struct {
	name   string
	script func(p *peer)
	says   string
}{
	{"garbage", func(p *peer) { p.write(bytes.Repeat([]byte{0xff}, 64)) }, "kFrameBytesMax is 1048576"},
	{"zeros", func(p *peer) { p.write(make([]byte, 64)) }, "not a Frame"},
	{"another identifier", func(p *peer) {
		frame := p.frame(2, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "n1") })
		frame[8] = 'X'
		p.write(frame)
	}, "not a Frame"},
	{"above the greeting's limit", func(p *peer) { p.write([]byte{1, 0, 16, 0}) }, "frame of 1048577 bytes"},
	{"root beyond the end", func(p *peer) {
		frame := p.frame(2, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "n1") })
		frame[5] = 0x7f
		p.write(frame)
	}, "malformed"},
	{"a body beyond the end", func(p *peer) {
		p.write(corrupt(p.frame(2, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "n1") })))
	}, "malformed"},
	{"no body", func(p *peer) {
		p.e.reset()
		wire.FrameStart(p.e.b)
		wire.FrameAddId(p.e.b, 2)
		p.e.b.FinishSizePrefixedWithFileIdentifier(wire.FrameEnd(p.e.b), identifier)
		p.write(p.e.b.FinishedBytes())
	}, "without a body"},
	{"silence", func(p *peer) {}, "no answer in time"},
	{"a truncated frame, then silence", func(p *peer) {
		frame := p.frame(2, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "n1") })
		p.write(frame[:len(frame)-1])
	}, "no answer in time"},
	{"a close in the middle", func(p *peer) {
		frame := p.frame(2, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "n1") })
		p.write(frame[:len(frame)/2])
		p.conn.Close()
	}, "the connection was closed"},
	{"an error about the connection", func(p *peer) { p.fail(0, wire.ErrorCodeLimitExceeded, -1, "kConnectionsMax") },
		"kConnectionsMax"},
	{"a reply to another request", func(p *peer) { p.evaluated(99, 1, "n1") }, "request 99"},
}

// corrupt makes the length of the last vector's strings absurd.
func corrupt(frame []byte) []byte {
	at := bytes.LastIndex(frame, []byte("n1")) - 4
	copy(frame[at:], []byte{0xff, 0xff, 0xff, 0x0f})
	return frame
}

func TestFaultsDropTheConnection(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			hold := make(chan struct{})
			defer close(hold)
			server := startFake(t,
				func(p *peer) {
					p.greet(7)
					p.expect(wire.BodyEvaluate)
					fault.script(p)
					<-hold
				},
				func(p *peer) { p.serve() })
			c := newClient(t, server.address, Options{Timeout: 500 * time.Millisecond})
			_, err := evaluate(c)
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), fault.says) {
				t.Errorf("error %v; want %q", err, fault.says)
			}
			// It had answered nothing but the hello: the next attempt is later.
			if _, err := evaluate(c); !errors.Is(err, ErrUnavailable) && err != nil {
				t.Errorf("error %v", err)
			}
			eventually(t, "a new connection", func() bool { decision, err := evaluate(c); return err == nil && len(decision.Candidates) == 1 })
			if server.connections() != 2 {
				t.Errorf("%d connections", server.connections())
			}
		})
	}
}

// A connection that worked and is gone is made again at once, and what changes nothing is asked again.
func TestAsksAgainAfterALoss(t *testing.T) {
	server := startFake(t,
		func(p *peer) {
			p.greet(7)
			p.evaluated(p.expect(wire.BodyEvaluate).id, 1, "n1")
			p.expect(wire.BodyEvaluate)
		},
		func(p *peer) {
			p.greet(8)
			p.evaluated(p.expect(wire.BodyEvaluate).id, 2, "n2")
			p.expect(wire.BodyReserve)
		},
		func(p *peer) { p.serve() })
	c := newClient(t, server.address, Options{})
	if c.Incarnation() != 0 {
		t.Errorf("incarnation %d before the first", c.Incarnation())
	}
	for i, want := range []string{"n1", "n2"} {
		decision, err := evaluate(c)
		if err != nil || decision.Candidates[0] != (Candidate{want, int64(i + 1)}) {
			t.Errorf("%+v, error %v; want %s", decision, err, want)
		}
		if got := c.Incarnation(); got != uint64(7+i) {
			t.Errorf("incarnation %d", got)
		}
	}
	// What became of a reservation is not known, so that it is not sent again.
	reservation, err := c.Reserve(context.Background(), testPod("p", "1", ""), "n1")
	if err == nil {
		err = c.Await(context.Background(), reservation)
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if server.connections() != 2 {
		t.Errorf("%d connections", server.connections())
	}
}

func TestNobodyListens(t *testing.T) {
	server := startFake(t, func(p *peer) { p.serve() })
	c := newClient(t, Address{"unix", server.address.Path + "-not"}, Options{})
	for range 3 {
		begin := time.Now()
		if _, err := evaluate(c); !errors.Is(err, ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %s", took)
		}
	}
	eventually(t, "it waits", func() bool {
		_, err := evaluate(c)
		return err != nil && strings.Contains(err.Error(), "next attempt in")
	})
}

func TestRefusedHello(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.fail(p.expect(wire.BodyHello).id, wire.ErrorCodeUnsupported, -1, "versions 2 to 3")
	})
	_, err := evaluate(newClient(t, server.address, Options{}))
	var refused *ServerError
	if !errors.Is(err, ErrUnavailable) || !errors.As(err, &refused) || refused.Code != wire.ErrorCodeUnsupported {
		t.Errorf("error %v", err)
	}
}

// What keeps the connection.
func TestRefusalsKeepTheConnection(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.greet(7)
		p.fail(p.expect(wire.BodyEvaluate).id, wire.ErrorCodeInvalid, -1, "pods[0]: cpu: -1")
		p.stats(p.expect(wire.BodyEvaluate).id, 1)
		id := p.expect(wire.BodyEvaluate).id
		p.stopFeeding(wire.FeedStopReplaced)                                                                          // not ours
		p.reply(0, wire.BodyReserved+100, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "x") }) // of a later version
		p.bytewise = true
		p.evaluated(id, 9, "n1")
	})
	c := newClient(t, server.address, Options{})
	var refused *ServerError
	if _, err := evaluate(c); !errors.As(err, &refused) || refused.Code != wire.ErrorCodeInvalid || errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if _, err := evaluate(c); err == nil || !strings.Contains(err.Error(), "StatsReply instead of Evaluated") {
		t.Errorf("error %v", err)
	}
	if decision, err := evaluate(c); err != nil || decision.Epoch != 9 {
		t.Errorf("%+v, error %v", decision, err)
	}
	if server.connections() != 1 {
		t.Errorf("%d connections", server.connections())
	}
}

func TestRequestLargerThanAFrame(t *testing.T) {
	server := startFake(t, func(p *peer) { p.serve() })
	c := newClient(t, server.address, Options{})
	pod := testPod("p", "1", "")
	pod.Labels["long"] = strings.Repeat("x", 1<<20)
	var refused *ServerError
	var decision Decision
	err := c.Evaluate(context.Background(), pod, EvaluateOptions{}, &decision)
	if !errors.As(err, &refused) || refused.Code != wire.ErrorCodeLimitExceeded {
		t.Errorf("error %v", err)
	}
	if _, err := evaluate(c); err != nil {
		t.Errorf("error %v", err)
	}
}

// A caller that gives up gets back quickly; the others' answers are theirs, and the connection stays.
func TestContextEndsAWait(t *testing.T) {
	release := make(chan struct{})
	server := startFake(t, func(p *peer) {
		p.greet(7)
		first := p.expect(wire.BodyEvaluate)
		second := p.expect(wire.BodyEvaluate)
		<-release
		p.evaluated(first.id, 1, "n1")
		p.evaluated(second.id, 2, "n2")
		p.evaluated(p.expect(wire.BodyEvaluate).id, 3, "n3")
	})
	c := newClient(t, server.address, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	ended := make(chan struct{})
	group.Go(func() {
		var decision Decision
		err := c.Evaluate(ctx, testPod("p", "1", ""), EvaluateOptions{}, &decision)
		close(ended)
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	})
	eventually(t, "one waits", func() bool { return waitingCalls(c) == 1 })
	group.Go(func() {
		if decision, err := evaluate(c); err != nil || decision.Candidates[0].Node != "n2" {
			t.Errorf("%+v, error %v", decision, err)
		}
	})
	eventually(t, "two wait", func() bool { return waitingCalls(c) == 2 })
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Second):
		t.Error("the cancelled one still waits")
	}
	close(release)
	group.Wait()
	if decision, err := evaluate(c); err != nil || decision.Candidates[0].Node != "n3" {
		t.Errorf("%+v, error %v", decision, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) != 2 {
		t.Errorf("%d calls of 2 are there to use again", len(c.free))
	}
}

func waitingCalls(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return 0
	}
	return len(c.link.calls.all())
}

// A context's deadline that is earlier than the timeout leaves the connection; the timeout drops it, even
// where every caller gives up earlier.
func TestTimeoutDropsTheConnection(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	server := startFake(t,
		func(p *peer) { p.greet(7); p.evaluated(p.expect(wire.BodyEvaluate).id, 1, "n1"); <-hold },
		func(p *peer) { p.serve() })
	c := newClient(t, server.address, Options{Timeout: 400 * time.Millisecond})
	if _, err := evaluate(c); err != nil {
		t.Fatal(err)
	}
	short := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		var decision Decision
		return c.Evaluate(ctx, testPod("p", "1", ""), EvaluateOptions{}, &decision)
	}
	if err := short(); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if server.connections() != 1 {
		t.Errorf("%d connections", server.connections())
	}
	eventually(t, "the connection is dropped", func() bool { return short() == nil })
}

func TestCloseEndsWaits(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	server := startFake(t, func(p *peer) { p.greet(7); <-hold })
	c := newClient(t, server.address, Options{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := evaluate(c); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errClosed) {
				t.Errorf("error %v", err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return waitingCalls(c) == 4 })
	c.Close()
	group.Wait()
	if _, err := evaluate(c); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

// Replies in single bytes, many callers, many of whom give up.
func TestManyCallersOfOneConnection(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.greet(7)
		for {
			request, ok := p.next()
			if !ok {
				return
			}
			p.bytewise = request.id%7 == 0
			var evaluate wire.Evaluate
			evaluate.Init(request.body.Bytes, request.body.Pos)
			var ref wire.PodRef
			evaluate.Pods(&ref, 0)
			p.evaluated(request.id, request.id, string(ref.Pod(nil).Name()))
		}
	})
	c := newClient(t, server.address, Options{})
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			name := string(rune('a' + caller))
			pod := testPod(name, "1", "")
			var decision Decision
			for i := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				if caller%2 == 1 && i%3 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Microsecond)
				}
				err := c.Evaluate(ctx, pod, EvaluateOptions{}, &decision)
				ended := ctx.Err() != nil
				cancel()
				if err == nil && decision.Candidates[0].Node != name {
					t.Errorf("%s got the answer of %s", name, decision.Candidates[0].Node)
				}
				if err != nil && !ended {
					t.Errorf("error %v", err)
				}
			}
		})
	}
	group.Wait()
	if server.connections() != 1 {
		t.Errorf("%d connections", server.connections())
	}
}

// The server lets connections go that are idle, where others need their place: no request is sent into one.
func TestAConnectionThatWasLetGoIsNoticed(t *testing.T) {
	letGo := make(chan struct{})
	f := startFake(t, func(p *peer) {
		p.greet(7)
		request := p.expect(wire.BodyEvaluate)
		p.evaluated(request.id, 1, "n1")
		<-letGo
	}, func(p *peer) {
		p.greet(7)
		request := p.expect(wire.BodyReserve)
		p.reply(request.id, wire.BodyReserved, func(e *encoder) flatbuffers.UOffsetT {
			wire.ReservedStart(e.b)
			return wire.ReservedEnd(e.b)
		})
		p.next()
	})
	c := New(f.address, Options{Timeout: time.Second})
	defer c.Close()
	if _, err := evaluate(c); err != nil {
		t.Fatal(err)
	}
	close(letGo)
	time.Sleep(quietTime + 100*time.Millisecond)
	r, err := c.Reserve(context.Background(), testPod("p", "1", ""), "n1")
	if err == nil {
		err = c.Await(context.Background(), r)
	}
	if err != nil || f.connections() != 2 {
		t.Errorf("%v, %d connections", err, f.connections())
	}
}
