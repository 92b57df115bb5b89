package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// Shim and headroomd of neighbouring minors. Within a protocol version the schema only grows, so a newer peer is one
// whose tables have fields, and whose enums and unions have members, that nobody here knows; an older one leaves out
// what came last.

const (
	laterField = 60 // a place in a table that no field has yet
	laterRole  = wire.Role(99)
	laterBody  = wire.Body(200)
	laterFact  = wire.Fact(200)
)

// later puts a text into a field that only a later schema has; between Start with room for it and End.
func later(e *encoder, text flatbuffers.UOffsetT) {
	e.b.PrependUOffsetTSlot(laterField, text, 0)
}

// helloReply of a server of an older minor, with nothing but what version 1 began with, or of a newer one.
func (p *peer) helloReply(newer bool) {
	hello := p.expect(wire.BodyHello)
	p.reply(hello.id, wire.BodyHelloReply, func(e *encoder) flatbuffers.UOffsetT {
		server, text := e.string("headroomd of another minor"), e.string("later")
		e.b.StartVector(1, 3, 1)
		for _, role := range []wire.Role{laterRole, wire.RoleDecide, wire.RoleLook} {
			e.b.PrependByte(byte(role))
		}
		roles := e.b.EndVector(3)
		e.b.StartObject(laterField + 1)
		wire.HelloReplyAddVersion(e.b, ProtocolVersion)
		wire.HelloReplyAddServer(e.b, server)
		wire.HelloReplyAddIncarnation(e.b, 7)
		if newer {
			wire.HelloReplyAddRoles(e.b, roles)
			later(e, text)
		}
		return e.b.EndObject()
	})
}

// A headroomd of the minor before has no roles, owners, plugin names, limits or considered kinds to tell, and does not
// know the newest requests.
func TestAnOlderServer(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.helloReply(false)
		p.evaluated(p.expect(wire.BodyEvaluate).id, 3, "n1")
		p.fail(p.expect(wire.BodyRenewReservations).id, wire.ErrorCodeUnsupported, -1, "body: not a request")
		p.evaluated(p.expect(wire.BodyEvaluate).id, 4, "n1")
	})
	c := newClient(t, server.address, Options{})
	if decision, err := evaluate(c); err != nil || decision.Epoch != 3 {
		t.Errorf("%+v, error %v", decision, err)
	}
	greeting := c.Greeting()
	if !greeting.May(wire.RoleFeed) || greeting.ReservationTime != 0 || greeting.limit("kTopKMax", 5) != 5 ||
		greeting.Profile("") != nil || greeting.pluginName(0) != "" {
		t.Errorf("what an older headroomd does not say: %+v", greeting)
	}
	var refused *ServerError
	if _, err := c.RenewReservations(t.Context()); !errors.As(err, &refused) || errors.Is(err, ErrUnavailable) {
		t.Errorf("a request that it does not know: %v", err)
	}
	if decision, err := evaluate(c); err != nil || decision.Epoch != 4 || server.connections() != 1 {
		t.Errorf("after it: %+v, error %v, %d connections", decision, err, server.connections())
	}
}

// A headroomd of the next minor says more than this client knows, and nothing else of what it knows.
func TestANewerServer(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.helloReply(true)
		id := p.expect(wire.BodyEvaluate).id
		p.reply(0, laterBody, func(e *encoder) flatbuffers.UOffsetT { return buildEvaluated(e, 1, "x") }) // unasked
		p.reply(id, wire.BodyEvaluated, func(e *encoder) flatbuffers.UOffsetT {
			names, text := e.strings([]string{"n1"}), e.string("later")
			wire.DecisionStartTotalsVector(e.b, 1)
			e.b.PrependInt64(12)
			totals := e.b.EndVector(1)
			e.b.StartObject(laterField + 1)
			wire.DecisionAddNodes(e.b, 1)
			wire.DecisionAddFeasible(e.b, 1)
			wire.DecisionAddNodeNames(e.b, names)
			wire.DecisionAddTotals(e.b, totals)
			later(e, text)
			mark := e.mark()
			e.push(e.b.EndObject())
			decisions := e.vector(mark)
			e.b.StartObject(laterField + 1)
			wire.EvaluatedAddEpoch(e.b, 3)
			wire.EvaluatedAddDecisions(e.b, decisions)
			later(e, text)
			return e.b.EndObject()
		})
		p.fail(p.expect(wire.BodyEvaluate).id, wire.ErrorCode(200), -1, "for a reason of later")
		p.serveEvaluates()
	})
	c := newClient(t, server.address, Options{})
	decision, err := evaluate(c)
	if err != nil || decision.Epoch != 3 || !slices.Equal(decision.Candidates, []Candidate{{"n1", 12}}) {
		t.Errorf("%+v, error %v", decision, err)
	}
	if greeting := c.Greeting(); !greeting.May(wire.RoleDecide) || greeting.May(wire.RoleFeed) {
		t.Errorf("roles %v", greeting.Roles)
	}
	var refused *ServerError
	if _, err := evaluate(c); !errors.As(err, &refused) || errors.Is(err, ErrUnavailable) {
		t.Errorf("an error of a code that is not known: %v", err)
	}
	if _, err := evaluate(c); err != nil || server.connections() != 1 {
		t.Errorf("after it: error %v, %d connections", err, server.connections())
	}
}

