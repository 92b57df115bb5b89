package client

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// fakeServer answers by a script: connection n by script n, those after the last by the last.
type fakeServer struct {
	t        *testing.T
	listener net.Listener
	address  Address
	mu       sync.Mutex
	accepted int
	open     []net.Conn
}

// peer is one connection of a fakeServer.
type peer struct {
	t        *testing.T
	conn     net.Conn
	frames   frameBuffer
	e        encoder
	bytewise bool // write single bytes
}

// asked is a request.
type asked struct {
	id       uint64
	bodyType wire.Body
	body     flatbuffers.Table
}

func startFake(t *testing.T, scripts ...func(p *peer)) *fakeServer {
	t.Helper()
	directory, err := os.MkdirTemp("", "headroom")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{t: t, listener: listener, address: Address{"unix", path}}
	var scripted sync.WaitGroup
	scripted.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			script := scripts[min(f.accepted, len(scripts)-1)]
			f.accepted++
			f.open = append(f.open, conn)
			f.mu.Unlock()
			scripted.Go(func() {
				defer conn.Close()
				script(&peer{t: t, conn: conn, e: newEncoder()})
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		f.mu.Lock()
		for _, conn := range f.open {
			conn.Close()
		}
		f.mu.Unlock()
		scripted.Wait()
		os.RemoveAll(directory)
	})
	return f
}

func (f *fakeServer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

// next waits for a request; false: the client is gone.
func (p *peer) next() (asked, bool) {
	for {
		frame, err := p.frames.next()
		if err != nil {
			p.t.Errorf("from the client: %s", err)
			return asked{}, false
		}
		if frame != nil {
			var root wire.Frame
			var request asked
			request.bodyType, err = openFrame(append([]byte(nil), frame...), &root, &request.body)
			request.id = root.Id()
			return request, err == nil
		}
		count, err := p.conn.Read(p.frames.room())
		p.frames.received(count)
		if err != nil && count == 0 {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				p.t.Logf("from the client: %s", err)
			}
			return asked{}, false
		}
	}
}

// expect waits for a request of that type.
func (p *peer) expect(bodyType wire.Body) asked {
	for {
		request, ok := p.next()
		if !ok || request.bodyType == bodyType {
			return request
		}
		p.t.Errorf("%s where %s was due", request.bodyType, bodyType)
	}
}

// reply sends a frame.
func (p *peer) reply(id uint64, bodyType wire.Body, build func(e *encoder) flatbuffers.UOffsetT) {
	p.write(p.frame(id, bodyType, build))
}

func (p *peer) frame(id uint64, bodyType wire.Body, build func(e *encoder) flatbuffers.UOffsetT) []byte {
	p.e.reset()
	return append([]byte(nil), p.e.frame(id, bodyType, build(&p.e))...)
}

func (p *peer) write(bytes []byte) {
	if !p.bytewise {
		p.conn.Write(bytes)
		return
	}
	for i := range bytes {
		p.conn.Write(bytes[i : i+1])
		if i%16 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// greet answers the hello.
func (p *peer) greet(incarnation uint64) {
	hello := p.expect(wire.BodyHello)
	p.reply(hello.id, wire.BodyHelloReply, func(e *encoder) flatbuffers.UOffsetT {
		server := e.string("fake 1")
		name := e.string("kFrameBytesMax")
		wire.LimitStart(e.b)
		wire.LimitAddName(e.b, name)
		wire.LimitAddValue(e.b, 1<<20)
		mark := e.mark()
		e.push(wire.LimitEnd(e.b))
		limits := e.vector(mark)
		plugins := e.strings([]string{"P0", "P1"})
		wire.HelloReplyStart(e.b)
		wire.HelloReplyAddVersion(e.b, 1)
		wire.HelloReplyAddServer(e.b, server)
		wire.HelloReplyAddIncarnation(e.b, incarnation)
		wire.HelloReplyAddLimits(e.b, limits)
		wire.HelloReplyAddPluginNames(e.b, plugins)
		return wire.HelloReplyEnd(e.b)
	})
}

// evaluated answers an Evaluate of one pod: the node is the only candidate, and its total the epoch.
func (p *peer) evaluated(id, epoch uint64, node string) {
	p.reply(id, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, epoch, node) })
}

func buildEvaluated(e *encoder, epoch uint64, node string) flatbuffers.UOffsetT {
	names := e.strings([]string{node})
	wire.DecisionStartTotalsVector(e.b, 1)
	e.b.PrependInt64(int64(epoch))
	totals := e.b.EndVector(1)
	wire.DecisionStart(e.b)
	wire.DecisionAddNodes(e.b, 1)
	wire.DecisionAddFeasible(e.b, 1)
	wire.DecisionAddNodeNames(e.b, names)
	wire.DecisionAddTotals(e.b, totals)
	mark := e.mark()
	e.push(wire.DecisionEnd(e.b))
	decisions := e.vector(mark)
	wire.EvaluatedStart(e.b)
	wire.EvaluatedAddEpoch(e.b, epoch)
	wire.EvaluatedAddDecisions(e.b, decisions)
	return wire.EvaluatedEnd(e.b)
}

func (p *peer) fail(id uint64, code wire.ErrorCode, change int32, message string) {
	p.reply(id, wire.BodyError, func(e *encoder) flatbuffers.UOffsetT {
		text := e.string(message)
		wire.ErrorStart(e.b)
		wire.ErrorAddCode(e.b, code)
		wire.ErrorAddMessage(e.b, text)
		wire.ErrorAddChange(e.b, change)
		return wire.ErrorEnd(e.b)
	})
}

func (p *peer) stopFeeding(why wire.FeedStop) {
	p.reply(0, wire.BodyFeedStopped, func(e *encoder) flatbuffers.UOffsetT {
		text := e.string("scripted")
		wire.FeedStoppedStart(e.b)
		wire.FeedStoppedAddWhy(e.b, why)
		wire.FeedStoppedAddMessage(e.b, text)
		return wire.FeedStoppedEnd(e.b)
	})
}

func (p *peer) stats(id, sequence uint64) {
	p.reply(id, wire.BodyStatsReply, func(e *encoder) flatbuffers.UOffsetT {
		wire.StatsReplyStart(e.b)
		wire.StatsReplyAddReady(e.b, true)
		wire.StatsReplyAddFedSequence(e.b, sequence)
		return wire.StatsReplyEnd(e.b)
	})
}

// serve answers all Evaluates after the hello.
func (p *peer) serve() {
	p.greet(7)
	for epoch := uint64(1); ; epoch++ {
		request, ok := p.next()
		if !ok {
			return
		}
		p.evaluated(request.id, epoch, "n1")
	}
}
