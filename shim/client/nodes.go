package client

import (
	"context"
	"fmt"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/wire"
)

const (
	// Of schema/limits.h, where the server does not say.
	itemsPerListMax = 4096
	// NodesEvaluated.node_verdicts: the node may run the pod.
	noVerdict = 65535
)

// NodesRequest is what EvaluateNodes asks.
type NodesRequest struct {
	Nodes   []string               // each once; empty: all nodes
	Without []types.NamespacedName // with exactly one node: as if these pods were not on it
	With    []*v1.Pod              // and as if these were
}

// NodeVerdict is what a node says of the pod.
type NodeVerdict struct {
	Code    wire.Code // Success: it may run the pod
	Plugin  string    // which rejects it
	Reasons []string
}

// NodeAnswer is the answer for one node.
type NodeAnswer struct {
	Verdict *NodeVerdict // shared with other nodes
	Total   int64        // sum of weight * score; only where all nodes were asked for
}

// NodesAnswer is what EvaluateNodes answers.
type NodesAnswer struct {
	Epoch     uint64                // of the first page
	PreFilter []string              // as in Decision; the nodes are looked at all the same
	Nodes     map[string]NodeAnswer // every node that was asked for and that the engine knows
}

// mayRun is the verdict of the nodes that have none.
var mayRun = &NodeVerdict{Code: wire.CodeSuccess}

// EvaluateNodes asks what every node, or some nodes, say of the pod.
func (c *Client) EvaluateNodes(ctx context.Context, pod *v1.Pod, request NodesRequest) (*NodesAnswer, error) {
	answer := &NodesAnswer{}
	if len(request.Nodes) == 0 {
		if err := c.allNodes(ctx, pod, request, answer); err != nil {
			return nil, err
		}
		return answer, nil
	}
	greeting := c.greeting.Load()
	most := itemsPerListMax
	if greeting != nil {
		most = greeting.limit("kItemsPerListMax", itemsPerListMax)
	}
	for names := range slices.Chunk(request.Nodes, most) {
		if _, err := c.nodesPage(ctx, pod, request, names, 0, answer); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (c *Client) allNodes(ctx context.Context, pod *v1.Pod, request NodesRequest, answer *NodesAnswer) error {
	for from := uint32(0); ; {
		next, err := c.nodesPage(ctx, pod, request, nil, from, answer)
		if err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		if next <= from {
			return fmt.Errorf("the page of nodes after %d begins at %d", from, next)
		}
		from = next
	}
}

// nodesPage adds one reply to the answer.
func (c *Client) nodesPage(ctx context.Context, pod *v1.Pod, request NodesRequest, names []string, from uint32,
	answer *NodesAnswer) (next uint32, err error) {
	answered, err := c.ask(ctx, wire.BodyNodesEvaluated, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		return wire.BodyEvaluateNodes, encodeEvaluateNodes(e, pod, request, names, from)
	})
	if err != nil {
		return 0, err
	}
	next, err = c.readNodes(answered, answer)
	return next, c.end(answered, err)
}

func encodeEvaluateNodes(e *encoder, pod *v1.Pod, request NodesRequest, names []string,
	from uint32) flatbuffers.UOffsetT {
	ref := e.podRef(pod)
	nodes := e.strings(names)
	var without, with flatbuffers.UOffsetT
	if len(request.Without) > 0 {
		mark := e.mark()
		for _, key := range request.Without {
			namespace := e.string(key.Namespace)
			name := e.string(key.Name)
			wire.PodKeyStart(e.b)
			wire.PodKeyAddNamespaceName(e.b, namespace)
			wire.PodKeyAddName(e.b, name)
			e.push(wire.PodKeyEnd(e.b))
		}
		without = e.vector(mark)
	}
	if len(request.With) > 0 {
		with = e.podRefs(request.With)
	}
	wire.EvaluateNodesStart(e.b)
	wire.EvaluateNodesAddPod(e.b, ref)
	wire.EvaluateNodesAddNodeNames(e.b, nodes)
	wire.EvaluateNodesAddFrom(e.b, from)
	wire.EvaluateNodesAddWithoutPods(e.b, without)
	wire.EvaluateNodesAddWithPods(e.b, with)
	return wire.EvaluateNodesEnd(e.b)
}

func (c *Client) readNodes(from *call, answer *NodesAnswer) (next uint32, err error) {
	defer recoverMalformed(&err)
	var reply wire.NodesEvaluated
	reply.Init(from.body.Bytes, from.body.Pos)
	verdicts := make([]*NodeVerdict, reply.VerdictsLength())
	var verdict wire.NodeVerdict
	for i := range verdicts {
		reply.Verdicts(&verdict, i)
		verdicts[i] = readVerdict(&verdict, from.link.greeting)
	}
	names := reply.NodeNamesLength()
	if answer.Nodes == nil {
		answer.Epoch = reply.Epoch()
		answer.Nodes = make(map[string]NodeAnswer, names)
		for i := range reply.PreFilterLength() {
			answer.PreFilter = append(answer.PreFilter, string(reply.PreFilter(i)))
		}
	}
	totals := reply.TotalsLength()
	if reply.NodeVerdictsLength() != names || totals != 0 && totals != names {
		return 0, fmt.Errorf("%d nodes with %d verdicts and %d totals", names, reply.NodeVerdictsLength(), totals)
	}
	c.names.lock()
	defer c.names.unlock()
	c.names.limit(int(reply.Nodes()))
	for i := range names {
		node := NodeAnswer{Verdict: mayRun}
		if place := int(reply.NodeVerdicts(i)); place != noVerdict {
			if place >= len(verdicts) {
				return 0, fmt.Errorf("verdict %d of %d", place, len(verdicts))
			}
			node.Verdict = verdicts[place]
		}
		if totals > 0 {
			node.Total = reply.Totals(i)
		}
		answer.Nodes[c.names.get(reply.NodeNames(i))] = node
	}
	return reply.Next(), nil
}

func readVerdict(in *wire.NodeVerdict, greeting *Greeting) *NodeVerdict {
	verdict := &NodeVerdict{Code: in.Code(), Plugin: greeting.pluginName(in.Plugin())}
	for i := range in.ReasonsLength() {
		verdict.Reasons = append(verdict.Reasons, string(in.Reasons(i)))
	}
	return verdict
}
