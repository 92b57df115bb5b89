package client

import (
	"context"
	"fmt"
	"unsafe"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// Candidate is a node that may run the pod.
type Candidate struct {
	Node  string
	Total int64 // sum of weight * score
}

// ReasonCount is why nodes reject the pod, and how many give that reason.
type ReasonCount struct {
	Reason string
	Nodes  int
}

// Decision is the answer for one pod. Its memory is used again by the next Evaluate into it.
type Decision struct {
	Epoch      uint64 // of the state that was answered for
	Code       wire.Code
	Nodes      int         // known to the engine; 0: it has not been fed
	Feasible   int         // of them, may run the pod
	Candidates []Candidate // best first
	Reasons    []ReasonCount
	PreFilter  []string // why CapacityScheduling's pre-filter rejects the pod; no node was looked at then
	// What the pod asks for, or nodes say, that headroomd did not look at. Inside kube-scheduler the
	// other plugins do.
	NotConsidered []wire.NotConsidered
	// With EvaluateOptions.Scores: the plugins that score the pod, and for every candidate as many numbers in
	// their order, after NormalizeScore, in [0, 100]; a Total is their sum, each times its plugin's weight.
	Plugins []string
	Scores  []int32
}

// EvaluateOptions are what an Evaluate is to tell.
type EvaluateOptions struct {
	TopK    int  // candidates at most; below 1: 1
	Reasons bool // fill Decision.Reasons
	Scores  bool // fill Decision.Plugins and Decision.Scores
}

// Evaluate asks which nodes may run the pod and which are best. It does not allocate in steady state.
func (c *Client) Evaluate(ctx context.Context, pod *v1.Pod, options EvaluateOptions, decision *Decision) error {
	answered, err := c.ask(ctx, wire.BodyEvaluated,
		func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
			mark := e.mark()
			e.push(e.podRef(pod))
			return encodeEvaluate(e, e.vector(mark), options)
		})
	if err != nil {
		return err
	}
	return c.end(answered, c.readDecision(answered, decision))
}

// EvaluateMany asks for many pods against one state: decisions[i] is for pods[i].
func (c *Client) EvaluateMany(ctx context.Context, pods []*v1.Pod, options EvaluateOptions, decisions []Decision) error {
	if len(pods) != len(decisions) {
		return fmt.Errorf("%d pods and %d decisions", len(pods), len(decisions))
	}
	if len(pods) == 0 {
		return nil
	}
	answered, err := c.ask(ctx, wire.BodyEvaluated,
		func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
			return encodeEvaluate(e, e.podRefs(pods), options)
		})
	if err != nil {
		return err
	}
	return c.end(answered, c.readDecisions(answered, decisions))
}

func encodeEvaluate(e *encoder, pods flatbuffers.UOffsetT, options EvaluateOptions) (wire.Body, flatbuffers.UOffsetT) {
	wire.EvaluateStart(e.b)
	wire.EvaluateAddPods(e.b, pods)
	wire.EvaluateAddTopK(e.b, uint32(max(options.TopK, 1)))
	wire.EvaluateAddReasons(e.b, options.Reasons)
	wire.EvaluateAddScores(e.b, options.Scores)
	return wire.BodyEvaluate, wire.EvaluateEnd(e.b)
}

func (c *Client) readDecision(from *call, decision *Decision) error {
	return c.readDecisions(from, unsafe.Slice(decision, 1))
}

func (c *Client) readDecisions(from *call, decisions []Decision) (err error) {
	defer recoverMalformed(&err)
	c.names.lock()
	defer c.names.unlock()
	reply := &from.evaluated
	reply.Init(from.body.Bytes, from.body.Pos)
	if reply.DecisionsLength() != len(decisions) {
		return fmt.Errorf("%d decisions for %d pods", reply.DecisionsLength(), len(decisions))
	}
	for i := range decisions {
		reply.Decisions(&from.decision, i)
		c.fill(&decisions[i], from)
		decisions[i].Epoch = reply.Epoch()
	}
	return nil
}

// fill copies what from.decision says.
func (c *Client) fill(decision *Decision, from *call) {
	in := &from.decision
	decision.Code = in.Code()
	decision.Nodes = int(in.Nodes())
	decision.Feasible = int(in.Feasible())
	c.names.limit(decision.Nodes)
	decision.Candidates = decision.Candidates[:0]
	for i := range in.NodeNamesLength() {
		decision.Candidates = append(decision.Candidates, Candidate{c.names.get(in.NodeNames(i)), in.Totals(i)})
	}
	decision.Reasons = decision.Reasons[:0]
	for i := range in.ReasonsLength() {
		in.Reasons(&from.reason, i)
		decision.Reasons = append(decision.Reasons,
			ReasonCount{c.names.get(from.reason.Reason()), int(from.reason.Nodes())})
	}
	decision.PreFilter = decision.PreFilter[:0]
	for i := range in.PreFilterLength() {
		decision.PreFilter = append(decision.PreFilter, string(in.PreFilter(i)))
	}
	decision.NotConsidered = decision.NotConsidered[:0]
	for i := range in.NotConsideredLength() {
		decision.NotConsidered = append(decision.NotConsidered, in.NotConsidered(i))
	}
	decision.Plugins = decision.Plugins[:0]
	for i := range in.PluginsLength() {
		decision.Plugins = append(decision.Plugins, from.link.greeting.pluginName(in.Plugins(i)))
	}
	decision.Scores = decision.Scores[:0]
	for i := range in.ScoresLength() {
		decision.Scores = append(decision.Scores, in.Scores(i))
	}
}
