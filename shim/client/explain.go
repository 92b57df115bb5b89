package client

import (
	"context"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// ExplainTerm is what one plugin says at one extension point. Amounts are in the resource's unit: thousandths of
// cpu, else whole.
type ExplainTerm struct {
	Plugin         string
	ExtensionPoint string // PreEnqueue, PreFilter, Filter, Score, NormalizeScore; Note: a remark
	Resource       string // "": it is not about one
	Capacity       int64
	Aggregate      int64 // what others take or will take
	Need           int64 // what the pod asks for
	Formula        string
	Result         int64
	Passed         bool
	Note           string
}

// Explanation is every filter and score of one pod on one node, with the numbers.
type Explanation struct {
	Epoch         uint64
	Code          wire.Code
	Total         int64 // sum of weight * score; of a feasible node
	Terms         []ExplainTerm
	NotConsidered []wire.NotConsidered // as in Decision
}

// Explain asks why the node may run the pod, or why not. It changes nothing. *ServerError NotFound: no such node.
func (c *Client) Explain(ctx context.Context, pod *v1.Pod, node string) (*Explanation, error) {
	return exchange(ctx, c, wire.BodyExplained, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		ref := e.podRef(pod)
		name := e.string(node)
		wire.ExplainStart(e.b)
		wire.ExplainAddPod(e.b, ref)
		wire.ExplainAddNodeName(e.b, name)
		return wire.BodyExplain, wire.ExplainEnd(e.b)
	}, readExplained)
}

func readExplained(from *call) (read *Explanation, err error) {
	defer recoverMalformed(&err)
	var reply wire.Explained
	reply.Init(from.body.Bytes, from.body.Pos)
	read = &Explanation{Epoch: reply.Epoch(), Code: reply.Code(), Total: reply.Total()}
	var term wire.ExplainTerm
	for i := range reply.TermsLength() {
		reply.Terms(&term, i)
		read.Terms = append(read.Terms, ExplainTerm{
			Plugin:         string(term.Plugin()),
			ExtensionPoint: string(term.ExtensionPoint()),
			Resource:       string(term.Resource()),
			Capacity:       term.Capacity(),
			Aggregate:      term.Aggregate(),
			Need:           term.Need(),
			Formula:        string(term.Formula()),
			Result:         term.Result(),
			Passed:         term.Passed(),
			Note:           string(term.Note()),
		})
	}
	for i := range reply.NotConsideredLength() {
		read.NotConsidered = append(read.NotConsidered, reply.NotConsidered(i))
	}
	return read, nil
}