// serveEvaluates answers those that come.
func (p *peer) serveEvaluates() {
	for {
		request, ok := p.next()
		if !ok {
			return
		}
		p.evaluated(request.id, 9, "n1")
	}
}

// A server that has given up version 1, or chose another one than it was offered, is not there.
func TestAServerOfAnotherVersion(t *testing.T) {
	for said, script := range map[string]func(p *peer){
		"the client speaks 1 to 1": func(p *peer) {
			p.fail(p.expect(wire.BodyHello).id, wire.ErrorCodeUnsupported, -1, "version: the client speaks 1 to 1, this server 2 to 3")
		},
		"the server chose version 2; 1 was offered": func(p *peer) {
			hello := p.expect(wire.BodyHello)
			p.reply(hello.id, wire.BodyHelloReply, func(e *encoder) flatbuffers.UOffsetT {
				wire.HelloReplyStart(e.b)
				wire.HelloReplyAddVersion(e.b, 2)
				return wire.HelloReplyEnd(e.b)
			})
		},
	} {
		_, err := evaluate(newClient(t, startFake(t, script).address, Options{}))
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), said) {
			t.Errorf("no %q: error %v", said, err)
		}
	}
}

// played is a client that this test plays, of headroomd itself.
func played(t *testing.T, d *daemon) *peer {
	t.Helper()
	conn, err := net.Dial(d.address.Network, d.address.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &peer{t: t, conn: conn, e: newEncoder()}
}

// sayHello offers these versions, as a newer client with a field that the server does not know; the version that the
// server chose, or what it refused with.
func (p *peer) sayHello(least, most uint16, newer bool) (version uint16, refusal string) {
	p.reply(1, wire.BodyHello, func(e *encoder) flatbuffers.UOffsetT {
		text := e.string("later")
		e.b.StartObject(laterField + 1)
		wire.HelloAddVersionMin(e.b, least)
		wire.HelloAddVersionMax(e.b, most)
		if newer {
			later(e, text)
		}
		return e.b.EndObject()
	})
	answer, _ := p.next()
	if answer.bodyType == wire.BodyHelloReply {
		var reply wire.HelloReply
		reply.Init(answer.body.Bytes, answer.body.Pos)
		return reply.Version(), ""
	}
	return 0, p.refusal(answer)
}

func (p *peer) refusal(answer asked) string {
	if answer.bodyType != wire.BodyError {
		return ""
	}
	return readError(&answer.body).Error()
}

func TestHeadroomdChoosesTheVersion(t *testing.T) {
	d := startHeadroomd(t)
	for _, c := range []struct {
		name        string
		least, most uint16
		version     uint16
	}{
		{"this client", 1, 1, 1},
		{"one that began before version 1", 0, 1, 1},
		{"one of a minor that has version 2 as well", 1, 2, 1},
		{"one that has given up version 1", 2, 3, 0},
		{"one from before version 1", 0, 0, 0},
	} {
		version, refusal := played(t, d).sayHello(c.least, c.most, false)
		if version != c.version || (refusal == "") != (c.version != 0) {
			t.Errorf("%s: version %d, %q", c.name, version, refusal)
		}
		if c.version == 0 && !strings.Contains(refusal, "this server 1") {
			t.Errorf("%s: %q does not say what the server speaks", c.name, refusal)
		}
	}
}

// A shim of the minor before, which asks with nothing but what version 1 began with, gets this one's answer.
func TestAnOlderClientOfARealServer(t *testing.T) {
	d := fed(t, newStore(testNode("n1", "4"), testNode("n2", "8")), newStore(testPod("old", "3", "n1")))
	var now Decision
	c := newClient(t, d.address, Options{Name: "now"})
	if err := c.Evaluate(context.Background(), testPod("new", "2", ""), EvaluateOptions{TopK: 1}, &now); err != nil {
		t.Fatal(err)
	}
	older := played(t, d)
	if version, refusal := older.sayHello(1, 1, false); version != 1 {
		t.Fatal(refusal)
	}
	older.reply(2, wire.BodyEvaluate, func(e *encoder) flatbuffers.UOffsetT {
		mark := e.mark()
		e.push(e.podRef(testPod("new", "2", "")))
		pods := e.vector(mark)
		wire.EvaluateStart(e.b)
		wire.EvaluateAddPods(e.b, pods)
		return wire.EvaluateEnd(e.b)
	})
	best := older.best()
	if len(now.Candidates) != 1 || best != now.Candidates[0] {
		t.Errorf("the older client's best is %v, this one's %v", best, now.Candidates)
	}
}

// best is the one candidate of an answer to Evaluate.
func (p *peer) best() Candidate {
	answer, _ := p.next()
	if answer.bodyType != wire.BodyEvaluated {
		p.t.Fatalf("%s %s", answer.bodyType, p.refusal(answer))
	}
	var evaluated wire.Evaluated
	var decision wire.Decision
	evaluated.Init(answer.body.Bytes, answer.body.Pos)
	if !evaluated.Decisions(&decision, 0) || decision.NodeNamesLength() != 1 {
		p.t.Fatal("not one decision for one node")
	}
	return Candidate{string(decision.NodeNames(0)), decision.Totals(0)}
}

// A shim of the next minor says more than this headroomd knows: fields are passed over, a kind of facts and a request
// are refused by themselves, and the connection goes on.
func TestANewerClientOfARealServer(t *testing.T) {
	d := startHeadroomd(t)
	newer := played(t, d)
	if version, refusal := newer.sayHello(1, 1, true); version != 1 {
		t.Fatal(refusal)
	}
	newer.reply(2, wire.BodyFeedBegin, func(e *encoder) flatbuffers.UOffsetT {
		wire.FeedBeginStart(e.b)
		return wire.FeedBeginEnd(e.b)
	})
	newer.reply(3, wire.BodyFacts, func(e *encoder) flatbuffers.UOffsetT {
		mark := e.mark()
		unknown := e.string("later")
		e.b.StartObject(laterField + 1)
		later(e, unknown)
		e.push(e.change(laterFact, e.b.EndObject()))
		e.push(e.change(wire.FactNode, e.node(testNode("n1", "4"))))
		changes := e.vector(mark)
		e.b.StartObject(laterField + 1)
		wire.FactsAddSequence(e.b, 1)
		wire.FactsAddChanges(e.b, changes)
		later(e, unknown)
		return e.b.EndObject()
	})
	answer, _ := newer.next()
	var refused wire.Error
	refused.Init(answer.body.Bytes, answer.body.Pos)
	if answer.bodyType != wire.BodyError || answer.id != 3 || refused.Code() != wire.ErrorCodeUnsupported || refused.Change() != 0 {
		t.Errorf("a fact of a later kind: %s of frame %d, change %d: %s",
			answer.bodyType, answer.id, refused.Change(), newer.refusal(answer))
	}
	newer.reply(4, wire.BodyFeedEnd, func(e *encoder) flatbuffers.UOffsetT {
		wire.FeedEndStart(e.b)
		wire.FeedEndAddSequence(e.b, 1)
		return wire.FeedEndEnd(e.b)
	})
	newer.reply(5, laterBody, func(e *encoder) flatbuffers.UOffsetT {
		wire.StatsStart(e.b)
		return wire.StatsEnd(e.b)
	})
	answer, _ = newer.next()
	if said := newer.refusal(answer); answer.id != 5 || !strings.Contains(said, "is not a request of protocol version 1") {
		t.Errorf("a request of later: %s of frame %d: %q", answer.bodyType, answer.id, said)
	}
	newer.reply(6, wire.BodyEvaluate, func(e *encoder) flatbuffers.UOffsetT {
		mark := e.mark()
		e.push(e.podRef(testPod("new", "2", "")))
		pods, text := e.vector(mark), e.string("later")
		e.b.StartObject(laterField + 1)
		wire.EvaluateAddPods(e.b, pods)
		later(e, text)
		return e.b.EndObject()
	})
	if best := newer.best(); best.Node != "n1" {
		t.Errorf("the best is %v", best)
	}
}
