package client

import (
	"context"
	"fmt"
	"slices"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/wire"
)

// page answers an EvaluateNodes.
type page struct {
	verdicts []string // the reason of each, of plugin P1
	names    []string
	places   []uint16
	totals   []int64
	next     uint32
}

func (p *peer) nodes(id uint64, answer page) {
	p.reply(id, wire.BodyNodesEvaluated, func(e *encoder) flatbuffers.UOffsetT {
		mark := e.mark()
		for _, reason := range answer.verdicts {
			reasons := e.strings([]string{reason})
			wire.NodeVerdictStart(e.b)
			wire.NodeVerdictAddCode(e.b, wire.CodeUnschedulable)
			wire.NodeVerdictAddPlugin(e.b, 1)
			wire.NodeVerdictAddReasons(e.b, reasons)
			e.push(wire.NodeVerdictEnd(e.b))
		}
		verdicts := e.vector(mark)
		names := e.strings(answer.names)
		preFilter := e.strings([]string{"over its max"})
		e.b.StartVector(2, len(answer.places), 2)
		for _, place := range slices.Backward(answer.places) {
			e.b.PrependUint16(place)
		}
		places := e.b.EndVector(len(answer.places))
		e.b.StartVector(8, len(answer.totals), 8)
		for _, total := range slices.Backward(answer.totals) {
			e.b.PrependInt64(total)
		}
		totals := e.b.EndVector(len(answer.totals))
		wire.NodesEvaluatedStart(e.b)
		wire.NodesEvaluatedAddEpoch(e.b, 5+uint64(answer.next))
		wire.NodesEvaluatedAddNodes(e.b, 3)
		wire.NodesEvaluatedAddPreFilter(e.b, preFilter)
		wire.NodesEvaluatedAddVerdicts(e.b, verdicts)
		wire.NodesEvaluatedAddNodeNames(e.b, names)
		wire.NodesEvaluatedAddNodeVerdicts(e.b, places)
		wire.NodesEvaluatedAddTotals(e.b, totals)
		wire.NodesEvaluatedAddNext(e.b, answer.next)
		return wire.NodesEvaluatedEnd(e.b)
	})
}

func (a asked) evaluateNodes() *wire.EvaluateNodes {
	request := &wire.EvaluateNodes{}
	request.Init(a.body.Bytes, a.body.Pos)
	return request
}

func describe(answer *NodesAnswer) []string {
	var lines []string
	for name, node := range answer.Nodes {
		lines = append(lines, fmt.Sprintf("%s %d %s %v %d", name, node.Verdict.Code, node.Verdict.Plugin, node.Verdict.Reasons, node.Total))
	}
	slices.Sort(lines)
	return lines
}

func TestNodesInPages(t *testing.T) {
	server := startFake(t, func(p *peer) {
		p.greet(7)
		request := p.expect(wire.BodyEvaluateNodes)
		if from := request.evaluateNodes().From(); from != 0 {
			t.Errorf("from %d", from)
		}
		p.nodes(request.id, page{[]string{"r0", "r1"}, []string{"a", "b", "c"}, []uint16{1, noVerdict, 1}, []int64{0, 42, 0}, 3})
		request = p.expect(wire.BodyEvaluateNodes)
		if from := request.evaluateNodes().From(); from != 3 {
			t.Errorf("from %d", from)
		}
		p.nodes(request.id, page{[]string{"r2"}, []string{"d"}, []uint16{0}, []int64{0}, 0})
	})
	c := newClient(t, server.address, Options{})
	answer, err := c.EvaluateNodes(context.Background(), testPod("p", "1", ""), NodesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a 2 P1 [r1] 0", "b 0  [] 42", "c 2 P1 [r1] 0", "d 2 P1 [r2] 0"}
	if got := describe(answer); !slices.Equal(got, want) || answer.Epoch != 8 || !slices.Equal(answer.PreFilter, []string{"over its max"}) {
		t.Errorf("%+v: %q", answer, got)
	}
	if answer.Nodes["a"].Verdict != answer.Nodes["c"].Verdict {
		t.Error("verdicts are not shared")
	}
}

// More names than a list may have go in several requests.
func TestManyNamedNodes(t *testing.T) {
	names := make([]string, itemsPerListMax+1)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	server := startFake(t, func(p *peer) {
		p.greet(7)
		for _, most := range []int{itemsPerListMax, 1} {
			request := p.expect(wire.BodyEvaluateNodes)
			asked := request.evaluateNodes()
			if asked.NodeNamesLength() != most || asked.WithoutPodsLength() != 1 || asked.WithPodsLength() != 2 {
				t.Errorf("%d names, without %d, with %d", asked.NodeNamesLength(), asked.WithoutPodsLength(), asked.WithPodsLength())
			}
			p.nodes(request.id, page{nil, []string{string(asked.NodeNames(most - 1))}, []uint16{noVerdict}, nil, 0})
		}
	})
	c := newClient(t, server.address, Options{})
	answer, err := c.EvaluateNodes(context.Background(), testPod("p", "1", ""), NodesRequest{Nodes: names,
		Without: []types.NamespacedName{{Namespace: "a", Name: "b"}}, With: []*v1.Pod{testPod("x", "1", ""), testPod("y", "1", "")}})
	if want := []string{"n4095 0  [] 0", "n4096 0  [] 0"}; err != nil || !slices.Equal(describe(answer), want) {
		t.Errorf("%+v, error %v", answer, err)
	}
}

func TestNodesThatContradictThemselves(t *testing.T) {
	for _, wrong := range []page{
		{nil, []string{"a"}, []uint16{0}, []int64{0}, 0},
		{nil, []string{"a"}, nil, nil, 0},
		{nil, []string{"a"}, []uint16{noVerdict}, []int64{1, 2}, 0},
	} {
		server := startFake(t, func(p *peer) {
			p.greet(7)
			p.nodes(p.expect(wire.BodyEvaluateNodes).id, wrong)
			p.expect(wire.BodyEvaluateNodes)
		})
		c := newClient(t, server.address, Options{})
		if _, err := c.EvaluateNodes(context.Background(), testPod("p", "1", ""), NodesRequest{}); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}
