package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// names is a plugin that names some nodes, the next ones for every pod, and knows nothing: what a cycle
// with so many names costs without an engine. Not safe for concurrent use, which a PreFilter plugin need
// not be.
type names struct {
	nodes       []*v1.Node
	count, next int
}

const namesPlugin = "Names"

func (n *names) Name() string { return namesPlugin }

func (n *names) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	chosen := make(sets.Set[string], n.count)
	for range n.count {
		n.next = (n.next + 1) % len(n.nodes)
		chosen.Insert(n.nodes[n.next].Name)
	}
	return &fwk.PreFilterResult{NodeNames: chosen}, nil
}

func (n *names) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
